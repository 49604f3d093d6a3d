#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later

load helpers

# The last `run` failed in one line that has every TEXT.
failed_with() {
	[ "$status" != 0 ]
	refused "$status" "$@"
	[ "$(wc -l <<<"$output")" -le 2 ]
	[ ! -e out.assay ]
}

@test "an unknown event brings the nearest names" {
	run assay record -o out.assay -e cycels -- true
	failed_with "unknown event 'cycels'" "nearest: cycles"
	run assay record -o out.assay -e cpu-clok:u -- true
	failed_with "unknown event 'cpu-clok'" "nearest: cpu-clock"
}

@test "an unknown modifier brings those that are allowed" {
	run assay record -o out.assay -e cpu-clock:x -- true
	failed_with "unknown modifier 'x'" "u k h"
	# also where tracepoints may not be read
	run unprivileged assay record -o out.assay -e cpu-clock:x -- true
	failed_with "unknown modifier 'x'" "u k h"
}

@test "an event in no mode is refused" {
	run assay record -o out.assay -e CPU_CLK_UNHALTED:100000:0:0:0 -- true
	failed_with "neither user nor kernel mode"
}

@test "an absurd count or rate is refused" {
	run assay record -o out.assay -e cpu-clock:1 -- true
	failed_with "faster than 100 kHz"
	run assay record -o out.assay -e page-faults:0 -- true
	failed_with "a count of 0"
	run assay record -o out.assay -e page-faults -c 9223372036854775808 -- true
	failed_with "2^63"
	[ ! -r /proc/sys/kernel/perf_event_max_sample_rate ] ||
		{ run assay record -o out.assay -e cpu-clock -F 900000000 -- true &&
			failed_with "kernel.perf_event_max_sample_rate"; }
}

@test "an unknown PMU brings those that are there" {
	run assay record -o out.assay -e nopmu/event=1/ -- true
	failed_with "no PMU 'nopmu' here" "software"
}

@test "software events are recorded, several at once" {
	need_recording
	run assay record -o out.assay -e page-faults:1:0:1:1,cpu-clock:u -- sh -c 'true; true'
	[ "$status" = 0 ]
	run assay info out.assay
	[[ "$output" == *page-faults* && "$output" == *cpu-clock:u* ]]
}

@test "events lists the available events, by kind" {
	run assay events
	[ "$status" = 0 ]
	[[ "$output" == *"hardware (generic hardware event)"*"cycles, cpu-cycles"* ]]
	[[ "$output" == *"software (software event of the kernel)"*"cpu-clock"* ]]
	run assay events --kind software --search fault
	[ "$status" = 0 ]
	[[ "$output" == *page-faults* && "$output" != *cpu-clock* && "$output" != *cycles* ]]
	run assay events 'L1-dcache-load*'
	[ "$status" = 0 ]
	[ "$(grep -c L1-dcache-load <<<"$output")" = 2 ]
}

@test "events gives the same list as text, JSON and XML" {
	n=$(assay events --format json --kind cache | jq length)
	[ "$n" -gt 10 ]
	[ "$(assay events --kind cache | grep -c '^  ')" = "$n" ]
	[ "$(assay events --format xml --kind cache | grep -c '<event ')" = "$n" ]
}

@test "an unknown event is an error with the nearest names" {
	run assay events cycels
	refused 1 "no event of that name" "nearest: cycles"
	run assay events quite-something-else
	refused 1 "no event of that name; 'assay events' lists all"
	run assay stat -e quite-something-else -- true
	refused 1 "unknown event 'quite-something-else'; 'assay events' lists those of this machine"
}

@test "events --check says whether events can be counted" {
	need_recording
	run assay events --check page-faults cpu-clock
	[ "$status" = 0 ]
	[[ "$output" == *"page-faults"*"type 1"*"config 0x2"*"can be counted"* ]]
	[[ "$output" == *"all at once: yes"* ]]
	run assay events --check --format json cpu-clock
	[ "$(jq -r '.events[0].can_be_counted' <<<"$output")" = true ]
	run assay events --check no-such-event
	refused 1 "unknown event 'no-such-event'"
	run assay events --check
	refused 2 "name the events"
}

@test "an event file of one's own adds a processor and its events" {
	[ -r /proc/cpuinfo ] && grep -q '^vendor_id' /proc/cpuinfo || skip "not an x86 processor"
	vendor=$(awk -F': ' '/^vendor_id/ { print $2; exit }' /proc/cpuinfo)
	family=$(awk -F': ' '/^cpu family/ { print $2; exit }' /proc/cpuinfo)
	mkdir -p own/x86-64/mine
	echo "cpu:x86-64/mine vendor:$vendor family:$family counters:2 default:MINE:100000 : Mine" >own/cpus
	printf 'name:kinds type:exclusive default:0x1\n\t0x1 one\n\t0x2 extra:inv,cmask=1 other another\n' >own/x86-64/mine/unit_masks
	cat >own/x86-64/mine/events <<-'END'
		event:0x76 counters:0 um:zero minimum:6000 name:MINE : what I count
		event:0x77 counters:0 um:kinds minimum:6000 name:KINDS : of some kinds
	END
	export ASSAY_EVENTS_DIR=$PWD/own
	run assay events --search 'what i count'
	[ "$status" = 0 ]
	[[ "$output" == *"table (event of this processor, from event files)"*MINE*"what I count"* ]]
	[ "$(assay events --format json KINDS | jq -r '.[0].unit_masks[1].name, .[0].minimum_count')" = $'other\n6000' ]
	run assay events --check MINE:100
	refused 2 "below the minimum of 6000"
	run assay events --check KINDS:10000:third
	refused 2 "the unit mask 'third' is not one of it; it has 0x01, other"
	echo 'event:0x78 counters:0 um:absent name:BAD' >>own/x86-64/mine/events
	run assay events --kind table
	refused 1 "own/x86-64/mine/events:3: no unit mask 'absent'" "what I count"
}

@test "events shows the abilities of this processor's Intel PT, or the obstacle" {
	run assay events intel_pt
	if [ -d /sys/bus/event_source/devices/intel_pt ]; then
		[[ "$output" == *"time stamps"* ]]
	else
		refused 1 "intel_pt (Intel Processor Trace" "in the way: " "can't be recorded here"
	fi
	assay events intel_pt// --format json >pt.json || true
	[ "$(jq -r .pmu pt.json)" = intel_pt ]
	jq -e '.can_be_recorded | type == "boolean"' pt.json
	jq -e '.meaning | length > 0' pt.json || [ -d /sys/bus/event_source/devices/intel_pt ]
}

@test "page faults are counted one by one, with whole stacks" {
	need_recording
	# It touches pages of its heap: a fault each, in a call chain without frame pointers in the C library.
	faults=(python3 -c 'b = bytearray(40 << 20)')
	counted=$(assay stat -e page-faults:u --format json -- "${faults[@]}" 2>&1 | jq '.counts[0].count')
	assay record --collector perf -e page-faults:u,cpu-clock:u -o s -- "${faults[@]}" 2>messages
	has "stacks: copied stacks" messages
	sampled=$(samples_of s event:page-faults:u)
	lost=$(fact s .lost) # a few dozen on a machine that is 20 times too busy
	echo "$sampled samples, $lost lost, $counted faults"
	[ "$lost" -lt $((counted / 10)) ]
	# Two runs of one program differ by a few.
	[ $(((sampled + lost) * 100)) -ge $((counted * 97)) ]
	[ $((sampled * 97)) -le $((counted * 100)) ]
	[ "$(assay report -i s -l --format json event:page-faults:u | jq '[.rows[].events] | add')" = "$sampled" ]
}
