#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# assay stat: counting without samples.
load helpers

# The end of event names if only user mode may be counted.
mode() {
	[ "$(id -u)" = 0 ] || [ "$(cat "$PARANOID_FILE")" -le 1 ] || echo :u
}

# Touches 1 MB four times, with naps between. Prints the number of page faults meanwhile, by the kernel's
# account of the process, and this number with the earlier page faults.
FAULTS='
import mmap, resource, time
def faults():
	usage = resource.getrusage(resource.RUSAGE_SELF)
	return usage.ru_minflt + usage.ru_majflt
before = faults()
for i in range(4):
	with mmap.mmap(-1, 1 << 20) as memory:
		memory[::4096] = bytes(256)
	time.sleep(0.12)
print(faults() - before, faults())'

@test "what a command does is counted, and its output and status stay its own" {
	need_recording
	run assay stat -e page-faults,task-clock -o counts -- sh -c 'echo mine; exit 7'
	[ "$status" = 7 ]
	[ "$output" = mine ]
	grep -q "^sh -c 'echo mine; exit 7', " counts
	grep -qE '[1-9][0-9,]*  page-faults' counts
	grep -qE ' ms  task-clock'"$(mode) .* CPUs" counts
}

@test "counts as CSV and JSON are the same numbers for programs" {
	need_recording
	assay stat -e page-faults --format json -o j -- true
	[ "$(jq -r '.counts[0].event' j)" = "page-faults$(mode)" ]
	[ "$(jq '.counts[0].count' j)" -gt 0 ]
	[ "$(jq '.counts[0].scaled' j)" = false ]
	assay stat -e page-faults --format csv -o c -- true
	[ "$(head -1 c)" = time_s,length_s,event,count,unit,wanted_ns,ran_ns,scaled ]
	[ "$(awk -F, 'NR == 2 { print ($4 > 0), $8 }' c)" = '1 no' ]
}

@test "without -e the available events are counted, and a note names the others" {
	need_recording
	run assay stat -- true
	[ "$status" = 0 ]
	[[ "$output" == *task-clock*page-faults* ]]
	assay stat --format json -o j -- true
	[ "$(jq '(.counts | length) + (.missing | length)' j)" = 8 ]
}

@test "intervals add up to the counts" {
	need_recording
	assay stat -I 100ms -e page-faults --format json -o j -- "$(python_path)" -c "$FAULTS" >own
	read -r touched all <own
	[ "$(wc -l <j)" -ge 2 ]
	sum=$(jq -s 'map(.counts[0].count) | add' j)
	[ "$sum" -ge "$touched" ]
	[ "$sum" -le $((2 * all)) ]
}

@test "a number of intervals ends it" {
	need_recording
	background sleep 100000
	run assay stat -I 50ms -n 3 -e page-faults --format csv -p "$pid"
	[ "$status" = 0 ]
	[ "$(grep -c page-faults <<<"$output")" = 3 ]
}

@test "running processes by thread, and the machine by CPU" {
	need_recording
	background sleep 100000
	run assay stat -p "$pid" -d 50ms --per-thread -e page-faults --format csv
	[ "$status" = 0 ]
	[[ "$output" == *thread,event* && "$output" == *",$pid,page-faults$(mode),"* ]]
	assay stat -a -d 50ms -e cpu-clock -o probe -- true 2>/dev/null || skip "the whole machine may not be counted here"
	run assay stat -a -d 50ms --per-cpu -e cpu-clock --format json
	[ "$(jq '.counts | length' <<<"$output")" = "$(getconf _NPROCESSORS_ONLN)" ]
}

@test "events between braces are counted at once: one time for all" {
	need_recording
	[ -z "$(mode)" ] || skip "needs root, or kernel.perf_event_paranoid of 1 or less"
	assay stat -e '{task-clock,page-faults}:u,context-switches' --format json -o j -- sh -c 'for i in 1 2 3 4 5; do /bin/true; done'
	[ "$(jq -r '.counts[].event' j | paste -sd' ')" = 'task-clock:u page-faults:u context-switches' ]
	[ "$(jq '.counts[:2] | map([.wanted_ns, .ran_ns]) | unique | length' j)" = 1 ]
	[ "$(jq '.counts[:2] | map(.count > 0) | all' j)" = true ]
	assay record -e '{cpu-clock,page-faults:1}' -o s -- "$(python_path)" -c "$FAULTS" 2>log >own
	read -r touched all <own
	# Each one is a sample, or lost.
	n=$(assay report -i s --format csv | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
		$c["event"] ~ /^page-faults/ { n += $c["samples"] } END { print n + 0 }')
	[ "$n" -gt 0 ]
	[ $((n + $(fact s .lost))) -ge "$touched" ]
	[ "$n" -le $((2 * all)) ]
	run assay stat -e '{page-faults,cs' -- true
	refused 2 "event list '{page-faults,cs': a group has no closing '}'"
	run assay record -e '{page-faults,{cs}}' -o none -- true
	refused 2 "a group within a group"
}

@test "events that can't be counted, and typing errors, are errors" {
	run assay stat
	refused 2 "nothing to count"
	run assay stat -a -p 1
	refused 2 "exclude each other"
	run assay stat --per-cpu -- true
	refused 2 "--per-cpu goes with -a"
	run assay stat -n 3 -- true
	refused 2 "--times goes with --interval"
	run assay stat -e no-such-event -- true
	refused 1 "unknown event 'no-such-event'"
	run -127 assay stat -e page-faults -- ./no-such-command
	refused 127 "./no-such-command"
	run assay stat -e page-faults -p 999999999
	refused 1 "no process 999999999"
}

@test "top-down shares add up, and a processor without them is named as the reason" {
	need_recording
	run assay stat --topdown --format json -o j -- sh -c 'for i in 1 2 3 4 5 6 7 8 9; do /bin/true; done'
	if [ "$status" = 0 ]; then
		[ "$(jq '[.topdown[] | select(.level == 1) | .share] | add | . > 0.9 and . < 1.1' j)" = true ]
	else
		refused 1 "--topdown: this processor, or this virtual machine, has no events"
	fi
}

@test "help has the formulas of ratios" {
	run assay stat --help
	[ "$status" = 0 ]
	[[ "$output" == *"per cycle                instructions / cycles"* ]]
	[[ "$output" == *"    core bound             (topdown-be-bound - topdown-mem-bound) / slots"* ]]
}
