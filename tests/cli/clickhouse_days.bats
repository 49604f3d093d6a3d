#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Days of ClickHouse that are stored again: what assay fleet rebuild and forget keep.
load helpers
load clickhouse

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR TZ=UTC0
}

teardown() {
	drop_clickhouse
	end_test
}

# The fleet of two in ClickHouse. web1 has samples of yesterday, too. $day and $before are the days.
two_days() {
	real_clickhouse
	fleet_of_two
	day=$(date -u -d "@$(stat -c %Y web1.rec)" +%F)
	before=$(date -u -d "$day - 1 day" +%F)
	"$ASSAY_BUILD/bench/thin" h.web1 web1 "$(date -u -d "$before 12:00" +%s)" 600 1 work=2=web1.rec
	assay ship --to dir:fleet --once -q --host web1 h.web1
	assay fleet init --clickhouse "$clickhouse"
	assay fleet load --clickhouse "$clickhouse" fleet
	[ "$(in_day web1 "$before")" -gt 0 ]
	[ "$(in_day web2 "$day")" -gt 0 ]
}

in_day() { # HOST DAY: samples in ClickHouse
	sql "SELECT sum(samples) FROM coverage WHERE host = '$1' AND toDate(time) = '$2'"
}

rebuild() { # DAY
	assay fleet rebuild --clickhouse "$clickhouse" fleet "$1"
}

# Takes the blocks of web2 out of the directory, and puts them back.
take_web2() {
	mkdir -p away
	mv fleet/web2/2*T* away
}

put_web2() {
	mv away/2*T* fleet/web2
}

@test "a broken day of ClickHouse makes no other day lose samples that the directory lacks" {
	two_days
	has=$(in_day web2 "$day")
	break_tables "$database" "$before"
	take_web2
	run -1 rebuild "$day"
	[[ "$output" == *"web2 has $has samples of that day in ClickHouse, and 0 in the directory"* ]]
	[ "$(in_day web2 "$day")" = "$has" ]
	put_web2
	# It could not be stored before the broken one is mended.
	run -1 rebuild "$day"
	[[ "$output" == *"the server can't read another day"* ]]
	[ "$(in_day web2 "$day")" = "$has" ]
	run -0 rebuild "$before"
	[[ "$output" == *"warning: "*"the day is made from the directory alone"* ]]
	rebuild "$day"
	assay fleet audit --clickhouse "$clickhouse" fleet
	[ ! -e fleet/.rebuilding ]
}

@test "forget takes no day from ClickHouse that it can't read, or that has more than the directory" {
	two_days
	has=$(in_day web2 "$day")
	take_web2
	run -1 assay fleet forget --clickhouse "$clickhouse" fleet web1
	[[ "$output" == *"ClickHouse still has web1: web2 has $has samples of that day in ClickHouse"* ]]
	# Its other day is gone.
	[ "$(in_day web1 "$before")" = 0 ]
	[ "$(in_day web1 "$day")" -gt 0 ]
	[ "$(in_day web2 "$day")" = "$has" ]
	[ "$(sql "SELECT count() FROM hosts WHERE host = 'web1'")" -gt 0 ]
	put_web2
	assay fleet forget --clickhouse "$clickhouse" fleet web1
	[ "$(in_day web1 "$day")" = 0 ]
	assay fleet audit --clickhouse "$clickhouse" fleet
	[ "$(sums)" = "$(all_are "$(samples fleet --idle)")" ]
}

@test "rebuild and forget keep the samples of hosts that the directory does not know" {
	two_days
	mkdir -p other/samples
	cp -r web2/samples/current other/samples
	assay ship --to dir:fleet2 --once -q --host stranger other
	cp fleet/.id fleet2/.id # as in a copy, or the tables would not take it
	assay fleet load --clickhouse "$clickhouse" fleet2
	has=$(in_day stranger "$day")
	[ "$has" -gt 0 ]
	run -1 rebuild "$day"
	[[ "$output" == *"stranger has $has samples of that day in ClickHouse, and is no host of the directory"* ]]
	run -1 assay fleet forget --clickhouse "$clickhouse" fleet web2
	[[ "$output" == *"ClickHouse still has web2: stranger has"* ]]
	[ "$(in_day stranger "$day")" = "$has" ]
	# One that was forgotten in the directory alone is no stranger.
	assay fleet forget fleet2 stranger
	assay fleet forget fleet stranger
	rebuild "$day"
	[ "$(in_day stranger "$day")" = 0 ]
}

no_hole() {
	[ ! -e fleet/.rebuilding ] && [ "$(sums)" = "$(all_are "$1")" ]
}

# A rebuild whose insert gets no answer: $! is its process. It fails at once while the follower loads.
rebuild_hangs() {
	background assay fleet rebuild --clickhouse "$proxied" fleet "$day"
	while kill -0 $!; do
		[ ! -s held ] || return 0
		sleep 0.1
	done
	return 1
}

@test "a day that was dropped and not stored again has no hole for long" {
	two_days
	all=$(samples fleet --idle)
	background assay fleet load --follow --interval 15 --clickhouse "$clickhouse" fleet
	wait_for test -s fleet/.clickhouse
	clickhouse_proxy
	echo hang >mode
	wait_for rebuild_hangs
	kill -KILL $!
	wait $! || true
	[ -e fleet/.rebuilding ]
	[ "$(in_day web2 "$day")" = 0 ]
	rm fleet/.loading-* # that insert never came to the server
	wait_for no_hole "$all"
	assay fleet audit --clickhouse "$clickhouse" fleet
}
