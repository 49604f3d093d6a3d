#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# A fleet in ClickHouse.
load helpers
load clickhouse
load fleet
load fleet_hosts
load serve

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR TZ=UTC0
}

teardown() {
	drop_clickhouse
	end_test
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
	# A day that the directory has no longer stays.
	block=$(find fleet/web2 -mindepth 1 -maxdepth 1 -type d | head -1)
	mv "$block" gone
	for day in $(sql "SELECT DISTINCT toDate(time) FROM coverage"); do
		run assay fleet rebuild --clickhouse "$clickhouse" fleet "$day"
		[ "$status" = 1 ]
		[[ "$output" == *"web2 has "*" samples of that day in ClickHouse, and "*" in the directory"* ]]
	done
	[ "$(sums)" = "$(all_are "$all")" ]
	mv gone "$block"
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
		killed_after "$ms" fleet/.loading assay fleet load --clickhouse "$clickhouse" fleet
		sql "TRUNCATE TABLE coverage" # so that the next one goes over all again
	done
	assay fleet load --clickhouse "$clickhouse" fleet
	[ "$(sums)" = "$(all_are "$all")" ]
	assay fleet audit --clickhouse "$clickhouse" fleet
}

@test "a block that ClickHouse refuses does not stop those that it comes with, and is stored later" {
	real_clickhouse
	fleet_of_two
	all=$(samples fleet --idle)
	assay fleet init --clickhouse "$clickhouse"
	sql "ALTER TABLE facts ADD CONSTRAINT no_web1 CHECK host != 'web1'"
	run assay fleet load --clickhouse "$clickhouse" fleet
	echo "$output"
	[ "$status" = 1 ]
	[[ "$output" == *"web1/"*" is left out: "*"1 block stored, 0 were there, 1 left out"* ]]
	[ "$(sql "SELECT DISTINCT host FROM coverage")" = web2 ]
	sql "ALTER TABLE facts DROP CONSTRAINT no_web1"
	assay fleet load --clickhouse "$clickhouse" fleet
	[ "$(sums)" = "$(all_are "$all")" ]
	assay fleet audit --clickhouse "$clickhouse" fleet
}

@test "the audit of ClickHouse finds missing, changed and doubled blocks, in each table" {
	real_clickhouse
	fleet_of_two
	all=$(samples fleet --idle)
	assay fleet init --clickhouse "$clickhouse"
	run assay fleet audit --clickhouse "$clickhouse" fleet
	[ "$status" = 1 ]
	[[ "$output" == *"2 hosts: 0 blocks, 0 samples and 0 lost in ClickHouse; 2 differences"*"web1 "*", table coverage: "*" samples and 0 lost sent, 0 samples and 0 lost stored"* ]]
	assay fleet load --clickhouse "$clickhouse" fleet
	run assay fleet audit --clickhouse "$clickhouse" fleet
	echo "$output"
	[ "$status" = 0 ]
	[[ "$output" == "2 hosts: 2 blocks, $all samples and "*" lost in ClickHouse; 0 differences" ]]
	for table in facts stack_hour stack_day func_hour func_day func_host_day; do
		sql "INSERT INTO $table SELECT * FROM $table WHERE service = ''"
		run assay fleet audit --clickhouse "$clickhouse" fleet
		echo "$output"
		[ "$status" = 1 ]
		[[ "$output" == *", table $table: 2 blocks are there more than once"* ]]
	done
	[ "$(assay fleet audit --clickhouse "$clickhouse" --format json fleet | jq -c '[.differences | length, .[0].blocks_stored_twice]')" = "[6,2]" ]
	for day in $(sql "SELECT DISTINCT toDate(time) FROM coverage"); do
		assay fleet rebuild --clickhouse "$clickhouse" fleet "$day"
	done
	assay fleet audit --clickhouse "$clickhouse" fleet
	sql "INSERT INTO func_hour SELECT * FROM func_hour WHERE service != ''"
	run assay fleet audit --clickhouse "$clickhouse" fleet
	[ "$status" = 1 ]
	[[ "$output" == *", table func_hour: $all samples and 0 lost sent, $((2 * all)) samples and 0 lost stored"* ]]
}

