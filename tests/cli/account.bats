#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The account of CPU time: its rows add up, and the kernel's times are those that processes have of
# themselves.

load helpers

# Three children that work side by side, one of them with threads. Each process writes its own number
# and CPU time (ns) before it ends.
cat_workers() {
	cat <<-'END'
		import os, sys, threading, time
		def work(seconds):
		    end = time.thread_time() + seconds
		    while time.thread_time() < end: pass
		def tell():
		    with open(sys.argv[1], "a") as out: out.write("%d %d\n" % (os.getpid(), time.process_time_ns()))
		for n in range(3):
		    if os.fork() == 0:
		        if n == 2:
		            threads = [threading.Thread(target=work, args=(0.1,)) for _ in range(2)]
		            [t.start() for t in threads]; [t.join() for t in threads]
		        else: work(0.2)
		        tell()
		        os._exit(0)
		for n in range(3): os.wait()
		tell()
	END
}

rows_add_up() {
	jq -e '.account | .capacity_ns > 0 and ([.rows_ns[] | . // 0] | add) == .capacity_ns' "$1" || {
		jq .account "$1"
		false
	}
}

# The times of processes, those of processes without a sample, of the command's children, and the rest.
times_add_up() {
	jq -e '(([.processes[].kernel_ns // 0] | add) + .account.unsampled_processes_ns + .account.of_ended_children_ns + .account.of_no_process_ns) == .account.capacity_ns' "$1" || {
		jq '.account, [.processes[] | {pid, name, kernel_ns}]' "$1"
		false
	}
}

# Every process of FILE has its time in REPORT: a tenth of difference is left to the two clocks, and
# to the end of the process after it has looked. Task clocks run while another virtual machine has the CPU.
times_agree() { # FILE REPORT STOLEN-MS
	local file=$1 report=$2 stolen=$3 n=0
	while read -r pid ns; do
		jq -e --argjson pid "$pid" --argjson ns "$ns" --argjson stolen "$stolen" '[.processes[] | select(.pid == $pid)][0].kernel_ns
			| . > $ns * 0.9 and . < $ns * 1.3 + 50e6 + $stolen * 1e6' "$report" || {
			echo "process $pid says $ns"
			jq '.account, [.processes[] | {pid, name, kernel_ns}]' "$report"
			return 1
		}
		n=$((n + 1))
	done <"$file"
	[ "$n" = 4 ]
}

need_machine() {
	[ "$(id -u)" = 0 ] || skip "needs root: the whole machine is sampled"
	assay record -q -a -o probe.assay -- true >probe.log 2>&1 ||
		skip "sampling the machine is not permitted here: $(tail -1 probe.log)"
}

@test "of a command: each process has its own time, and the rows are the time of all" {
	need_recording
	cat_workers >workers.py
	for collector in perf best; do
		rm -rf s own
		stolen=$(stolen_ms)
		assay record -q -e cpu-clock --collector "$collector" -o s -- python3 workers.py own
		assay report -P -t 0 -i s --format json >run.json
		rows_add_up run.json
		jq -e '.account | .of == "processes" and .capacity_ns >= ([.rows_ns.user, .rows_ns.system] | add) * 0.9' run.json
		times_add_up run.json
		if jq -e '.account.missing_times' run.json; then # an ordinary user: the command alone has one
			tail -1 own >last
			jq -e --argjson pid "$(cut -d' ' -f1 last)" --argjson ns "$(cut -d' ' -f2 last)" \
				'.processes[] | select(.pid == $pid).kernel_ns | . > $ns * 0.9 and . < $ns * 1.3 + 50e6' run.json
		else
			times_agree own run.json $(($(stolen_ms) - stolen))
		fi
	done
}

