#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Histories: windows of time, overviews, merging. The input is generated, not recorded.
load helpers

# Two hours from 2026-06-01 00:00 on.
setup_file() {
	"$ASSAY_BUILD/bench/history" "$BATS_FILE_TMPDIR/store" 2 30000 400
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR TZ=UTC0
	cp -r "$BATS_FILE_TMPDIR/store" .
}

samples() {
	assay report --format json "$@" | jq .header.samples.selected
}

@test "a window takes its part of a history, and two halves are the whole" {
	all=$(samples --session-dir store)
	first=$(samples --session-dir store --until '2026-06-01 00:47:11')
	second=$(samples -i store --since 2026-06-01T01:47:11+01:00)
	echo "$all $first $second"
	[ "$first" -gt 0 ]
	[ "$second" -gt 0 ]
	[ $((first + second)) = "$all" ]
	[ "$(samples -i store --at '2026-06-01 01:00' --window 10m)" = \
		"$(samples -i store --since '2026-06-01 00:55' --until '2026-06-01 01:05')" ]
	# Of a part alone, which is an ordinary session, and with time: below the window.
	part=store/samples/current/20260601T000000.000Z
	[ "$(samples -i $part --until @1780272600)" = "$(samples -i store time:-10m)" ]
	[ "$(samples -i store --since @1780272600 time:-60s)" = \
		"$(samples -i store --since @1780272600 --until @1780272660)" ]
}

@test "the header has the window that was asked for, and the one that it is" {
	run assay report -i store --at '2026-06-01 00:30' --window 30s
	[ "$status" = 0 ]
	[[ "$output" == *"window    2026-06-01 00:29:45 to 2026-06-01 00:30:15; samples are of 2026-06-01 00:29:45"* ]]
	run assay report -i store --at '2026-06-01 00:30' --window 30s --format json
	[[ "$output" == *'"window":{'*'"from":"2026-06-01T00:29:45.000Z"'*'"block_seconds":1.0'* ]]
	assay retain store --tier hours=1h --tier days=never
	run assay report -i store --at '2026-06-01 00:30' --window 30s
	[[ "$output" == *"2026-06-01 00:00:00"*"in blocks of up to an hour: one counts if its middle is in the window"* ]]
}

@test "overviews and merging keep every sum" {
	all=$(samples -i store)
	hour=$(samples -i store --until '2026-06-01 01:00')
	odd=$(samples -i store --since '2026-06-01 00:12:34' --until '2026-06-01 01:23:45')
	run assay retain store --tier minutes=never --tier hours=never --tier days=never
	[[ "$output" == *"2 parts packed, 0 merged"* ]]
	[ "$(samples -i store)" = "$all" ]
	[ "$(samples -i store --since '2026-06-01 00:12:34' --until '2026-06-01 01:23:45')" = "$odd" ]
	run assay retain store --tier minutes=1d --tier hours=never --tier days=never
	[[ "$output" == *"2 merged to 1"* ]]
	[ "$(samples -i store)" = "$all" ]
	[ "$(samples -i store --until '2026-06-01 01:00')" = "$hour" ]
	run assay retain store --tier hours=1d,20 --tier days=never
	[[ "$output" == *"samples of rare stacks are in [other] now"* ]]
	[ "$(samples -i store)" = "$all" ]
	[ "$(samples -i store lib-image:'\[other\]')" -gt 0 ]
}

@test "two windows of one history compare" {
	run assay diff --session-dir store --since '2026-06-01 01:00' --until '2026-06-01 01:30' --against '2026-06-01 00:00'
	[ "$status" = 0 ]
	[[ "${lines[0]}" == *"2026-06-01 00:00:00 to 2026-06-01 00:30:00"* ]]
	[[ "${lines[1]}" == *"2026-06-01 01:00:00 to 2026-06-01 01:30:00"* ]]
	run assay diff -i store --at '2026-06-01 01:00' --against '2026-06-01 00:10..2026-06-01 00:20'
	[ "$status" = 0 ]
	[[ "${lines[0]}" == *"00:10:00 to 2026-06-01 00:20:00"* ]]
	run assay diff -i store --since '2026-06-01 01:00'
	[ "$status" = 2 ]
	[[ "$output" == *"--against TIME"* ]]
	run assay diff -i store --against -1h
	[ "$status" = 2 ]
}

@test "exports and lines of samples are of the window" {
	n=$(assay export -i store -F csv --since '2026-06-01 01:59' | tail -n +2 | wc -l)
	[ "$n" -gt 0 ]
	run assay script -i store --since '2026-06-01 01:59'
	refused 0 program
	assay annotate -i store --since '2026-06-01 01:59' -a >/dev/null
}

