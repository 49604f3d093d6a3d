#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# A fleet in ClickHouse.
load helpers
load clickhouse

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR TZ=UTC0
}

teardown() {
	drop_clickhouse
}

# A fleet of two hosts with a recording each: fleet_of_two
fleet_of_two() {
	local host
	for host in web1 web2; do
		assay record -q -o "$host.rec" "$PROGRAMS/split" 0.5s
		mkdir -p "$host/samples/current"
		cp -r "$host.rec" "$host/samples/current/$(date -u -d "@$(stat -c %Y "$host.rec")" +%Y%m%dT%H%M%S.000Z)"
		assay ship --to dir:fleet --once -q --host "$host" --labels zone=a "$host"
	done
}

samples() {
	assay report -i "$@" --format json | jq .header.samples.selected
}

# The samples that each table of sums has, and the largest receipt: "N N N N N N 1" where all is right.
sums() {
	local table
	for table in facts:samples stack_hour:samples stack_day:samples func_hour:self func_day:self func_host_day:self; do
		sql "SELECT sum(${table#*:}) FROM ${table%:*} WHERE service != ''"
	done
	sql "SELECT max(n) FROM (SELECT func, sum(incl) AS n FROM func_day WHERE service = '' GROUP BY func)"
}

all_are() { # N
	printf '%s\n%s\n%s\n%s\n%s\n%s\n1\n' "$1" "$1" "$1" "$1" "$1" "$1"
}

@test "blocks are in ClickHouse once, however often they are loaded, and after a rebuild" {
	real_clickhouse
	fleet_of_two
	all=$(samples fleet --idle)
	run assay fleet load --clickhouse "$clickhouse" fleet
	[ "$status" = 1 ]
	[[ "$output" == *"has no tables of a fleet: run 'assay fleet init"* ]]
	assay fleet init --clickhouse "$clickhouse"
	assay fleet init --clickhouse "$clickhouse" # again: nothing is lost
	run assay fleet load --clickhouse "$clickhouse" fleet
	echo "$output"
	[ "$status" = 0 ]
	[[ "$output" == *" 0 were there, 0 left out: $all samples"* ]]
	[ "$(sums)" = "$(all_are "$all")" ]
	run assay fleet load --clickhouse "$clickhouse" fleet
	[[ "$output" == *"0 blocks stored, "* ]]
	[ "$(sql "SELECT label_values FROM hosts WHERE host = 'web2'")" = "['a']" ]
	for day in $(sql "SELECT DISTINCT toDate(time) FROM coverage"); do
		assay fleet rebuild --clickhouse "$clickhouse" fleet "$day"
	done
	[ "$(sums)" = "$(all_are "$all")" ]
	# Without its row in coverage, a block is looked at again, and is there already.
	sql "TRUNCATE TABLE coverage"
	assay fleet load --clickhouse "$clickhouse" fleet
	[ "$(sums)" = "$(all_are "$all")" ]
	# A table without the block gets it, and the others do not get it again.
	sql "TRUNCATE TABLE coverage"
	sql "TRUNCATE TABLE func_hour"
	assay fleet load --clickhouse "$clickhouse" fleet
	[ "$(sums)" = "$(all_are "$all")" ]
}

@test "loading into ClickHouse can be killed at any time" {
	real_clickhouse
	fleet_of_two
	all=$(samples fleet --idle)
	assay fleet init --clickhouse "$clickhouse"
	for ms in 10 20 30 40 50 60 80 100 130 160 200 250 300; do
		timeout -s KILL "0.$(printf %03d "$ms")" assay fleet load --clickhouse "$clickhouse" fleet || true
		sql "TRUNCATE TABLE coverage" # so that the next one goes over all again
	done
	assay fleet load --clickhouse "$clickhouse" fleet
	[ "$(sums)" = "$(all_are "$all")" ]
}

@test "functions in ClickHouse are those of the directory" {
	real_clickhouse
	fleet_of_two
	assay fleet init --clickhouse "$clickhouse"
	assay fleet load --clickhouse "$clickhouse" fleet
	assay report -i fleet -l --idle --format json | jq -r '.rows[] | select(.samples > 0) | "\(.symbol)\t\(.image | sub(".*/"; ""))\t\(.samples)"' |
		grep -v '^(no symbols)' | sort >want
	sql "SELECT name, image, sum(self) AS s FROM func_day ANY LEFT JOIN functions USING func WHERE service != '' AND name != '' GROUP BY name, image HAVING s > 0" | sort >got
	diff want got
	[ -s got ]
	# Inclusive once in a stack: as the totals of the report.
	total=$(assay report -i fleet -l --idle --format json | jq '.rows[] | select(.symbol == "main") | .total')
	[ "$(sql "SELECT sum(incl) FROM func_day ANY LEFT JOIN functions USING func WHERE name = 'main'")" = "$total" ]
}

@test "init prints the SQL of the tables, without a server" {
	run assay fleet init --print
	[ "$status" = 0 ]
	[[ "$output" == *"CREATE TABLE IF NOT EXISTS facts"*"TTL time + INTERVAL 3 DAY"* ]]
	run assay fleet init --print --replicated /fleet
	[[ "$output" == *"ReplicatedSummingMergeTree('/fleet/0/func_day', '{replica}', (self, incl))"* ]]
	for words in "init" "init x --print" "load" "rebuild . 2026-11-27" "init --clickhouse ftp://x" "init --clickhouse http://a/b/c"; do
		# shellcheck disable=SC2086
		run assay fleet $words
		echo "$words: $output"
		[ "$status" != 0 ]
	done
}

@test "a server that answers errors, half bodies or nothing is reported" {
	fleet_of_two
	declare -A says=([error]="status 500: Code: 241. DB::Exception:" [half]="" [nothing]="" [garbage]="and this assay knows 1"
		[old]="no ClickHouse that assay knows" [html]="no ClickHouse that assay knows")
	for answer in error half nothing garbage old html; do
		fake_clickhouse "$answer"
		run assay fleet load --clickhouse "$clickhouse" fleet
		echo "$answer: $output"
		[ "$status" = 1 ]
		[[ "$output" == *"${says[$answer]}"* ]]
		[[ "$output" != *$'\e'* ]]
		[[ "$output" != *"second line"* ]]
		rm -f port
	done
	run assay fleet load --clickhouse http://127.0.0.1:1/x fleet
	[ "$status" = 1 ]
}

@test "a login for ClickHouse is in a file that others can't read" {
	fleet_of_two
	fake_clickhouse error
	echo nobody:secret >login
	chmod 644 login
	run assay fleet load --clickhouse "$clickhouse" --login login fleet
	[ "$status" = 1 ]
	[[ "$output" == *"chmod 600 login"* ]]
	chmod 600 login
	run assay fleet load --clickhouse "$clickhouse" --login login fleet
	[[ "$output" == *"status 500"* ]]
	[[ "$output" != *secret* ]]
	run grep -q secret requests
	[ "$status" = 1 ]
}
