#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# assay serve at a recording of Intel PT: windows of calls and of instructions, by the API and in a browser.

# `head` is a file.
# shellcheck disable=SC2030,SC2031,SC2094

load helpers
load daemon
load serve
load pt

@test "a window of calls, or of instructions, is what script has" {
	trace_of --tsc --mtc -- "$PROGRAMS/flow" indirect
	mkdir all
	mv trace.data all/pt.data
	serve all
	enter
	local name how
	while read -r name how; do
		for window in 0%-100% 20%-40%; do
			assay script -i all/pt.data --format json "$how" --time "$window" >wanted 2>/dev/null
			api "$name?source=pt.data&time=${window//%/%25}" | diff - wanted
			[ "$(status)" = 200 ]
			has "^Content-Type: application/x-ndjson" head
			[ "$(wc -l <wanted)" -gt 20 ]
		done
	done <<-END
		calls --call-ret-trace
		instructions --insn-trace
	END
	[ -z "$(api 'calls?source=pt.data&tid=1')" ]
	[ "$(status)" = 200 ]
	# There is no such window.
	api 'calls?source=pt.data&time=x' | jq -e .error
	[ "$(status)" = 400 ]
	# The argument is a value, whatever it looks like.
	api 'calls?source=pt.data&tid=--output%3Dmade' | jq -e .error
	[ ! -e made ]
	# The page of the same window.
	api 'timeline?source=pt.data&time=20%25-40%25' | grep -q 'id="data">{"begin":"[0-9]*",.*"calls":\[[0-9]'
	[ "$(status)" = 200 ]
	# The times of a window without a call are from its begin.
	api 'timeline?source=pt.data&time=100,100.001' | grep -q 'id="data">{"begin":"100000000000","first":0,"last":1000000,"zero":0,.*"functions":\[\]'
	[ "$(status)" = 200 ]
	# Of its thread it has the same calls, of another one none, and what is no number is refused.
	tid=$(api 'calls?source=pt.data&time=20%25-40%25' | jq -s '.[0].tid')
	api 'timeline?source=pt.data&time=20%25-40%25' | grep -o '"calls":\[[^]]*\]' >calls
	api "timeline?source=pt.data&time=20%25-40%25&tid=1,$tid" | grep -o '"calls":\[[^]]*\]' | cmp - calls
	[ "$(wc -c <calls)" -gt 100 ]
	api 'timeline?source=pt.data&time=20%25-40%25&tid=1' | grep -q '"threads":\[\]'
	for tid in x '1,' '1,,2' -1 99999999999; do
		api "timeline?source=pt.data&tid=$tid" | jq -e '.error | test("--tid")'
		[ "$(status)" = 400 ]
	done
}

@test "a recording without a trace has no calls, and the answer says so" {
	assay record --raw -o plain.data -- true 2>/dev/null || skip "recording is not permitted here"
	mkdir all
	mv plain.data all/
	serve all
	enter
	local name
	for name in calls instructions timeline; do
		api "$name?source=plain.data" | jq -e '.error | test("has no Intel PT")'
		[ "$(status)" = 422 ]
	done
}

@test "in a browser: from a window of calls to the instructions, and the histogram of a function" {
	local chromium
	chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "Chromium is not installed"
	command -v node >/dev/null || skip "node is not installed"
	[ -d "$ROOT/tests/npm/node_modules/playwright-core" ] || skip "playwright-core is not installed (scripts/deps-npm.sh)"
	trace_of --tsc --mtc -- "$PROGRAMS/flow" indirect
	assay report --latency -i trace.data --html calls.html
	assay report --latency -i trace.data --format json >latency.json
	mkdir all
	mv trace.data all/pt.data
	serve all
	short=$(short_folder) # the browser has sockets in its temporary folder
	CHROMIUM=$chromium TMPDIR=$short DEADLINE=$DEADLINE timeout $((5 * DEADLINE)) node "$ROOT/tests/browser/calls.mjs" \
		"$PWD" "http://$address$login" >results </dev/null
	rm -rf "$short"
	not grep '^skip ' results || skip "$(sed -n 's/^skip //p' results)"
	cat results
	[ "$(grep -c '^ok ' results)" = 7 ]
	not grep -v '^ok ' results
}