@test "invalid times, windows and histories are refused" {
	run assay report -i store --since noon
	[ "$status" = 2 ]
	[[ "$output" == *"'noon' is not a time; write -2h"*"yesterday 14:00"* ]]
	run assay report -i store --since '2026-06-01 02:00' --until '2026-06-01 01:00'
	[ "$status" = 2 ]
	run assay report -i store --window 30s
	[ "$status" = 2 ]
	run assay report -i store --at now --since -1h
	[ "$status" = 2 ]
	run assay report -i store --since 2020-01-01 --until 2020-01-02
	[ "$status" = 1 ]
	[[ "$output" == *"no samples in the requested time; there are some from 2026-06-01 00:00:00 to 2026-06-01 02:00:00"* ]]
	mkdir empty
	run assay retain empty
	[ "$status" = 1 ]
	[[ "$output" == *"empty is no history"* ]]
	run assay retain store --tier years=1d
	[ "$status" = 2 ]
	run assay retain store --tier minutes=soon
	[ "$status" = 2 ]
	run assay retain
	[ "$status" = 2 ]
}

@test "a damaged part gives a warning, and the others are read" {
	half=$(samples -i store --since '2026-06-01 01:00')
	echo garbage >store/samples/current/20260601T000000.000Z/samples/current/0000.segment
	run assay report -i store
	[ "$status" = 0 ]
	[[ "$output" == *"a part is left out"*"20260601T000000.000Z"* ]]
	[ "$(samples -i store)" = "$half" ]
}

@test "an archive of a history is a history" {
	assay archive -i store -o archived
	[ "$(samples -i archived)" = "$(samples -i store)" ]
	[ "$(samples -i archived --since '2026-06-01 01:00')" = "$(samples -i store --since '2026-06-01 01:00')" ]
}

@test "series and pages of a long time come from overviews, and each step has its samples" {
	"$ASSAY_BUILD/bench/history" large 7 1400000 400
	window=(--since 2026-06-01T00:20:08Z --until 2026-06-01T06:37:07Z)
	# The daemon packs later: the samples of each process are the same then.
	processes() {
		assay report -i large --processes --format json -t 0 "${window[@]}" |
			jq -c '[.processes[] | [.pid, .name, .all.samples, (.user_profile // [] | map([.image, .samples]) | sort)]] | sort'
	}
	processes >processes.seconds
	[ "$(jq length processes.seconds)" -gt 100 ]
	assay retain -q large --tier minutes=never --tier hours=never --tier days=never
	processes | cmp - processes.seconds
	# The steps without a choice are those of ten minutes.
	assay report -i large --series --overviews --weight samples --format json "${window[@]}" >series
	jq -e '.step_seconds == 60 or .step_seconds == 600' series
	assay report -i large --series --step 10m --weight samples --format json --limit 1000 "${window[@]}" >series
	[ "$(jq -c '[.start_seconds, .step_seconds, .steps]' series)" = "[1780273200,600,38]" ]
	[ "$(jq '[.series[].values | add] | add' series)" = "$(samples -i large "${window[@]}")" ]
	step() { # NUMBER SINCE UNTIL
		[ "$(jq "[.series[].values[$1]] | add" series)" = "$(samples -i large --since "2026-06-01T$2Z" --until "2026-06-01T$3Z")" ]
	}
	step 0 00:20:08 00:30:00
	step 1 00:30:00 00:40:00
	step 15 02:50:00 03:00:00
	step 37 06:30:00 06:37:07
	assay report -i large --html page.html --overviews "${window[@]}"
	python3 "$ROOT/tests/cli/page_steps.py" page.html >steps
	cat steps
	[ "$(head -1 steps)" = 3600 ]
	[ "$(tail -n +2 steps | awk '{ n += $2 } END { print n }')" = "$(samples -i large "${window[@]}")" ]
	[ "$(wc -l <steps)" -ge 7 ]
	# Without it, and of a session, the timeline has seconds.
	assay report -i large --html page.html --since 2026-06-01T00:20:08Z --until 2026-06-01T00:21:08Z
	[ "$(python3 "$ROOT/tests/cli/page_steps.py" page.html | head -1)" = 1 ]
	"$PROGRAMS/make_session" plain plain 3000
	assay report -i plain --html page.html --overviews
	[ "$(python3 "$ROOT/tests/cli/page_steps.py" page.html | head -1)" = 1 ]
}
