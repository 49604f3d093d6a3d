#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Time that threads wait, beside the time that they run.

load helpers

need_off_cpu() {
	need_root
	run assay record --off-cpu -e cpu-clock -o probe.assay -- true
	[ "$status" = 0 ] || skip "$output"
}

# Milliseconds that a function, with what it calls, has of an event: ms SESSION EVENT FUNCTION
ms() {
	assay report -i "$1" -l -t 0 --format json "event:$2" |
		jq "[.rows[] | select(.symbol == \"$3\") | .total] | add // 0"
}

wall_ms() {
	fact "$1" '.duration_s * 1000 | ceil'
}

@test "a sleep, a mutex and a pipe are each found with their function and their time" {
	need_off_cpu
	assay record --off-cpu -e cpu-clock -o s -- "$PROGRAMS/waits" 2s
	wall=$(wall_ms s)
	for function in sleeper locker reader; do
		waited=$(ms s off-cpu:sleep $function)
		echo "$function waited $waited ms of $wall"
		[ "$waited" -ge 1500 ] && [ "$waited" -le $((wall + 100)) ]
	done
	[ "$(ms s off-cpu:sleep worker)" -le 500 ]
	# They are side by side in a report, and events without a wait have no columns.
	run assay report -i s -l
	grep -q 'cpu-clock  *off-cpu:sleep' <<<"$output"
	run ! grep -q '^ .* off-cpu:stopped *$' <<<"$output"
}

@test "a thread's time on and off the CPU adds up to its life" {
	need_off_cpu
	assay record --off-cpu --off-cpu-min 0 -e cpu-clock -o s -- "$PROGRAMS/waits" 2s
	wall=$(wall_ms s)
	sum=$(($(ms s cpu-clock worker) + $(ms s off-cpu:ready worker) + $(ms s off-cpu:sleep worker)))
	echo "$sum ms of $wall"
	[ "$sum" -ge 1200 ] && [ "$sum" -le $((wall * 5 / 4 + 100)) ]
}

@test "a process that sleeps all the time shows, with its stack" {
	need_off_cpu
	sleep 60 &
	pid=$!
	is_running $pid sleep
	for target in "-p $pid" "-t $pid" -a; do
		# shellcheck disable=SC2086 # words
		run assay record --off-cpu -e cpu-clock $target --duration 1 -o s
		[ "$status" = 0 ] || { kill $pid; echo "$output"; false; }
		waited=$(assay report -i s -l -t 0 --format json event:off-cpu:sleep pid:$pid |
			jq '[.rows[].samples] | add // 0')
		echo "$target: $waited ms"
		[ "$waited" -ge 900 ] || { kill $pid; false; }
		rm -rf s s.old
	done
	kill $pid
}

@test "what is shorter than asked for does not count" {
	need_off_cpu
	assay record --off-cpu --off-cpu-min 1s -e cpu-clock -o s -- "$PROGRAMS/waits" 2s
	[ "$(ms s off-cpu:sleep locker)" -ge 1500 ]
	[ "$(ms s off-cpu:sleep sleeper)" = 0 ]
}

@test "what a command starts counts, what others do does not" {
	need_off_cpu
	sleep 60 &
	pid=$!
	is_running $pid sleep
	assay record --off-cpu -e cpu-clock -o s -- sh -c 'sleep 1; sh -c "sleep 1; :"; :'
	kill $pid
	[ "$(assay report -i s -l -t 0 --format json event:off-cpu:sleep comm:sleep | jq '[.rows[].samples] | add')" -ge 1900 ]
	run assay report -i s -l pid:$pid
	refused 1 "no sample matches"
}

@test "without permission off-CPU time is refused, with the reason" {
	need_root
	run unprivileged assay record --off-cpu -e cpu-clock:u -o s -- true
	refused 1 "--off-cpu" "root, or CAP_BPF and CAP_PERFMON" "Run it as root: 'sudo assay record --off-cpu …'"
	[ "${#lines[@]}" = 1 ]
}

@test "what does not go with off-CPU time" {
	run assay record --off-cpu -G some/group --duration 1
	refused 2 "--off-cpu does not go with -G"
	run assay record --off-cpu --off-cpu-min soon -- true
	refused 2 "--off-cpu-min"
}
