#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# perf.data files that assay writes, read by perf.

load helpers
load perfdata

# perf says the same of both files, and so do we.
same_recording() { # FILE ANOTHER
	diff <(perf script --no-inline --no-itrace -i "$1" 2>/dev/null) <(perf script --no-inline --no-itrace -i "$2" 2>/dev/null)
	# Of a pipe's events perf makes up names, with modifiers that nobody gave.
	diff <(perf evlist -i "$1" | sed 's/:HG$//') <(perf evlist -i "$2" | sed 's/:HG$//')
	diff <(assay script -i "$1") <(assay script -i "$2")
}

@test "a recording that is written again is the same for perf" {
	perf_record -g -F 999 -o fp.data -- "${work[@]}"
	perf_record -a -e sched:sched_switch,cpu-clock -o tp.data -- ls /usr
	perf_record --call-graph dwarf,2048 -F 299 -o dwarf.data -- "$PROGRAMS/deep" 100
	perf_pipe pipe.data -g -F 499 -- "${work[@]}"
	perf_record -z -F 999 -o zipped.data -- "${work[@]}"
	for f in fp tp dwarf pipe zipped; do
		assay import -q --to perfdata "$f.data" -o "$f.copy"
		same_recording "$f.data" "$f.copy"
	done
	diff <(perf buildid-list -i fp.data) <(perf buildid-list -i fp.copy)
	perf_record --threads -a -F 99 -o threads.data -- "${work[@]}"
	assay import -q --to perfdata threads.data -o threads.copy
	[ "$(assay script -i threads.data | grep -c cpu-clock)" = "$(perf script -i threads.copy 2>/dev/null | grep -c cpu-clock)" ]
}

@test "recordings of other machines are the same when they are written again" {
	[ -d "$FIXTURES" ] || skip "no recordings in $FIXTURES"
	need_perf
	for f in "$FIXTURES"/perf.data.{branch,callgraph,intel_pt,lost_samples,singleprocess}-*; do
		assay import -q --to perfdata "$f" -o copy.data
		same_recording "$f" copy.data
	done
	# This perf cannot read these, but it can their copies.
	for f in sleep.data sleep.compressed.data sleep.compressed2.pipe.data; do
		assay import -q --to perfdata "$FIXTURES/$f" -o copy.data
		[ "$(perf script -i copy.data -F comm 2>/dev/null | grep -c .)" = "$(assay script -i "$FIXTURES/$f" -F comm | grep -c .)" ]
	done
}

@test "record --raw: perf counts what we count, and prints what we print" {
	need_perf
	need_recording
	assay record -q --raw -F "$(at_most 1999)" -o fp.data -- "${work[@]}" >/dev/null
	assay record -q --raw -e cpu-clock,page-faults -c 1000000 -o events.data -- "${work[@]}" >/dev/null
	assay record -q --raw --call-graph=none -F "$(at_most 999)" -o flat.data -- "$PROGRAMS/split" 300 >/dev/null
	ASSAY=$ASSAY_BUILD/assay python3 "$ROOT/tests/compare_script.py" fp.data events.data flat.data
	ASSAY=$ASSAY_BUILD/assay python3 "$ROOT/tests/compare_perf.py" fp.data events.data flat.data
	n=$(assay script -i flat.data | grep -c .)
	[ "$n" -gt 0 ]
	perf report --stdio -i flat.data 2>/dev/null | grep -q "^# Samples: $n  *of event"
	perf evlist -v -i events.data | grep -q '^page-faults:.*IDENTIFIER'
	perf buildid-list -i fp.data | grep -q '/programs/split$'
	perf script --header-only -i fp.data >header
	grep -q '^# cmdline : assay record -q --raw' header
	grep -q "^# hostname : $(hostname)" header
	grep -q '^# time of first sample' header
	[ "$(assay info --format json -i fp.data | jq .samples)" = "$(assay script -i fp.data --format json | wc -l)" ]
}

@test "record --raw: copied stacks, tracepoints and a whole machine" {
	need_perf
	need_root
	need_recording
	assay record -q --raw --call-graph=dwarf -F 499 -o dwarf.data -- "$PROGRAMS/deep" 200 >/dev/null
	perf script --no-inline -i dwarf.data 2>/dev/null | grep -q 'level+0x.*/programs/deep'
	assay script -i dwarf.data | grep -q 'level+0x.*/programs/deep'
	assay record -q --raw -a -e raw_syscalls:sys_enter --call-graph=none -o tp.data -- ls /usr >/dev/null
	ASSAY=$ASSAY_BUILD/assay python3 "$ROOT/tests/compare_perf.py" tp.data
	perf script -i tp.data 2>/dev/null | grep -q 'raw_syscalls:sys_enter: NR '
	diff <(perf script -F trace:trace -i tp.data 2>/dev/null) <(assay script -F trace:trace -i tp.data)
}

# That the command has begun is in a file that is being written.
shows_exec() { # FILE
	assay script -i "$1" --show-task-events 2>/dev/null | grep -q "exec: sleep:"
}