@test "blocks that were merged after they were loaded are not stored again" {
	real_clickhouse
	"$ASSAY_BUILD/bench/history" store 2 20000 400
	all=$(samples store --idle)
	assay ship --to dir:fleet --once -q --host web1 store
	assay fleet init --clickhouse "$clickhouse"
	assay fleet load --clickhouse "$clickhouse" fleet
	[ "$(sql "SELECT sum(samples) FROM stack_day WHERE service != ''")" = "$all" ]
	assay retain fleet/web1 --tier hours=1h,0 --tier days=never -q
	assay fleet load --clickhouse "$clickhouse" fleet
	assay fleet audit --clickhouse "$clickhouse" fleet
	assay fleet rebuild --clickhouse "$clickhouse" fleet 2026-06-01
	[ "$(sql "SELECT sum(samples) FROM stack_day WHERE service != ''")" = "$all" ]
	assay fleet audit --clickhouse "$clickhouse" fleet
	assay fleet load --clickhouse "$clickhouse" fleet
	[ "$(sql "SELECT sum(samples) FROM stack_day WHERE service != ''")" = "$all" ]
}

@test "blocks that were merged before all of them were loaded are left out, and a rebuild stores them" {
	real_clickhouse
	"$ASSAY_BUILD/bench/history" store 2 20000 400
	all=$(samples store --idle)
	assay ship --to dir:fleet --once -q --host web1 store
	block=$(find fleet/web1 -mindepth 1 -maxdepth 1 -type d | sort | tail -1)
	mv "$block" later
	assay fleet init --clickhouse "$clickhouse"
	assay fleet load --clickhouse "$clickhouse" fleet
	mv later "$block"
	assay retain fleet/web1 --tier hours=1h,0 --tier days=never -q
	run assay fleet load --clickhouse "$clickhouse" fleet
	echo "$output"
	[ "$status" = 1 ]
	[[ "$output" == *"ClickHouse has a part of its samples: 'assay fleet rebuild' of the day stores all"* ]]
	assay fleet rebuild --clickhouse "$clickhouse" fleet 2026-06-01
	[ "$(sql "SELECT sum(samples) FROM stack_day WHERE service != ''")" = "$all" ]
	assay fleet audit --clickhouse "$clickhouse" fleet
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

# The hosts web1 and web2 with the service split, and db1 with deep.
fleet_of_two_services() {
	fleet_of_two
	assay record -q -o db1.rec "$PROGRAMS/deep" 0.3cpu
	mkdir -p db1/samples/current
	cp -r db1.rec "db1/samples/current/$(date -u -d "@$(stat -c %Y db1.rec)" +%Y%m%dT%H%M%S.000Z)"
	assay ship --to dir:fleet --once -q --host db1 --leaves '*' db1
	assay fleet init --clickhouse "$clickhouse"
	assay fleet load --clickhouse "$clickhouse" fleet
}

services_of() { # INPUT
	assay report -i "$1" --by service --idle --format json | jq -c '.rows | map([.service, .samples]) | sort'
}

rows_of() { # SERVICE: in all tables
	local table
	for table in facts stack_hour stack_day func_hour func_day func_host_day leaf_day stacks; do
		sql "SELECT count() FROM $table WHERE service = '$1'"
	done | awk '{ n += $1 } END { print n }'
}

@test "of a service that is forgotten, each table of ClickHouse keeps the number of samples" {
	real_clickhouse
	fleet_of_two_services
	all=$(samples fleet --idle)
	[ "$(rows_of deep)" -gt 6 ]
	run assay fleet forget fleet service:nothing
	[[ "$output" != *"ClickHouse still has"* ]] # it was not loaded by a gateway
	assay fleet forget --clickhouse "$clickhouse" fleet service:deep
	[ "$(rows_of deep)" = 0 ]
	[ "$(sums)" = "$(all_are "$all")" ]
	[[ "$(services_of fleet)" == *'["[forgotten]",'* ]]
	[ "$(services_of "clickhouse:$clickhouse")" = "$(services_of fleet)" ]
	assay report --fleet "$clickhouse" -T 'service:[forgotten]' | grep '(forgotten)'
	[ "$(sql "SELECT sum(samples) FROM leaf_day WHERE service = '[forgotten]'")" = "$(samples fleet/.leaves --idle)" ]
	assay fleet audit fleet
	assay fleet audit --clickhouse "$clickhouse" fleet
	[ ! -e fleet/.forgetting ]
	# A day that is loaded again has the same.
	for day in $(sql "SELECT DISTINCT toDate(time) FROM coverage"); do
		assay fleet rebuild --clickhouse "$clickhouse" fleet "$day"
	done
	[ "$(sums)" = "$(all_are "$all")" ]
	[ "$(services_of "clickhouse:$clickhouse")" = "$(services_of fleet)" ]
}

@test "forgetting a service can be killed at any time" {
	real_clickhouse
	fleet_of_two_services
	all=$(samples fleet --idle)
	for ms in 5 10 20 30 40 60 80 100 150 200 300; do
		killed_after "$ms" fleet/.log assay fleet forget --clickhouse "$clickhouse" fleet service:split
	done
	assay fleet forget --clickhouse "$clickhouse" fleet service:split
	[ "$(rows_of split)" = 0 ]
	[ "$(sums)" = "$(all_are "$all")" ]
	[ "$(services_of "clickhouse:$clickhouse")" = "$(services_of fleet)" ]
	assay fleet audit fleet
	assay fleet audit --clickhouse "$clickhouse" fleet
}

@test "init adds no plain tables to replicated ones, and none of these to plain ones" {
	real_clickhouse
	assay fleet init --clickhouse "$clickhouse"
	run -2 assay fleet init --clickhouse "$clickhouse" --replicated /fleet
	[[ "$output" == *"it has tables that are not replicated"* ]]
	assay fleet init --clickhouse "$clickhouse"
}

@test "init prints the SQL of the tables, without a server" {
	run assay fleet init --print
	[ "$status" = 0 ]
	[[ "$output" == *"CREATE TABLE IF NOT EXISTS facts"*"TTL time + INTERVAL 3 DAY"* ]]
	# Older tables get their later columns before they are of this version.
	[[ "$output" == *"ALTER TABLE stacks ADD COLUMN IF NOT EXISTS builds "*" AFTER frames;"*"INSERT INTO schema_version"* ]]
	run assay fleet init --print --replicated /fleet
	[[ "$output" == *"ReplicatedSummingMergeTree('/fleet/0/func_day', '{replica}', (self, incl))"* ]]
	for words in "init" "init x --print" "load" "rebuild . 2026-11-27" "init --clickhouse ftp://x" "init --clickhouse http://a/b/c"; do
		# shellcheck disable=SC2086
		run assay fleet $words
		echo "$words: $output"
		[ "$status" != 0 ]
	done
}

@test "init writes users for today's ClickHouse as SQL, and says that nobody ran it" {
	real_clickhouse
	run assay fleet init --clickhouse "$clickhouse" --users users
	[ "$status" = 0 ]
	[[ "$output" == *"have no server that can run it"* ]]
	[ "$(stat -c %a users users/*)" = $'700\n600\n600\n600' ]
	grep -q "GRANT SELECT ON $database.\* TO assay_read" users/users.sql
	password=$(cut -d: -f2 users/write.login)
	grep -q "$(printf %s "$password" | sha256sum | cut -d' ' -f1)" users/users.sql
	run grep -r "$password" users/users.sql
	[ "$status" = 1 ]
	run assay fleet init --clickhouse "$clickhouse" --users users
	[ "$status" = 1 ]
}

@test "a server that answers errors, half bodies or nothing is reported" {
	fleet_of_two
	declare -A says=([error]="status 500: Code: 241. DB::Exception:" [half]="with 990 bytes " [nothing]="Empty reply from server" [garbage]="and this assay knows 3"
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

@test "load takes no insert for stored, and no block for missing, on the word of an answer with status 200 alone" {
	fleet_of_two
	fake_clickhouse text
	run assay fleet load --clickhouse "$clickhouse" fleet
	echo "$output"
	[ "$status" = 1 ]
	[[ "$output" == *"takes no rows of func_hour"*"Code: 241. DB::Exception: Memory limit exceeded"* ]]
	not grep -a "INSERT%20INTO%20coverage" requests
	# The insert may run on: its list stays.
	[ "$(find fleet -name '.loading-*' | wc -l)" = 1 ]
	rm -f fleet/.loading-* port requests
	fake_clickhouse blank
	run assay fleet load --clickhouse "$clickhouse" fleet
	echo "$output"
	[ "$status" = 1 ]
	[[ "$output" == *"is not whole"* ]]
	not grep -a "INSERT%20INTO" requests
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

# The rows of a report, by name: rows OPTION…
@test "functions of stored samples get their names when the index of their build comes" {
	real_clickhouse
	named() { # OPTIONS
		assay report --fleet "$clickhouse" --format json "$@" | jq -c '[.rows[] | select(.symbol | test("^(parse|copy)\\(")) | .samples] | add'
	}
	stripped_program
	assay record -q -F 997 -o rec bin/work
	history_of rec store
	assay ship --to dir:fleet --once -q --host web1 store
	all=$(samples fleet)
	assay fleet init --clickhouse "$clickhouse"
	run assay fleet load --clickhouse "$clickhouse" fleet
	[[ "$output" != *"got a name"* ]]
	[ "$(named -l)" = null ]
	before=$(sums)
	index_comes fleet # from a machine that has the symbols
	run assay fleet load --clickhouse "$clickhouse" fleet
	echo "$output"
	[[ "$output" == *"0 blocks stored, "*" functions of stored samples got a name"* ]]
	[ "$(named -l)" -gt $((all * 9 / 10)) ]
	[ "$(named -l)" = "$(named --by build,symbol)" ]
	[ "$(named -T --weight samples)" = "$(named -l)" ]
	[ "$(sums)" = "$before" ] # no sample was written again
	assay fleet audit --clickhouse "$clickhouse" fleet
	run assay fleet load --clickhouse "$clickhouse" fleet
	[[ "$output" != *"got a name"* ]]
	# Later samples of the build add up with them.
	assay record -q -F 997 -o rec2 bin/work
	history_of rec2 store2
	assay ship --to dir:fleet --once -q --host web2 store2
	assay fleet load --clickhouse "$clickhouse" fleet
	[ "$(assay report --fleet "$clickhouse" -l --format json | jq '[.rows[] | select(.symbol | startswith("parse("))] | length')" = 1 ]
	[ "$(named -l)" -gt $(($(samples fleet) * 9 / 10)) ]
}

rows() {
	assay report --idle --format json "$@" | jq -rc '.rows[] | select(.samples > 0) | [.symbol, .host, .service, (.image // "" | sub(".*/"; "")), .build, .samples]' | sort
}

@test "a report of ClickHouse is that of the directory, and states its coverage" {
	real_clickhouse
	fleet_of_two
	all=$(samples fleet)
	assay fleet init --clickhouse "$clickhouse"
	assay fleet load --clickhouse "$clickhouse" fleet
	for options in "-l" "--by service" "--by host,symbol" "--by build,symbol" "--by host" "-l host:web1" "-l service:split" "--by host,symbol host:web*" "--by host,symbol symbol:forty" "-l symbol:t*"; do
		# shellcheck disable=SC2086
		rows -i fleet $options >want
		# shellcheck disable=SC2086
		rows --fleet "$clickhouse" $options >got
		echo "$options"
		diff want got
		[ -s got ]
	done
	assay export -i fleet --format folded --weight samples | sort >want
	assay export -i "clickhouse:$clickhouse" --format folded --weight samples | sort >got
	diff want got
	assay report -i fleet -T --weight samples --format json | jq -c '[.rows[] | [.symbol, .samples, .total]]' >want
	assay report --fleet "$clickhouse" -T --weight samples --format json | jq -c '[.rows[] | [.symbol, .samples, .total]]' >got
	diff want got
	# Totals of lists come from sums of functions.
	totals() { assay report --format json "$@" | jq -c '.rows[] | [.symbol, .samples, .total]' | sort; }
	for options in "-l" "-l --idle" "-l service:split" "-l --sort total" "--by service,symbol"; do
		# shellcheck disable=SC2086
		totals -i fleet $options >want
		# shellcheck disable=SC2086
		totals --fleet "$clickhouse" $options >got
		echo "$options"
		diff want got
		grep -q '"main",[0-9]*,[1-9]' got
	done
	[ "$(assay report --fleet "$clickhouse" -l symbol:forty --format json | jq '.rows[0] | has("total")')" = false ]
	changes() { assay diff --weight samples --format json '{' "$1" service:split '}' '{' "$1" '}' | jq -c '.rows[] | [.symbol, .old, .new]' | sort; }
	changes fleet >want
	changes "clickhouse:$clickhouse" >got
	diff want got
	[ -s got ]
	run assay report --fleet "$clickhouse" -l
	[[ "$output" == *"hosts     2 of 2 have samples here"* ]]
	[[ "$output" == *"note      the fleet has $(samples fleet --idle) samples here, 0 lost; tables func_hour; 1 of 1 shard"* ]]
	run assay report --fleet "$clickhouse" -l --until -2d
	[ "$status" = 1 ]
	[[ "$output" == *"no such samples here"* ]]
	run assay report --fleet "$clickhouse" -T host:web1 --since -5d
	[ "$status" = 0 ]
	[[ "$output" == *"the table facts has the last 3 days only"* ]]
	run assay report --fleet "$clickhouse" host:none
	[ "$status" = 1 ]
	run assay diff '{' "clickhouse:$clickhouse" host:web1 '}' '{' "clickhouse:$clickhouse" '}'
	[ "$status" = 0 ]
	[[ "$output" == *"new "*": $all samples"* ]]
}

@test "Go's functions are Go's in ClickHouse" {
	real_clickhouse
	[ -n "$(command -v go)" ] || skip "no Go compiler"
	HOME=$PWD GOCACHE=$PWD/cache GO111MODULE=off CGO_ENABLED=0 go build -o app "$ROOT/tests/programs/lang/golden.go"
	assay record -q -e cpu-clock -o web1.rec -- ./app 300
	mkdir -p web1/samples/current
	cp -r web1.rec "web1/samples/current/$(date -u -d "@$(stat -c %Y web1.rec)" +%Y%m%dT%H%M%S.000Z)"
	assay ship --to dir:fleet --once -q --host web1 web1
	assay fleet init --clickhouse "$clickhouse"
	assay fleet load --clickhouse "$clickhouse" fleet
	for from in directory clickhouse; do
		place=(-i fleet)
		[ "$from" = directory ] || place=(--fleet "$clickhouse")
		assay report "${place[@]}" --by language,symbol -t 0 --format json language:go >rows
		[ "$(jq -r '[.rows[] | select(.symbol == "main.spin") | .language] | join(" ")' rows)" = go ]
		assay report "${place[@]}" --by file,symbol -t 0 --format json symbol:main.spin >rows
		[ "$(jq '[.rows[] | select(.file == "app")] | length' rows)" = 0 ]
	done
}

@test "hostile names are texts in ClickHouse, and in questions" {
	real_clickhouse
	mkdir hosts
	name="x' OR 1=1; DROP TABLE facts --\\\`<img>"
	cp "$PROGRAMS/split" "hosts/$name"
	assay record -q -o rec "hosts/$name" 0.3cpu
	mkdir -p store/samples/current
	cp -r rec "store/samples/current/$(date -u -d "@$(stat -c %Y rec)" +%Y%m%dT%H%M%S.000Z)"
	assay ship --to dir:fleet --once -q --host web1 store
	assay fleet init --clickhouse "$clickhouse"
	assay fleet load --clickhouse "$clickhouse" fleet
	[ "$(sql "SELECT count() FROM func_day WHERE service LIKE '%DROP TABLE%'")" -gt 0 ]
	[ "$(assay report --fleet "$clickhouse" --by service --format json | jq -r '.rows[0].service')" = "$name" ]
	all=$(samples fleet)
	# All services whose name begins so: the name is in the question.
	[ "$(assay report --fleet "$clickhouse" -l 'service:x*' --format json | jq .header.samples.selected)" = "$all" ]
	run assay report --fleet "$clickhouse" -l "service:y' OR 1=1 --"
	[ "$status" = 1 ]
	[ "$(sql "SELECT count() FROM facts" | tr -d '\n')" -gt 0 ]
}

@test "a shard that does not answer is named, and the report fails after the rest" {
	real_clickhouse
	sql "CREATE DATABASE ${database}_2"
	fleet_of_two
	two=$clickhouse,$ASSAY_CLICKHOUSE/${database}_2
	assay fleet init --clickhouse "$two"
	assay fleet load --clickhouse "$two" fleet
	[ "$(samples fleet)" = "$(assay report --fleet "$two" -l --format json | jq .header.samples.selected)" ]
	run assay report --fleet "$ASSAY_CLICKHOUSE/${database}_2,$clickhouse" -l
	[ "$status" = 1 ]
	[[ "$output" == *"is shard 2 of 2, and not 1 of 2"* ]]
	sql "DROP DATABASE ${database}_2"
	for first in web1 web2 db1 db2 x1 x2; do # until a host is on the first shard
		assay ship --to dir:fleet --once -q --host "$first" web1
	done
	run assay fleet load --clickhouse "$clickhouse,http://127.0.0.1:1/fleet" fleet
	[ "$status" = 1 ]
	run assay report --fleet "$clickhouse,http://127.0.0.1:1/fleet" -l
	echo "$output"
	[ "$status" = 1 ]
	[[ "$output" == *"1 of 2 shards"* || "$output" == *"no such samples"* ]]
	[[ "$output" == *"shard 2 of 2 is missing: http://127.0.0.1:1/fleet"* ]]
}

@test "a question to a server that answers errors, half bodies or nothing fails" {
	for answer in error memory half nothing garbage; do
		fake_clickhouse "$answer"
		run assay report --fleet "$clickhouse" -l
		[[ "$answer" != memory || "$output" == *"shard 1 of 1 is left out, as the question is too large for it: choose a shorter time"* ]]
		echo "$answer: $output"
		[ "$status" = 1 ]
		[[ "$output" != *$'\e'* ]]
		rm -f port
	done
}

loading() { # JQ
	api sources | jq -r ".sources[0].loading | $1"
}

is_loaded() {
	assay fleet audit --clickhouse "$clickhouse" fleet >audit.out
}

has_failed() {
	[ "$(loading '.failures > 0')" = true ]
}

@test "serve loads ClickHouse by itself, also when its tables come later, and answers from it" {
	real_clickhouse
	fleet_of_two
	all=$(samples fleet --idle)
	serve --fleet fleet --clickhouse "$clickhouse"
	enter
	[ "$(api sources | jq -c '[.sources[] | .kind]')" = '["fleet","clickhouse"]' ]
	wait_for has_failed
	[[ "$(loading .error)" == *"has no tables of a fleet"* ]]
	assay fleet init --clickhouse "$clickhouse"
	wait_for is_loaded
	[ "$(sums)" = "$(all_are "$all")" ]
	wait_for eval '[ "$(loading "[.blocks, .samples, .failures, .error] | @csv")" = "2,$all,0,\"\"" ]'
	api "top?source=ClickHouse" >top.json
	[ "$(jq -c .header.hosts top.json)" = '{"with_samples":2,"asked":2}' ]
	[[ "$(jq -r .header.note top.json)" == *"the fleet has $all samples here"*"1 of 1 shard"* ]]
	for name in top tree inverted series page svg; do
		api "$name?source=ClickHouse&since=-1d" >"$name.out"
		[ "$(status)" = 200 ] || { echo "$name"; cat head "$name.out"; false; }
		[ -s "$name.out" ]
	done
	build=$(assay report -i fleet --by build service:split --format json | jq -r '.rows[0].build')
	[ "$(api "tree?source=ClickHouse&filter=build:$build" | jq .header.samples.selected)" = "$(samples fleet "build:$build")" ]
	api "values?source=ClickHouse&by=host,symbol&filter=symbol:forty" >hosts.json
	[ "$(status)" = 200 ]
	api "top?source=ClickHouse&filter=host:nobody"
	[ "$(status)" = 422 ]
	kill "$server"
	wait "$server" || true
	run pgrep -f "fleet load --follow --clickhouse=$clickhouse"
	[ "$status" = 1 ]
}

@test "hosts, blocks and regressions of ClickHouse are those of the directory" {
	real_clickhouse
	record_two_builds
	day=$(($(date +%s) / 86400 * 86400 + 3600))
	for host in web1 web2; do
		for days in 4:old 3:old 2:new 1:new; do
			"$ASSAY_BUILD/bench/thin" "h.$host" $host $((day - ${days%:*} * 86400)) 1200 "${days%:*}" "work=2=${days#*:}.rec"
		done
		assay ship --to dir:fleet --once -q --host $host "h.$host"
	done
	assay fleet init --clickhouse "$clickhouse"
	assay fleet load --clickhouse "$clickhouse" fleet
	both() { # JQ WORD [FILTER…]: the same of both
		diff <(assay fleet "$2" --format json "clickhouse:$clickhouse" "${@:3}" | jq -c "$1") <(assay fleet "$2" --format json fleet "${@:3}" | jq -c "$1")
	}
	both '[.hosts[] | [.host, .last_seconds, .blocks, .samples, .lost]]' hosts
	both '[.hosts[].host]' hosts host:web2
	both '[.blocks[] | del(.part)]' blocks
	both '[.blocks[] | del(.part)], .other' blocks -n 3
	both '[.blocks[] | del(.part)], .other' blocks -n 2 host:web2
	both '[.blocks, .other]' blocks host:nobody
	both '[.blocks[] | del(.part)]' blocks host:web1 --since "@$((day - 86400 + 600))"
	both '[.changes, (.regressions | map(del(.image, .file)))]' regressions
	both '[.changes, (.regressions | map(del(.image, .file)))]' regressions symbol:parse # the table of ten minutes has no functions
	[ "$(assay fleet regressions --format json "clickhouse:$clickhouse" | jq -r '.regressions[0].symbol')" = parse ]
	# Rows of stacks as version 2 had them stay beside the new ones until ClickHouse merges both.
	sql "SYSTEM STOP MERGES stacks"
	sql "INSERT INTO stacks SELECT service, stack, frames, emptyArrayString(), toDateTime(1) FROM stacks"
	[ "$(sql "SELECT count() = 2 * uniqExact(service, stack) FROM stacks")" = 1 ]
	both '[.changes, (.regressions | map(del(.image, .file)))]' regressions
	[ "$(assay report --fleet "$clickhouse" -l "build:$new" --format json | jq .header.samples.selected)" = \
		"$(assay report -i fleet -l "build:$new" --format json | jq .header.samples.selected)" ]
	tree() { # OPTIONS: samples and functions of the tree of one build
		assay report "$@" -T "build:$new" --format json | jq -c '[.header.samples.selected, ([.. | .symbol? // empty] | unique)]'
	}
	[ "$(tree --fleet "$clickhouse")" = "$(tree -i fleet)" ]
	changes() { # PLACE FILTER FILTER: of parse and copy
		assay diff --weight samples --format json '{' "$1" "$2" '}' '{' "$1" "$3" '}' | jq -c '[.rows[] | select(.symbol == "parse" or .symbol == "copy") | [.symbol, .old, .new, .significant]]'
	}
	# shellcheck disable=SC2154 # record_two_builds() sets both
	for sides in "build:$old build:$new" "service:work service:work" "host:web1 host:web2"; do
		# shellcheck disable=SC2086
		[ "$(changes "clickhouse:$clickhouse" $sides)" = "$(changes fleet $sides)" ]
	done
	# shellcheck disable=SC2154
	[ "$(changes "clickhouse:$clickhouse" "build:$old" "build:$new" | jq length)" = 2 ]
	for place in fleet "clickhouse:$clickhouse"; do
		[ "$(assay diff --format json '{' "$place" host:web1 '}' '{' "$place" '}' | jq -c '[.old.hosts, .new.hosts]')" = '[{"with_samples":1,"asked":1},{"with_samples":2,"asked":2}]' ]
		assay fleet regressions "$place" | grep -q "0 lost; 2 of 2 hosts have samples here"
	done
	assay diff '{' "clickhouse:$clickhouse" host:web1 '}' '{' "clickhouse:$clickhouse" '}' | grep "1 of 1 host has samples here; the fleet has"
	run -1 assay fleet hosts clickhouse:http://127.0.0.1:1/f
}

@test "load --follow stores new blocks once, while others are stored already" {
	real_clickhouse
	fleet_of_two
	assay fleet init --clickhouse "$clickhouse"
	background assay fleet load --follow --interval 0.2s --clickhouse "$clickhouse" fleet
	follower=$!
	wait_for is_loaded
	cp -r web1.rec web3.rec
	mkdir -p web3/samples/current
	cp -r web3.rec "web3/samples/current/$(date -u -d "@$(stat -c %Y web1.rec)" +%Y%m%dT%H%M%S.000Z)"
	assay ship --to dir:fleet --once -q --host web3 web3
	wait_for is_loaded
	[ "$(sums)" = "$(all_are "$(samples fleet --idle)")" ]
	kill "$follower"
	wait "$follower"
	assay fleet load --clickhouse "$clickhouse" fleet 2>&1 | grep "0 blocks stored, 3 were there"
}

@test "serve --clickhouse needs a fleet and addresses" {
	run assay serve --clickhouse http://127.0.0.1:1/x
	[ "$status" = 2 ]
	[[ "$output" == *"--clickhouse loads the blocks of --fleet DIR"* ]]
	run assay serve --fleet fleet --clickhouse 127.0.0.1
	[ "$status" = 2 ]
}

# Passes connections on to the ClickHouse, but for the first one: $late is its address.
late_clickhouse() {
	local place=${ASSAY_CLICKHOUSE#*://}
	background python3 -c '
import socket, sys, threading
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
listener.accept()[0].close()
def pump(source, sink):
    while data := source.recv(65536):
        sink.sendall(data)
    sink.shutdown(socket.SHUT_WR)
while True:
    client, server = listener.accept()[0], socket.create_connection((sys.argv[1], int(sys.argv[2])))
    threading.Thread(target=pump, args=(client, server), daemon=True).start()
    threading.Thread(target=pump, args=(server, client), daemon=True).start()
' "${place%:*}" "${place##*:}" >late.port
	wait_for test -s late.port
	late=http://127.0.0.1:$(cat late.port)
}

@test "a server keeps its place among the shards: init and questions refuse another one" {
	real_clickhouse
	first=$clickhouse second=${database}_b
	sql "CREATE DATABASE $second"
	assay fleet init --clickhouse "$first,$ASSAY_CLICKHOUSE/$second"
	assay fleet init --clickhouse "$first,$ASSAY_CLICKHOUSE/$second"
	for urls in "$first" "$ASSAY_CLICKHOUSE/$second,$first"; do
		run assay fleet init --clickhouse "$urls"
		[ "$status" != 0 ]
		[[ "$output" == *" is shard "*" of 2, and not "* ]]
	done
	[ "$(sql "SELECT DISTINCT shard, shards FROM schema_version WHERE version > 0")" = "$(printf '0\t2')" ]
	# The first shard again, behind an address that is silent at first.
	fleet_of_two
	assay fleet load --clickhouse "$first,$ASSAY_CLICKHOUSE/$second" fleet
	late_clickhouse
	run assay report --fleet "$first,$late/$database" -l
	echo "$output"
	sql "DROP DATABASE $second"
	[ "$status" != 0 ]
	[[ "$output" == *"is shard 1 of 2, and not 2 of 2"* ]]
}

@test "seconds of hosts with different rates are those of the directory, and facts that ClickHouse lacks are refused" {
	real_clickhouse
	for rate in 199 997; do
		assay record -q -F $rate -o "r$rate.rec" "$PROGRAMS/split" 0.5cpu
		mkdir -p "h$rate/samples/current"
		cp -r "r$rate.rec" "h$rate/samples/current/$(date -u -d "@$(stat -c %Y "r$rate.rec")" +%Y%m%dT%H%M%S.000Z)"
		assay ship --to dir:fleet --once -q --host "web$rate" "h$rate"
	done
	assay fleet init --clickhouse "$clickhouse"
	assay fleet load --clickhouse "$clickhouse" fleet
	seconds() { # OPTIONS: tenths of a second of each host
		assay report "$@" --by host --format json | jq -c '[.rows[] | [.host, (.events / 1e8 | round)]] | sort'
	}
	assay report -i fleet --by host --format json | jq -c '.rows[0]'
	[ "$(seconds --fleet "$clickhouse")" = "$(seconds -i fleet)" ]
	[ "$(seconds --fleet "$clickhouse" | jq 'length')" = 2 ]
	assay report --fleet "$clickhouse" -l | grep "hosts have different rates"
	for words in "--by comm" "--by process,symbol" "--by pod" "-T comm:split" "-l pid:1"; do
		# shellcheck disable=SC2086
		run -1 assay report --fleet "$clickhouse" $words
		[[ "$output" == *"ClickHouse does not have '"*"' of samples: ask the directory of the fleet"* ]]
	done
}
