#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# How long calls took, of traces whose truth is known.
load helpers
load pt

@test "every call is counted that perf lists" {
	command -v perf >/dev/null || skip "perf is not installed"
	trace_of --tsc --mtc -- "$PROGRAMS/flow" indirect
	assay report --latency -i trace.data --format csv >calls.csv
	head -1 calls.csv | grep -q '^calls,total_ns,min_ns,median_ns,p99_ns,max_ns,worst_time_ns,incomplete,worst_tid,function,image,ipc$'
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

@test "a picture has the calls that the list counts" {
	trace_of --tsc --mtc --cyc -- "$PROGRAMS/flow" indirect
	assay report --latency -i trace.data --format json >calls.json
	run --separate-stderr assay report --latency -i trace.data --html calls.html --perfetto calls.perfetto-trace
	[ "$status" = 0 ]
	[ -z "$output$stderr" ]
	sed -n 's/.*id="data">\(.*\)<\/script>.*/\1/p' calls.html >data.json
	[ "$(jq '[.threads[].calls | length / 5] | add' data.json)" = "$(jq '[.[] | .calls + .incomplete] | add' calls.json)" ]
	[ "$(jq '.zero' data.json)" = 0 ]
	# Instructions and cycles of a function are those of its calls.
	[ "$(jq -r '(.functions | index("main")) as $i | .work[2 * $i] / .work[2 * $i + 1] * 1000 | round' data.json)" = \
		"$(jq -r '.[] | select(.function == "main") | .ipc * 1000 | round' calls.json)" ]
	python3 "$ROOT/tests/cli/protobuf.py" slices calls.perfetto-trace >slices.json
	[ "$(jq .open slices.json)" = 0 ]
	jq -e '.names | index("main")' slices.json
	run assay report -i trace.data --perfetto calls.perfetto-trace
	refused 2 "--perfetto goes with --latency"
}

@test "a picture of a window has the calls of that time alone" {
	trace_of --tsc --mtc -- "$PROGRAMS/flow" indirect
	local from to all
	assay report --latency -i trace.data --html - >calls.html
	sed -n 's/.*id="data">\(.*\)<\/script>.*/\1/p' calls.html >all.json
	# The middle of the time, to the nanosecond.
	from=$(jq -r '(.begin | tonumber) + (.last / 4 | floor)' all.json)
	to=$(jq -r '(.begin | tonumber) + (.last / 4 * 3 | floor)' all.json)
	assay report --latency -i trace.data --html - --time "$(seconds_of "$from"),$(seconds_of "$to")" >calls.html
	sed -n 's/.*id="data">\(.*\)<\/script>.*/\1/p' calls.html >some.json
	[ "$(jq -r .begin some.json)" = "$from" ]
	[ "$(jq .last some.json)" = $((to - from)) ]
	# Calls that are whole in it: as many as of the whole picture.
	whole='[.threads[].calls | . as $c | reduce range(0; length; 5) as $i ({ at: 0, n: 0 }; .at += $c[$i] |
		if .at > $low and .at + $c[$i + 1] < $high and ($c[$i + 4] % 16 == 0) then .n += 1 else . end) | .n] | add'
	all=$(jq --argjson low "$(jq '.last / 4 | floor' all.json)" --argjson high "$(jq '.last / 4 * 3 | floor' all.json)" "$whole" all.json)
	[ "$all" -gt 10 ]
	[ "$(jq --argjson low 0 --argjson high "$(jq .last some.json)" "$whole" some.json)" = "$all" ]
	# Nothing is outside.
	jq -e '.last as $last | all(.threads[].calls; . as $c | reduce range(0; length; 5) as $i ({ at: 0, ok: true }; .at += $c[$i] |
		.ok = (.ok and .at + $c[$i + 1] <= $last)) | .ok)' some.json
	# A window without calls is a picture, too.
	assay report --latency -i trace.data --html none.html --time "$(seconds_of $((to + 1000000000000))),$(seconds_of $((to + 1000000001000)))"
	grep -q '"left_out":0' none.html
	not grep -q '"calls":\[[0-9]' none.html
	run assay report --latency -i trace.data --html - --time x
	refused 2 "--time 'x' is not START,STOP"
	run assay report --latency -i trace.data --html - --time "1,2 3,4"
	refused 2 "the picture has one window"
	run assay report --latency -i trace.data --time 1,2
	refused 2 "--time goes with --html or --perfetto"
	run assay report -i trace.data --time 1,2
	refused 2 "--time goes with --latency"
}

seconds_of() { # NANOSECONDS
	printf '%d.%09d' $(($1 / 1000000000)) $(($1 % 1000000000))
}

@test "instructions per cycle are shown where cycles are known" {
	trace_of --tsc --mtc --cyc -- "$PROGRAMS/flow" indirect
	assay report --latency -i trace.data | grep -Eq 'incomplete +IPC +function'
	assay report --latency -i trace.data --sort ipc --format csv | awk -F, 'NR > 2 && $NF > last { exit 1 } { last = $NF }'
	trace_of -- "$PROGRAMS/flow" indirect
	assay report --latency -i trace.data | grep -Eq 'incomplete +function'
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
	run assay report --latency --html calls.html -i nothing.here
	refused 1 "nothing.here"
	[ -d "$FIXTURES" ] || skip "no fixtures here"
	run assay report --latency -i "$FIXTURES/perf.data.callgraph-3.8"
	refused 1 "no Intel PT"
}
