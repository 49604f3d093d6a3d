# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Traces of the generator (tests/pt), decoded by us and by perf, held against what it knows.

PT=$ASSAY_BUILD/tests/pt

# Branches by thread, in the order of time: perf interleaves threads.
by_thread() {
	awk '{ print $1, $2, $3, $4 }' | sort -s -n -k1,1
}

# Not the samples of sched_switch.
decoded() {
	grep -e '=>' -e error
}

# as_perf [OPTION…]: what script prints of the trace is what perf prints, but for blanks between fields.
as_perf() {
	command -v perf >/dev/null || skip "perf is not installed"
	timeout 60 assay script -i trace.data "$@" 2>ours.err | tr -s ' \t' ' ' >ours
	timeout 100 perf script -i trace.data "$@" 2>perf.err | tr -s ' \t' ' ' >theirs
	[ -s ours ]
	diff -u theirs ours | head -20
	cmp theirs ours
}

# As perf, but for one line in fifty: now and then it takes the length of a cycle from elsewhere.
nearly_as_perf() {
	as_perf "$@" >differences && return
	echo "$(diff theirs ours | grep -c '^[<>]') lines of $(wc -l <theirs) differ:"
	cat differences
	[ $(($(diff theirs ours | grep -c '^[<>]') * 50)) -le "$(wc -l <theirs)" ]
}

# trace_of [OPTION…] -- PROGRAM [ARG…]: trace.data, its truth, and that by thread in `want`.
trace_of() {
	[ -x "$PT/pt_trace" ] || skip "the generator is for x86-64"
	local options=()
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	timeout 100 "$PT/pt_trace" "${options[@]}" trace.data truth "$@" >out 2>err </dev/null ||
		{ grep -q "not permitted" err && skip "ptrace is not permitted here"; cat err; return 1; }
	by_thread <truth >want
}

# same_branches [OPTION…] -- PROGRAM [ARG…]: generator, decoder and perf agree, line for line.
same_branches() {
	trace_of "$@"
	[ "$(wc -l <want)" -gt 1000 ]
	timeout 60 assay script -i trace.data --itrace=be -F tid,ip,addr 2>decoder | decoded | by_thread >ours
	diff -u want ours | head -20
	cmp want ours
	command -v perf >/dev/null || return 0
	timeout 100 perf script -i trace.data --itrace=be -F tid,ip,addr 2>perf.err | decoded | by_thread >theirs
	diff -u want theirs | head -20
	cmp want theirs
}
