#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# ophelp and ocount, as OProfile's users and scripts call them.
load helpers

@test "ophelp lists a processor's events with counters, minimum and unit masks" {
	run ophelp -c x86-64/generic
	[ "$status" = 0 ]
	[ "${lines[0]}" = 'oprofile: available events for CPU type "AMD64 generic"' ]
	[[ "$output" == *$'CPU_CLK_UNHALTED: (counter: all)\n\tCPU Clocks not Halted (min count: 50000)\n'* ]]
	[[ "$output" == *$'\tUnit masks (default 0x9)\n\t----------\n\t0x01: Instruction reads that missed\n'* ]]
	[[ "$output" != *page-faults* ]]
	ophelp -X -c 69 | python3 -c '
import sys, xml.etree.ElementTree as x
r = x.parse(sys.stdin).getroot()
assert r.get("schemaversion") == "2.0" and r.find("header").get("title") == "AMD64 generic"
e = r.find("event[@event_name=\"L2_RESULTS\"]")
assert e.get("counter_mask") == "15" and e.get("min_count") == "500"
assert e.find("unit_masks").get("category") == "bitmask" and len(e.find("unit_masks")) == 8'
}

@test "ophelp resolves events, masks and defaults" {
	[ "$(ophelp -c x86-64/generic -r)" = "AMD64 generic" ]
	[ "$(ophelp -c x86-64/generic -d)" = CPU_CLK_UNHALTED:100000:0:1:1 ]
	[ "$(ophelp -c x86-64/generic CPU_CLK_UNHALTED)" = 118 ]
	[ "$(ophelp -c x86-64/generic -u L2_RESULTS)" = 9 ]
	[ "$(ophelp -c x86-64/generic -u L2_RESULTS:10000:0x8:1:1)" = 8 ]
	[ "$(ophelp -c x86-64/generic -i -u L2_RESULTS:0x8)" = 8 ]
}

@test "ophelp -e gives counters, or says why not" {
	e=CPU_CLK_UNHALTED:100000
	[ "$(ophelp -c x86-64/generic -e $e RETIRED_OPS:100000:0:1:1)" = "0 1 " ]
	run ophelp -c x86-64/generic -e CPU_CLK_UNHALTED:100
	refused 1 "count 100 for event CPU_CLK_UNHALTED is below the minimum 50000"
	run ophelp -c x86-64/generic -e --callgraph=5 $e
	refused 1 "below the minimum 750000"
	run ophelp -c x86-64/generic -e $e $e
	refused 1 "given twice"
	run ophelp -c x86-64/generic -e NOPE:100
	refused 1 "no such event 'NOPE' of AMD64 generic"
	run ophelp -c x86-64/generic -e L2_RESULTS:100000:0x100
	refused 1 "the unit mask '0x100' is not possible"
	run ophelp -c x86-64/generic -e $e RETIRED_OPS:100000 RETIRED_INSTRUCTIONS:100000 LS_DISPATCH:1000 L2_REQUESTS:1000
	refused 1 "5 events need a counter, and there are 4"
	run ophelp -c nonsense
	refused 1 "unknown processor 'nonsense'"
}

@test "ophelp reports errors in an event file, and continues" {
	mkdir -p own/x86-64/generic
	printf 'event:0x76 counters:0 name:MINE : mine\nevent:zz counters:0 name:BAD\n' >own/x86-64/generic/events
	OPROFILE_EVENTS_DIR=own run ophelp -c x86-64/generic
	[ "$status" = 0 ]
	[[ "$output" == *"own/x86-64/generic/events:2: event:zz is not a number"* && "$output" == *"MINE: (counter: 0)"* ]]
}

@test "ocount prints what ocount prints" {
	need_recording
	run --separate-stderr ocount -e page-faults,task-clock -- sh -c 'exit 3'
	[ "$status" = 0 ]
	[[ "$stderr" == *"'sh' ended with status 3"* ]]
	[ "${lines[1]}" = "Event counts (actual) for sh:" ]
	[[ "${lines[0]}" =~ ^Events\ were\ actively\ counted\ for\ [0-9.]+\ (seconds|nanoseconds)\.$ ]]
	[ "${lines[2]}" = $'\tEvent              Count                    % time counted' ]
	[[ "${lines[3]}" =~ ^.page-faults\ {8}[1-9][0-9,]*\ +100\.00$ ]]
}

@test "ocount: brief, intervals, threads, and a file" {
	need_recording
	run ocount -b -e page-faults true
	[[ "$output" =~ ^page-faults,[1-9][0-9]*,100\.00$ ]]
	background sleep 100000
	is_running "$pid" sleep
	run ocount -p "$pid" -i 100:2 -b -t -e page-faults
	[ "$(grep -c '^timestamp,' <<<"$output")" = 2 ]
	[ "$(grep -cE "^$pid,page-faults,[0-9]+,100.00" <<<"$output")" = 2 ]
	run ocount -p "$pid" -i 100:1 -f out -e page-faults
	[ "$status" = 0 ]
	grep -q "for the specified process(es):" out
}

@test "ocount: errors end with status 1" {
	run ocount
	refused 1 "give one of COMMAND"
	run ocount -s -p 1
	refused 1 "give one of COMMAND"
	run ocount -c true
	refused 1 "--separate-cpu goes with"
	run ocount -i 50 true
	refused 1 "a multiple of 100"
	run ocount -e no-such-event true
	refused 1 "unknown event 'no-such-event'"
	run ocount --bogus
	refused 1 "unknown option --bogus" "--brief-format"
}

@test "the events of other processors are those of libpfm4, by both names of the list" {
	run ophelp -c i386/nehalem
	[ "$status" = 0 ]
	grep -q '^ARITH: (counter: ' <<<"$output" || skip "assay is built without libpfm4, or it has no tables of x86"
	# a mask by its name; the bits above the mask are not in its value
	grep -qE '0x01: \(name=DIV\)|0x01: \(name=CYCLES_DIV_BUSY\)' <<<"$output"
	[[ "$output" != *0x18401* ]]
	assay events --cpu i386/nehalem --format json >nehalem.json
	[ "$(jq -r '[.. | objects | select(.name? == "ARITH")] | length' nehalem.json)" -ge 1 ]
	run assay events --cpu i386/nehalem ARITH
	refused 0 "CYCLES_DIV_BUSY"
	run assay events --cpu no/such
	refused 1 "unknown processor 'no/such'"
	run assay events --cpu i386/nehalem --check ARITH
	refused 2 "--check is of this processor"
	# an old session has the name and the mask's text, unless OProfile's own tables are given
	python3 "$TOOLS/mkopfile.py" --cpu-type 47 --event ARITH --um 2 --count 6000 flat old /bin/sh 0x1000=5 >/dev/null
	run opreport --session-dir=old
	[[ "$output" == *"Counted ARITH events (Counts arithmetic multiply"* ]]
	mkdir tables
	OPROFILE_EVENTS_DIR=tables run opreport --session-dir=old
	[[ "$output" == *"Counted ARITH events (Unknown event)"* ]]
}