@test "of a command, as an ordinary user: its own time, and that of its children together" {
	need_recording
	unprivileged assay record -q -e cpu-clock:u -o s -- "$PROGRAMS/split" 0.2cpu >/dev/null
	unprivileged assay report -P -t 0 -i s --format json >run.json
	rows_add_up run.json
	times_add_up run.json
	jq -e '.account.of_no_process_ns < 0.5 * .account.capacity_ns and (.account | has("missing_times") | not)' run.json
	jq -e '.account.of_ended_children_ns == 0' run.json
	# children of children, too
	# shellcheck disable=SC2016
	stolen=$(stolen_ms)
	unprivileged assay record -q -e cpu-clock:u -o t -- sh -c 'python3 -c "$1" own; :' sh "$(cat_workers)" >/dev/null
	unprivileged assay report -P -t 0 -i t --format json >run.json
	rows_add_up run.json
	times_add_up run.json
	jq -e --argjson ns "$(unprivileged cat own | awk '{ n += $2 } END { print n }')" \
		--argjson stolen $(($(stolen_ms) - stolen)) \
		'.account.of_ended_children_ns | . > $ns * 0.9 and . < $ns * 1.3 + 200e6 + $stolen * 1e6' run.json
	jq -e '.account.missing_times | test("taskstats")' run.json
	unprivileged assay report -P -t 0 -i t | grep "children .*s of the kernel's time: all that ended"
	# a child whose parent has ended is waited for by another process
	cat >orphan.py <<-'END'
		import os, time
		r, w = os.pipe()
		if os.fork() == 0:
		    if os.fork() == 0:
		        os.write(w, b"%d" % os.getpid())
		        while time.process_time() < 0.3: pass
		    os._exit(0)
		os.wait()
		orphan = os.read(r, 20).decode()
		while os.path.exists("/proc/" + orphan): time.sleep(0.01)
	END
	unprivileged assay record -q -e cpu-clock:u -o u -- python3 -c "$(cat orphan.py)" >/dev/null
	unprivileged assay report -P -t 0 -i u --format json >run.json
	rows_add_up run.json
	times_add_up run.json
	jq -e '.account.of_no_process_ns > 200e6 and .account.of_ended_children_ns < 100e6' run.json
	unprivileged assay report -P -t 0 -i u | grep 'no process .*s of the kernel.s time: processes without a time'
}

# The kernel exchanges the counters of two threads that follow each other on a CPU.
@test "of a command: times are right beside an event that counts something else, on one CPU" {
	need_recording
	cat_workers >workers.py
	assay record -q -e page-faults -o s -- taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" python3 workers.py own
	grep -q '^why' s/cpu-times && skip "$(grep '^why' s/cpu-times)"
	while read -r pid ns; do
		awk -v pid="$pid" -v ns="$ns" '$1 == "process" && $2 == pid { found = $3 > ns * 0.9 && $3 < ns * 1.3 + 50e6 }
			END { exit !found }' s/cpu-times || {
			echo "process $pid says $ns"
			cat s/cpu-times
			false
		}
	done <own
}

@test "of a command: a process that outlives it has its time, too" {
	need_recording
	cat >outlive.py <<-'END'
		import os, sys, time
		def work(seconds):
		    end = time.process_time() + seconds
		    while time.process_time() < end: pass
		r, w = os.pipe()
		if os.fork() == 0:
		    work(0.2)
		    with open("outlives", "w") as out: out.write("%d" % os.getpid())
		    os.write(w, b"x")
		    time.sleep(60)
		    os._exit(0)
		os.read(r, 1)
		work(0.1)
	END
	stolen=$(stolen_ms)
	assay record -q -e cpu-clock -o s -- python3 outlive.py 3>&- >log 2>&1 || true
	stolen=$(($(stolen_ms) - stolen))
	kill "$(cat outlives)"
	assay report -P -t 0 -i s --format json >run.json
	rows_add_up run.json
	times_add_up run.json
	jq -e --argjson pid "$(cat outlives)" --argjson stolen "$stolen" '.processes[] | select(.pid == $pid).kernel_ns
		| . > 180e6 and . < 400e6 + $stolen * 1e6' run.json
	jq -e --argjson pid "$(cat outlives)" '[.processes[] | select(.pid != $pid).kernel_ns] | add > 80e6' run.json
}

