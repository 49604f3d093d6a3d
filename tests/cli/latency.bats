#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# How long calls took, of traces whose truth is known.
load helpers
load pt

@test "every call is counted that perf lists" {
	command -v perf >/dev/null || skip "perf is not installed"
	trace_of --tsc --mtc -- "$PROGRAMS/flow" indirect
	assay report --latency -i trace.data --format csv >calls.csv
	head -1 calls.csv | grep -q '^calls,total_ns,min_ns,median_ns,p99_ns,max_ns,worst_time_ns,incomplete,worst_tid,function,image$'
	# All that both give the same name, and that nobody jumps to.
	perf script -i trace.data --itrace=b -F ip,addr,sym,flags 2>/dev/null | awk '
		$1 == "call" { calls[$NF]++ }
		$1 != "call" && $1 != "return" && $(NF - 3) != $NF { jumped_to[$NF] = 1 }
		END { for (f in calls) if (!(f in jumped_to)) print f, calls[f] }' | sort >theirs
	awk -F, 'NR > 1 { print $10, $1 + $8 }' calls.csv | sort >ours
	join theirs ours >both
	[ "$(awk '$2 != $3 { print "perf lists " $2 " calls of " $1 ", not " $3 }' both)" = "" ]
	[ "$(wc -l <both)" -gt 20 ]
	for function in main indirect by_value; do
		grep "^$function [1-9]" both
	done
	# Nothing is longer than its maximum, nor shorter than its minimum.
	awk -F, 'NR > 1 && $1 && ($3 > $4 || $4 > $5 || $5 > $6 || $2 > $1 * $6) { print; bad = 1 } END { exit bad }' calls.csv
}

@test "what longjmp left has no duration" {
	trace_of --tsc --mtc -- "$PROGRAMS/flow" longjmp
	assay report --latency -i trace.data --format json >calls.json
	[ "$(jq '[.[].incomplete] | add' calls.json)" -gt 10 ]
	[ "$(jq '[.[] | select(.calls > 0 and .max_ns < .min_ns)] | length' calls.json)" = 0 ]
}

@test "recursion, threads and signals, without an error" {
	for how in recursion threads signals; do
		trace_of --tsc --mtc -- "$PROGRAMS/flow" $how
		run --separate-stderr assay report --latency -i trace.data --sort calls
		[ "$status" = 0 ]
		[ -z "$stderr" ]
		[[ "$output" == *"calls of "*" functions"* ]]
	done
}

@test "a trace without time says so" {
	trace_of -- "$PROGRAMS/flow" indirect
	run assay report --latency -i trace.data
	refused 0 "the trace has none"
}

@test "inputs without calls, and wrong usage" {
	run assay report --latency -i nothing.here
	refused 1 "nothing.here"
	run assay report --latency --sort nonsense -i nothing.here
	refused 2 "'nonsense' is no column" "median"
	run assay report --latency comm:x
	refused 2 "no filters"
	[ -d "$FIXTURES" ] || skip "no fixtures here"
	run assay report --latency -i "$FIXTURES/perf.data.callgraph-3.8"
	refused 1 "no Intel PT"
}
