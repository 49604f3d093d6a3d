#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# perf.data files that assay writes, read by perf.

load helpers

FIXTURES=${ASSAY_FIXTURES:-$ROOT/../shared/fixtures}/perfdata

need_perf() {
	command -v perf >/dev/null || skip "perf is not installed"
}

# perf 6.1 crashes now and then at the end of a recording; it is asked again.
perf_record() {
	need_perf
	for _ in 1 2 3; do
		perf record -q -N "$@" >perf.log 2>&1 && return
	done
	skip "perf record failed: $(tail -1 perf.log)"
}

# perf says the same of both files, and so do we.
same_recording() { # FILE ANOTHER
	diff <(perf script --no-inline --no-itrace -i "$1" 2>/dev/null) <(perf script --no-inline --no-itrace -i "$2" 2>/dev/null)
	diff <(perf evlist -i "$1") <(perf evlist -i "$2")
	diff <(assay script -i "$1") <(assay script -i "$2")
}

@test "a recording that is written again is the same for perf" {
	perf_record -g -F 999 -o fp.data -- ls -lR /usr/include
	perf_record -a -e sched:sched_switch,cpu-clock -o tp.data -- ls /usr
	perf_record --call-graph dwarf,2048 -F 299 -o dwarf.data -- "$PROGRAMS/deep" 100
	perf record -q -g -F 499 -o - -- ls -lR /usr/include >pipe.data 2>perf.log
	perf_record -z -F 999 -o zipped.data -- ls -lR /usr/include
	for f in fp tp dwarf pipe zipped; do
		assay import -q --to perfdata "$f.data" -o "$f.copy"
		same_recording "$f.data" "$f.copy"
	done
	diff <(perf buildid-list -i fp.data) <(perf buildid-list -i fp.copy)
	perf_record --threads -a -F 99 -o threads.data -- ls -lR /usr/include
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

@test "what can't be written again says why" {
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