@test "of the machine: idle and stolen time are measured, ended processes have their times" {
	need_machine
	cat_workers >workers.py
	for collector in perf best; do
		rm -rf s own
		stolen=$(stolen_ms)
		# without stacks: copies of all stacks of a busy machine can be lost, and no sample, no row
		assay record -q -a -e cpu-clock --collector "$collector" --call-graph none -o s -- \
			python3 workers.py own
		assay report -P -t 0 -i s --format json >run.json
		rows_add_up run.json
		jq -e '.account | .of == "machine" and .capacity_ns == .wall_ns * .cpus' run.json
		jq -e '.account.rows_ns | .steal != null and .idle_not_sampled != null' run.json
		jq -e '.account.rows_ns | .throttled != null and .steal >= 0 and .throttled >= 0' run.json
		if jq -e '.account.missing_times' run.json; then
			skip "$(jq -r .account.missing_times run.json)"
		fi
		times_agree own run.json $(($(stolen_ms) - stolen))
	done
}

@test "the text and CSV have the rows of the JSON, and add up as they are printed" {
	need_recording
	assay record -q -e cpu-clock -o s -- "$PROGRAMS/split" 0.3cpu >/dev/null
	assay report -P -i s --format json >run.json
	assay report -P -i s --format csv >run.csv
	[ "$(awk -F, '$1 == "account" && $2 != "all" { n += $9 * 1e9 } END { printf "%.0f", n }' run.csv)" = \
		"$(jq .account.capacity_ns run.json)" ]
	assay report -P -i s >text
	awk '/^Account/ { on = 1; next } /^$/ { on = 0 }
		on && $1 ~ /^-?[0-9]+\./ { if ($3 == "all:") all = $1; else sum += $1 }
		END { exit !(all > 0.2 && sum - all < 0.00001 && all - sum < 0.00001) }' text
	grep -q 'not seen: interrupts off, or between samples$' text
	assay report -P -i s --html page.html
	grep -q 'not seen: interrupts off' page.html
}

@test "what is not known is named, and no number stands in its place" {
	need_recording
	assay record -q -e cpu-clock -o s -- "$PROGRAMS/split" 0.1cpu >/dev/null
	assay report -P -i s --format json symbol:forty >run.json
	jq -e '.account == { why: "a filter leaves samples out" }' run.json
	rm s/cpu-times
	assay report -P -i s --format json >run.json
	jq -e '.account | keys == ["why"]' run.json
	jq -e '[.processes[] | has("kernel_ns")] | any | not' run.json
	assay report -P -i s >text
	grep -q 'not known *the session has no CPU times' text
	assay record -q -e cpu-clock,page-faults -o several -- "$PROGRAMS/split" 0.1cpu >/dev/null
	assay report -P -i several --format json | jq -e '.account.why | test("several events")'
}

@test "a damaged file of times is no account" {
	need_recording
	assay record -q -e cpu-clock -o s -- "$PROGRAMS/split" 0.1cpu >/dev/null
	for line in 'wall x' 'process 1 2 3' 'process -1 2' 'capacity 99999999999999999999' word 'cpus 1 2'; do
		cp s/cpu-times kept
		echo "$line" >>s/cpu-times
		assay report -P -i s --format json | jq -e '.account | keys == ["why"]'
		mv kept s/cpu-times
	done
	echo 'of-a-later-version 7' >>s/cpu-times
	assay report -P -i s --format json | jq -e '.account.capacity_ns > 0'
}

@test "an archive keeps the account" {
	need_recording
	assay record -q -e cpu-clock -o s -- "$PROGRAMS/split" 0.1cpu >/dev/null
	assay archive -i s -o archive >/dev/null
	assay report -P -i archive --format json | jq -e '.account.capacity_ns > 0'
}