@test "record --raw of a thread has its process and its functions" {
	need_recording
	background "$PROGRAMS/threads" 100000s
	process=$pid
	wait_for thread_named "$process" busy
	record_until has_samples_of_busy -q --raw -t "$tid" -o t.data
	assay script -i t.data --show-task-events | grep "PERF_RECORD_COMM: busy:$process/$tid"
	assay script -i t.data | grep -q "busy_work"
}

thread_named() { # PID NAME; sets $tid
	tid=$(grep -lx "$2" "/proc/$1/task/"*/comm | cut -d / -f 5)
	[ -n "$tid" ]
}

has_samples_of_busy() {
	[ "$(assay script -i t.data 2>/dev/null | grep -c "^busy .*cpu-clock")" -ge 20 ]
}

@test "a killed raw recorder leaves its flushed records, and import makes perf read them" {
	need_perf
	need_recording
	background assay record -q --raw -o killed.data -- sleep 100000
	wait_for shows_exec killed.data
	# The recorder first: without its command it would end by itself.
	kill -9 "$pid" "$(pgrep -P "$pid" -x sleep)"
	wait "$pid" || true
	run assay import --to perfdata killed.data -o whole.data
	refused 1 "the recorder was killed before it could finish the file" "whole.data ends there"
	perf script --show-task-events -i whole.data 2>/dev/null | grep -q 'PERF_RECORD_COMM exec: sleep:'
	run assay script -i killed.data --show-task-events
	refused 1 "PERF_RECORD_COMM exec: sleep:" "the recorder was killed"
}

@test "record --raw keeps the old file, and refuses conflicting options" {
	need_recording
	assay record -q --raw -o twice.data -- true
	assay record -q --raw -o twice.data -- true
	[ -e twice.data.old ]
	echo text >text
	run assay record -q --raw -o text -- true
	refused 1 "text is in the way and is not a perf.data file"
	[ "$(cat text)" = text ]
	run assay record --raw --off-cpu -- true
	refused 2 "--raw, -b and -j keep what the kernel's rings give"
	run assay record -q --raw -o no/such/folder/x.data -- true
	refused 1 "no/such/folder/x.data" "there is no folder no/such/folder"
}

@test "inputs that can't be written again are errors with the reason" {
	mkdir d
	echo text >text
	run assay import --to perfdata text -o out.data
	refused 1 "only perf.data can be written as perf.data"
	run assay import --to perfdata text
	refused 2 "needs a file to write"
	run assay import --to nonsense text
	refused 2 "nonsense" "perfdata"
	[ ! -e out.data ]
}

@test "the mark at the end of a pipe's features is no feature of the copy" {
	# perf 6.1's mark is number 32, which is a feature of newer perfs: these refuse it if it is empty.
	{ pipe_header; le 80 4; le 0 2; le 16 2; le 32 8; le 80 4; le 0 2; le 24 2; le 33 8; le 62 8; sample 4096 1000000000; } >pipe.data
	assay import -q --to perfdata pipe.data -o copy.data
	# Bits 32 to 39 of the header's features: E_MACHINE alone.
	[ "$(od -An -tx1 -j76 -N1 copy.data)" = " 02" ]
	assay report -i copy.data >said 2>&1
	! grep "not known to this version" said || false
}

@test "record -o - writes what perf reads from a pipe" {
	need_perf
	assay record -q -F "$(at_most 999)" -o - -- sh -c "echo printed; $PROGRAMS/split 300" 2>errors >p.data
	grep -q ^printed errors
	[ "$(head -c 16 p.data | od -An -tu8 -j8 | tr -d ' ')" = 16 ]
	perf report -i - --stdio --no-inline -F sample,comm -s comm,dso <p.data 2>perf.err >theirs
	[ ! -s perf.err ] || { cat perf.err; false; }
	n=$(assay report -i - --format json <p.data | jq '[.total[].samples] | add')
	[ "$n" -gt 50 ]
	grep -q "^# Samples: $n " theirs
	# Host, command, clock and events are in front, build ids come with their files.
	perf report -i p.data --header-only >header
	grep -q '^# cmdline : .*assay record' header
	grep -q '^# clockid: monotonic' header
	perf buildid-list -i p.data | grep -q '/split$'
	assay script -i p.data >own
	assay import -q --to perfdata p.data -o copy.data
	diff own <(assay script -i copy.data)
}

@test "record -o - of a tracepoint has its fields, and ends where nobody reads" {
	need_perf
	assay record -q -e sched:sched_switch -o - -- sleep 0.1 >tp.data 2>errors || skip "$(cat errors)"
	assay script -i tp.data | grep -q 'sched_switch: prev_comm='
	perf script -i tp.data 2>/dev/null | grep -q 'sched_switch: prev_comm='
	# A reader that ends is a failure with a reason; the recording goes on up to then.
	assay record -q -o - -- "$PROGRAMS/split" 300 2>errors | true
	[ "${PIPESTATUS[0]}" = 1 ]
	grep -q "standard output.*Broken pipe" errors
}
