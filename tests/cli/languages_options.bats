#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Functions of interpreted languages in recordings of a command or a process, beside other options of record.

load helpers
load languages

# The samples of cpu-clock in s are those of golden.py, with its functions.
check_clock() { # [COLLECTOR]
	[ "$(fact s .collector)" = "${1-BPF}" ]
	assay export -q -i s --format speedscope -o s.json event:cpu-clock
	"$BATS_TEST_DIRNAME/language_stacks.py" s.json ${plain:+"$plain"}
}

# Each tick of a clock of s, 2 ms of the CPU time of golden.py, is a sample or counts as missed.
check_ticks() { # EVENT
	local due=$(($(<cpu_ms) / 2)) samples missed
	samples=$(fact s ".events[] | select(.name == \"$1\") | .samples")
	missed=$(fact s '(.losses."throttled-samples" // 0) + (.losses.unsampled // 0) + .lost')
	[ $((samples + missed)) -ge $((due * 9 / 10)) ]
	[ "$samples" -le $((due * 11 / 10 + 50)) ]
	[ "$(fact s '([.events[].samples] | add) - .samples')" = 0 ]
}

@test "Python's functions are in the CPU samples of a command with other options, and samples add up" {
	need_python
	cp "$ROOT/tests/programs/lang/golden.py" .
	options=("--off-cpu" "--page-faults" "-e task-clock" "--off-cpu -e task-clock -e page-faults")
	[ ! -e /sys/kernel/tracing/events/lock/contention_begin ] || options+=("--kernel-locks")
	for option in "${options[@]}"; do
		# shellcheck disable=SC2086,SC2153
		assay record -e cpu-clock -F 500 $option -o s -- "$PYTHON" golden.py 500 >cpu_ms
		check_clock
		check_ticks cpu-clock
		[[ "$option" != *task-clock* ]] || check_ticks task-clock
		if [[ "$option" == *--off-cpu* ]]; then # main waits for the lock, while the other thread has it
			[ "$(assay report -i s --by language -t 0 --format json 'event:off-cpu:*' |
				jq '[.rows[] | select(.language == "python")][0].total')" -gt 0 ]
		fi
	done
	# Events of a group are on at the same time.
	assay record -e '{cpu-clock,task-clock}' -F 500 -o s -- "$PYTHON" golden.py 400 >cpu_ms
	check_ticks cpu-clock
	check_ticks task-clock
}

@test "Python's functions are in samples of some CPUs, after a delay, and between messages" {
	need_python
	cp "$ROOT/tests/programs/lang/golden.py" .
	assay record -e cpu-clock -F 500 -C 0 -o s -- taskset -c 0 "$PYTHON" golden.py 500 >cpu_ms
	check_clock
	check_ticks cpu-clock
	assay record -e cpu-clock -F 500 -D 100 -o s -- "$PYTHON" golden.py 600
	check_clock
	fact s .first_sample_s
	[ "$(fact s '.first_sample_s >= 0.1')" = true ]
	assay record -e cpu-clock -e task-clock -F 500 -o s -D -1 --control fd:8,9 -- bash -c '
		# The descriptor does not block, as assay writes to it.
		say() { echo "$1" >&8 && until read -r answer <&9; do sleep 0.02; done 2>reads; }
		"$0" golden.py 50
		say "enable cpu-clock"
		"$0" golden.py 500
		say disable
		"$0" golden.py 50
		say evlist' "$PYTHON" 8<> <(:) 9<> <(:) 2>log
	check_clock
	[ "$(fact s '.events[] | select(.name == "task-clock") | .samples')" = 0 ]
	[ "$(assay report -i s --by process -t 0 --format json | jq '.rows | length')" -le 2 ]
	grep -qx task-clock log
}

@test "a running Python has its functions in the samples of several events of one CPU" {
	need_python
	cp "$ROOT/tests/programs/lang/golden.py" .
	background taskset -c 0 "$PYTHON" "$PWD/golden.py"
	python=$pid
	wait_for has_run "$python" 5
	record_samples 1000 s event:cpu-clock -e cpu-clock -e task-clock --off-cpu -C 0 -D 10 -F "$(at_most 997)" -p "$python"
	check_clock
	[ "$(fact s '([.events[].samples] | add) - .samples')" = 0 ]
}

