#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Samples in the place of a trace: perf reads the output, and would have written the same.
load helpers
load pt

# What perf script shows of a file, without the widths of its columns.
shown() { # FILE FIELDS
	within perf script -i "$1" -F "$2" 2>perf.err | tr -s ' \t'
}

@test "perf reads the samples that it would have written itself" {
	command -v perf >/dev/null || skip "perf is not installed"
	trace_of --tsc --mtc -- "$PROGRAMS/flow" indirect
	for itrace in i1000igl b cr; do
		fields=tid,time,ip,sym,period
		[ $itrace != i1000igl ] || fields+=,brstack
		assay inject -q -i trace.data -o ours.data --itrace=$itrace --strip
		perf inject -i trace.data -o theirs.data --itrace=$itrace --strip
		shown ours.data $fields >ours
		shown theirs.data $fields >theirs
		[ "$(wc -l <ours)" -gt 100 ]
		diff -u theirs ours | head -20
		cmp theirs ours
	done
}

@test "our own commands read it, too, as if the samples had been recorded" {
	trace_of --tsc --mtc -- "$PROGRAMS/flow" recursion
	assay inject -q -i trace.data -o samples.data --itrace=i100ig --strip
	assay script -i trace.data --itrace=i100ig -F tid,time,ip,sym | tr -s ' ' >want
	assay script -i samples.data -F tid,time,ip,sym | tr -s ' ' >got
	[ -s got ]
	cmp want got
	assay report -l -i samples.data | grep -q 'flow'
}

@test "mispred-all is a setting and an option" {
	command -v perf >/dev/null || skip "perf is not installed"
	trace_of --tsc --mtc -- "$PROGRAMS/flow" indirect
	assay inject -q -i trace.data -o none.data --itrace=i1000il --strip
	assay inject -q -i trace.data -o option.data --itrace=i1000il --strip --mispred-all
	printf '[core]\n\tmispred-all = off\n[intel-pt]\n\tmispred-all = on\n' >"$HOME/.perfconfig"
	assay inject -q -i trace.data -o set.data --itrace=i1000il --strip
	cmp option.data set.data
	shown option.data brstack | grep -q '/M/'
	[ "$(shown none.data brstack | grep -c '/M/')" = 0 ]
}

@test "without --itrace it is a copy that decodes as before" {
	trace_of --tsc --mtc -- "$PROGRAMS/flow" indirect
	assay inject -q --no-itrace -i trace.data -o copy.data
	assay script -i trace.data --itrace=b >want
	assay script -i copy.data --itrace=b >got
	[ -s want ]
	cmp want got
}

@test "build ids of mapped files are added" {
	trace_of --tsc --mtc -- "$PROGRAMS/flow" indirect
	assay inject -q -b -i trace.data -o ids.data
	assay buildid-list -i ids.data | grep -q '/flow$'
	[ "$(assay buildid-list -i trace.data | grep -c '/flow$')" = 0 ]
}

@test "impossible requests are errors, and nothing is left behind" {
	run assay inject -i perf.data
	refused 2 "-o FILE"
	run assay inject -i nothing.here -o out.data --itrace
	refused 1 "nothing.here"
	run assay inject -i nothing.here -o out.data --strip
	refused 2 "--strip needs --itrace"
	run assay inject -i x -o out.data --itrace=iz
	refused 2 "'z' is no letter"
	run assay inject -i - -o out.data --itrace
	refused 2 "pipe"
	[ -d "$FIXTURES" ] || skip "no fixtures here"
	run assay inject -i "$FIXTURES/perf.data.callgraph-3.8" -o out.data --itrace
	refused 1 "no Intel PT"
	[ ! -e out.data ]
}

@test "stretches of a damaged trace that are not verified are records, which perf shows" {
	generate --tsc --mtc --psb 2000 -- "$PROGRAMS/flow" indirect
	local place
	for place in 7 19 33; do
		cp trace.data damaged.data
		printf '\x02\x04\x05' | dd of=damaged.data bs=1 seek=$(($(stat -c %s trace.data) * place / 42)) conv=notrunc status=none
		assay script -i damaged.data --itrace=e 2>/dev/null |
			sed -n 's/.* unverified from \([0-9.]*\) to \([0-9.]*\) .* instructions \([0-9]*\):.*/\2 \3 \1/p' >want
		[ -s want ] && break
	done
	[ -s want ]
	assay inject -i damaged.data -o out.data --itrace=be 2>said
	grep -q "$(wc -l <want) stretches of the trace are not verified" said
	# The record is perf's of an error, with a text of 64 bytes.
	strings -n 20 out.data | grep -o 'unverified: .*' >texts
	[ "$(cat texts)" = "$(awk '{ print "unverified: " $2 " instructions from " $3 }' want)" ]
	command -v perf >/dev/null || skip "perf is not installed"
	perf script -i out.data 2>/dev/null |
		sed -n 's/.* time \([0-9.]*\) .* code 255: unverified: \([0-9]*\) instructions from \([0-9.]*\)/\1 \2 \3/p' >theirs
	cmp want theirs
}

@test "errors of a trace that was decoded before are shown again, as perf shows them" {
	generate --tsc --mtc --psb 2000 -- "$PROGRAMS/flow" indirect
	printf '\x02\x04\x05' | dd of=trace.data bs=1 seek=$(($(stat -c %s trace.data) / 2)) conv=notrunc status=none
	assay inject -q -i trace.data -o out.data --itrace=be 2>said
	assay script -i trace.data --itrace=e 2>err | grep ' error type ' >want
	[ -s want ]
	assay script -i out.data -F ip >shown
	grep ' error type ' shown | grep -v 'code 255' | diff want -
	assay script -i trace.data --itrace=e 2>err | grep -c unverified >n
	[ "$(grep -c 'code 255: unverified: [0-9]* instructions from' shown)" = "$(cat n)" ]
	assay script -i out.data --format json | jq -r 'select(.error) | .error' >texts
	[ "$(wc -l <texts)" = "$(grep -c 'instruction trace error' shown)" ]
	[ "$(assay script --no-itrace -i out.data -F ip | grep -c 'trace error')" = 0 ]
	# They count where samples are added up.
	assay report -i out.data | grep -q 'trace errors: '
	command -v perf >/dev/null || skip "perf is not installed"
	perf script -i out.data 2>/dev/null | grep 'instruction trace error' | sort >theirs
	grep 'instruction trace error' shown | sort | cmp theirs -
}