@test "Python's functions are in the CPU samples beside tracepoints and allocations, and a note names those without" {
	need_python
	cp "$ROOT/tests/programs/lang/golden.py" .
	run assay record -e cpu-clock -F 500 --alloc -o s -- "$PYTHON" golden.py 500
	echo "$output"
	[ "$status" = 0 ]
	[[ "$output" == *"stacks of allocations have no Python functions"* ]]
	check_clock "preloaded library, and BPF"
	[ "$(fact s '.events[] | select(.name == "alloc-bytes") | .samples')" -gt 0 ]
	run assay record --alloc -o s -- "$PYTHON" golden.py 5
	[[ "$output" == *"Python functions are missing: stacks of allocations have native frames alone"* ]]
	[ -d /sys/kernel/tracing/events/sched ] || skip "no tracefs here: tracepoints were not tried"
	assay record -e sched:sched_switch -e cpu-clock -e task-clock -F 500 -o s -- "$PYTHON" golden.py 500 >cpu_ms
	check_clock "perf rings and BPF"
	check_ticks cpu-clock
	check_ticks task-clock
	[ "$(fact s '.events[] | select(.name == "sched:sched_switch") | .samples')" -gt 0 ]
	[[ "$(assay info s)" == *"samples of 'sched:sched_switch' have no Python functions"* ]]
	run assay record -e sched:sched_switch -o s -- "$PYTHON" golden.py 5
	[[ "$output" == *"Python functions are missing: samples of 'sched:sched_switch' come through rings"* ]]
}

@test "more events than BPF programs go through rings, and the report says so" {
	need_python
	cp "$ROOT/tests/programs/lang/golden.py" .
	events=cpu-clock,task-clock,page-faults,minor-faults,major-faults,context-switches,cpu-migrations
	run assay record -e "$events,alignment-faults,emulation-faults" -o s -- "$PYTHON" golden.py 5
	[[ "$output" == *"Python functions are missing: a BPF program takes at most 8 events"* ]]
	[[ "$(assay report -i s)" == *"Python functions are missing: a BPF program takes at most 8 events"* ]]
	assay record -e "$events,alignment-faults" -o s -- "$PYTHON" golden.py 500
	check_clock
}

# The waits of s in the stacks that match, in ms.
waited() { # PATTERN
	assay export -q -i s --format folded -o - 'event:off-cpu:*' | awk -v pattern="$1" '$0 ~ pattern { ms += $NF / 1e6 } END { print int(ms) }'
}

waits_more_than() { # MS PATTERN
	[ "$(waited "$2")" -gt "$1" ]
}

java_waits_are_named() {
	waits_more_than 300 ';waits[.]main;java[.]lang[.]Thread[.]sleep;' &&
		waits_more_than 100 ';waits[.]main;waits[.]locks;' &&
		waits_more_than 300 ';waits[.]holder;waits[.]holds;java[.]lang[.]Thread[.]sleep;' &&
		waits_more_than 300 ';waits[.]holder;java[.]util[.]concurrent[.]locks[.]LockSupport[.]parkNanos;'
}

javascript_waits_are_named() {
	waits_more_than 300 ';one;naps;' && waits_more_than 300 ';other;naps;'
}

@test "waits of Java and JavaScript have their functions" {
	need_sampler
	command -v javac >/dev/null || skip "no javac here"
	command -v node >/dev/null || skip "no Node.js here"
	javac -d . "$ROOT/tests/programs/lang/waits.java"
	# Both threads wait nearly all the time, in these functions alone.
	record_until java_waits_are_named --off-cpu -o s -- java -cp . waits
	[ "$(waited ';waits[.]holds;.*waits[.]locks;|;waits[.]locks;.*waits[.]holds;')" = 0 ]
	# Early waits come before assay knows Node.js.
	rm -r s
	record_until javascript_waits_are_named --off-cpu -o s -- node "$ROOT/tests/programs/lang/waits.js"
	[ "$(waited 'naps;.*naps;')" = 0 ]
}

@test "without rights, a note advises Python's trampoline only where Python has one" {
	need_python
	drops=(setpriv "--inh-caps=-bpf,-perfmon,-sys_admin" "--bounding-set=-bpf,-perfmon,-sys_admin")
	"${drops[@]}" true 2>/dev/null || skip "setpriv can't drop capabilities"
	"${drops[@]}" "$(command -v assay)" record -q -o s true 2>/dev/null || skip "perf_event_open is not permitted then"
	"${drops[@]}" "$(command -v assay)" record -o s -- "$PYTHON" -c '' 2>plain.err
	"${drops[@]}" "$(command -v assay)" record -o s --python-trampoline -- "$PYTHON" -c '' 2>asked.err
	has "Python functions are missing: BPF programs need root" plain.err
	if "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 12))'; then
		has "with --python-trampoline, Python" plain.err
		has "Python functions are named by its perf trampoline" asked.err
	else
		run ! grep -q trampoline plain.err
		has "a Python before 3.12 has no perf trampoline" asked.err
	fi
}
