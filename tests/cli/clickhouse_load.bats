#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Loading a fleet into ClickHouse: batches, addresses, and tables of an older version.
load helpers
load clickhouse
load fleet

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR TZ=UTC0
}

teardown() {
	drop_clickhouse
	end_test
}

# A third host in the fleet of two: add_host NAME
add_host() {
	mkdir -p "$1/samples/current"
	cp -r web1.rec made
	mv made "$1/samples/current/$(date -u -d "@$(stat -c %Y web1.rec)" +%Y%m%dT%H%M%S.000Z)"
	assay ship --to dir:fleet --once -q --host "$1" "$1"
}

# How many blocks a fleet has: a recording may be in two stretches of ten minutes, and of an hour.
n_blocks() { # DIR
	find "$1" -mindepth 2 -maxdepth 2 -name '2*T*' | wc -l
}

# How many inserts a table had.
n_inserts() { # TABLE
	sql "SELECT max(max_block_number) FROM system.parts WHERE database = '$database' AND table = '$1'"
}

@test "blocks of several hosts go into ClickHouse by one insert, and their list goes" {
	real_clickhouse
	fleet_of_two
	assay fleet init --clickhouse "$clickhouse"
	assay fleet load --clickhouse "$clickhouse" fleet 2>&1 | grep "$(n_blocks fleet) blocks stored"
	[ "$(n_inserts facts) $(n_inserts func_day)" = "1 1" ]
	[ -z "$(find fleet -name '.loading-*')" ]
	[ "$(sums)" = "$(all_are "$(samples fleet --idle)")" ]
}

@test "an insert that runs on after its answer was lost is not stored twice, though more blocks came" {
	real_clickhouse
	fleet_of_two
	assay fleet init --clickhouse "$clickhouse"
	clickhouse_proxy
	echo late >mode
	run assay fleet load --clickhouse "$proxied" fleet
	echo "$output"
	[ "$status" = 1 ]
	[[ "$output" == *"answers with status 504"* ]]
	[ "$(grep -c . fleet/.loading-*)" = $((1 + $(n_blocks fleet))) ]
	held=$(grep -c . held)
	[ "$held" -ge 1 ]
	rm mode
	# Not by another address of the server, and no day is dropped meanwhile.
	for words in "load --clickhouse $clickhouse fleet" "rebuild --clickhouse $proxied fleet $(date -u +%F)"; do
		# shellcheck disable=SC2086
		run -1 assay fleet $words
		[[ "$output" == *"/.loading-"*" lists blocks whose insert may still run"* ]]
	done
	add_host web3
	assay fleet load --clickhouse "$proxied" fleet
	[ -z "$(find fleet -name '.loading-*')" ]
	touch go
	wait_for eval '[ "$(grep -c . forwarded)" = "$held" ]'
	[ "$(sums)" = "$(all_are "$(samples fleet --idle)")" ]
	assay fleet audit --clickhouse "$clickhouse" fleet
}

@test "blocks of a list that are gone hold up their shard for ten minutes" {
	real_clickhouse
	fleet_of_two
	assay fleet init --clickhouse "$clickhouse"
	clickhouse_proxy
	echo late >mode
	run assay fleet load --clickhouse "$proxied" fleet
	[ "$status" = 1 ]
	rm mode
	mv fleet/web1 gone
	run assay fleet load --clickhouse "$proxied" fleet
	echo "$output"
	[ "$status" = 1 ]
	[[ "$output" == *"blocks wait for "*" s, as an earlier insert may still run, and its blocks can't be read"* ]]
	touch -d "20 minutes ago" fleet/.loading-*
	run -1 assay fleet load --clickhouse "$proxied" fleet
	[[ "$output" == *"web1/"*" is left out: its insert was not finished, and some tables have it, and others do not: 'assay fleet rebuild' of 20"* ]]
	[ -z "$(find fleet -name '.loading-*')" ]
	grep '^web1 ' fleet/.unfinished
	mv gone fleet/web1
	assay fleet load --clickhouse "$proxied" fleet
	[ "$(sums)" = "$(all_are "$(samples fleet --idle)")" ]
}

@test "blocks of a list that are gone are no trouble if ClickHouse has them whole" {
	real_clickhouse
	fleet_of_two
	assay fleet init --clickhouse "$clickhouse"
	clickhouse_proxy
	echo late >mode
	run -1 assay fleet load --clickhouse "$proxied" fleet
	rm mode
	list=$(echo fleet/.loading-*)
	cp "$list" list
	assay fleet load --clickhouse "$proxied" fleet
	all=$(samples fleet --idle)
	# The loader was killed before it removed the list, and a retention removed the blocks.
	cp list "$list"
	mv fleet/web1/2*T* .
	touch -d "20 minutes ago" fleet/.loading-*
	assay fleet load --clickhouse "$proxied" fleet >said 2>&1
	not grep 'is left out: ' said
	[ -z "$(find fleet -name '.loading-*')" ]
	[ "$(sums)" = "$(all_are "$all")" ]
}

@test "a part is not stored beside blocks that it was merged from, of an insert that was given up" {
	real_clickhouse
	assay record -q -o work.rec "$PROGRAMS/split" 0.5cpu
	day=$(date -u -d yesterday +%F)
	for host in web1 web2; do
		"$ASSAY_BUILD/bench/thin" "h.$host" "$host" "$(date -u -d "$day 12:00" +%s)" 3600 1 work=2=work.rec
		assay ship --to dir:fleet --once -q --host "$host" "h.$host"
	done
	assay fleet init --clickhouse "$clickhouse"
	clickhouse_proxy
	echo late >mode
	run -1 assay fleet load --clickhouse "$proxied" fleet
	rm mode
	[ "$(sql "SELECT uniq(host) FROM facts WHERE service != ''")" = 2 ]
	assay retain fleet/web1 --tier hours=1h,0 --tier days=never -q
	touch -d "20 minutes ago" fleet/.loading-*
	for round in 1 2; do # also later, when the list is gone
		run -1 assay fleet load --clickhouse "$proxied" fleet
		echo "$output"
		not grep 'web2/.* is left out' <<<"$output" # its blocks are there
		[ "$(grep -c 'web1/.* is left out: it was merged, and an insert of a part of its samples was not finished' <<<"$output")" = 1 ]
		[ "$(sql "SELECT sum(samples) FROM facts WHERE service != ''")" = "$(samples fleet --idle)" ]
		[ "$(sql "SELECT sum(samples) FROM coverage")" = "$(samples fleet --idle host:web2)" ]
	done
	assay fleet rebuild --clickhouse "$clickhouse" fleet "$day"
	[ ! -e fleet/.unfinished ]
	assay fleet load --clickhouse "$proxied" fleet
	[ "$(sums)" = "$(all_are "$(samples fleet --idle)")" ]
	assay fleet audit --clickhouse "$clickhouse" fleet
}

@test "a merged part is stored if no table has the blocks of an insert that was given up" {
	real_clickhouse
	assay record -q -o work.rec "$PROGRAMS/split" 0.5cpu
	"$ASSAY_BUILD/bench/thin" h.web1 web1 "$(date -u -d "yesterday 12:00" +%s)" 3600 1 work=2=work.rec
	assay ship --to dir:fleet --once -q --host web1 h.web1
	assay fleet init --clickhouse "$clickhouse"
	clickhouse_proxy
	echo late >mode
	run -1 assay fleet load --clickhouse "$proxied" fleet
	rm mode
	sql "TRUNCATE TABLE facts" # the insert was cancelled, or the tables are new
	assay retain fleet/web1 --tier hours=1h,0 --tier days=never -q
	touch -d "20 minutes ago" fleet/.loading-*
	run -1 assay fleet load --clickhouse "$proxied" fleet # it names the blocks that are gone
	[ "$(grep -c 'is left out: its insert was not finished, and no table has it (' <<<"$output")" = "$(($(grep -c . fleet/.unfinished) - 1))" ]
	not grep rebuild <<<"$output"
	[ "$(sort -u fleet/.unfinished | wc -l)" = 7 ]
	assay fleet load --clickhouse "$proxied" fleet
	[ "$(sums)" = "$(all_are "$(samples fleet --idle)")" ]
	assay fleet audit --clickhouse "$clickhouse" fleet
}

@test "a day that ClickHouse can't read does not keep a list of blocks that are gone" {
	real_clickhouse
	fleet_of_two
	assay fleet init --clickhouse "$clickhouse"
	assay fleet load --clickhouse "$clickhouse" fleet
	add_host web3
	clickhouse_proxy
	echo late >mode
	run -1 assay fleet load --clickhouse "$proxied" fleet
	rm mode
	mv fleet/web3/2*T* .
	break_tables "$database"
	touch -d "20 minutes ago" fleet/.loading-*
	assay fleet rebuild --clickhouse "$proxied" fleet "$(date -u -d "@$(stat -c %Y web1.rec)" +%F)" || true # its list is gone, whatever it says
	[ -z "$(find fleet -name '.loading-*')" ]
}

@test "tables of ClickHouse are for one fleet, and another one is refused by name" {
	real_clickhouse
	fleet_of_two
	assay fleet init --clickhouse "$clickhouse"
	assay fleet load --clickhouse "$clickhouse" fleet
	assay ship --to dir:other --once -q --host web9 web1
	for words in "load --clickhouse $clickhouse other" "rebuild --clickhouse $clickhouse other $(date -u +%F)" "audit --clickhouse $clickhouse other" \
		"forget --clickhouse $clickhouse other service:split"; do
		# shellcheck disable=SC2086
		run assay fleet $words
		echo "$output"
		[ "$status" = 1 ]
		[[ "$output" == *"$clickhouse has the fleet $(<fleet/.id), and other is the fleet $(<other/.id): name another database (if other lost its file .id"* ]]
	done
	[ "$(sql "SELECT uniq(host) FROM coverage")" = 2 ]
	[ "$(sums)" = "$(all_are "$(samples fleet --idle)")" ]
	assay fleet audit --clickhouse "$clickhouse" fleet
	# A copy of a directory is the same fleet.
	cp -r fleet copy
	assay fleet load --clickhouse "$clickhouse" copy
	# Tables of an older assay are for the fleet that is loaded first.
	sql "TRUNCATE TABLE schema_version"
	sql "INSERT INTO schema_version VALUES (3, 0, 1)"
	run -1 assay fleet load --clickhouse "$clickhouse" other
	[[ "$output" == *"$clickhouse has rows of 2 hosts, and other knows none of them: name another database"* ]]
	assay fleet audit --clickhouse "$clickhouse" fleet
	assay fleet load --clickhouse "$clickhouse" fleet
	run -1 assay fleet load --clickhouse "$clickhouse" other
	[[ "$output" == *"has the fleet $(<fleet/.id), and other is the fleet"* ]]
}

@test "a signal ends a load at once, also while a server is silent, and the next one goes on" {
	real_clickhouse
	fleet_of_two
	assay fleet init --clickhouse "$clickhouse"
	clickhouse_proxy
	echo hang >mode
	background assay fleet load --clickhouse "$proxied" fleet 2>load.err
	loader=$!
	wait_for test -s held
	kill "$loader"
	code=0
	wait "$loader" || code=$?
	cat load.err
	[ "$code" = 1 ]
	[ "$(grep -c . held)" = 1 ] # it was not tried again
	rm mode
	assay fleet load --clickhouse "$proxied" fleet
	[ "$(sums)" = "$(all_are "$(samples fleet --idle)")" ]
	assay fleet audit --clickhouse "$clickhouse" fleet
}

has_samples_of() { # HOST
	[ "$(sql "SELECT count() FROM coverage WHERE host = '$1'")" != 0 ]
}

@test "load --follow stores a block that ClickHouse refuses for a while, once it takes it" {
	real_clickhouse
	fleet_of_two
	assay fleet init --clickhouse "$clickhouse"
	sql "ALTER TABLE stack_day ADD CONSTRAINT no_more CHECK service = ''"
	background assay fleet load --follow --interval 0.2s --clickhouse "$clickhouse" fleet 2>load.err
	wait_for grep -q "web2/.* is left out" load.err
	run ! has_samples_of web2
	sql "ALTER TABLE stack_day DROP CONSTRAINT no_more"
	wait_for has_samples_of web1
	wait_for has_samples_of web2
	[ "$(sums)" = "$(all_are "$(samples fleet --idle)")" ]
	assay fleet audit --clickhouse "$clickhouse" fleet
}

# A fleet of two hosts that send addresses, at two rates.
fleet_with_leaves() {
	local host
	for host in web1:199 web2:997; do
		assay record -q -F "${host#*:}" -o "${host%:*}.rec" sh -c "$PROGRAMS/split 0.5cpu; $PROGRAMS/deep 0.3cpu"
		mkdir -p "${host%:*}/samples/current"
		cp -r "${host%:*}.rec" "${host%:*}/samples/current/$(date -u -d "@$(stat -c %Y "${host%:*}.rec")" +%Y%m%dT%H%M%S.000Z)"
		assay ship --to dir:fleet --once -q --leaves split --host "${host%:*}" "${host%:*}"
	done
}

# Exports of the directory and of ClickHouse have the same bytes: same_exports
same_exports() {
	local options build
	build=$(readelf -n "$PROGRAMS/split" | awk '/Build ID/ { print $3 }')
	for options in "-F autofdo --image split" "-F autofdo --weight samples --image split" "-F autofdo --build-id $build" "-F autofdo" "-F bolt --image split service:spl*" "-F autofdo --image split --since -3d"; do
		# shellcheck disable=SC2086
		assay export -q --fleet fleet $options -o want
		# shellcheck disable=SC2086
		assay export -q --fleet "$1" $options -o got
		echo "$options"
		cmp want got
		[ "$(wc -l <got)" -gt 3 ]
	done
	assay export -q -i "clickhouse:$1" -F bolt --image split -o got
	assay export -q --fleet fleet -F bolt --image split -o want
	cmp want got
}

@test "addresses of services are in ClickHouse once, and its exports are those of the directory" {
	real_clickhouse
	fleet_with_leaves
	assay fleet init --clickhouse "$clickhouse"
	run assay export --fleet "$clickhouse" -F autofdo
	[ "$status" = 1 ]
	[[ "$output" == *"no such samples here"* ]]
	assay fleet load --clickhouse "$clickhouse" fleet
	same_exports "$clickhouse"
	assay fleet audit --clickhouse "$clickhouse" fleet
	leaves=$(samples fleet/.leaves)
	stored() { sql "SELECT sum(samples) FROM leaf_day WHERE service != ''"; }
	[ "$(stored)" = "$leaves" ]
	[ "$(sums)" = "$(all_are "$(samples fleet --idle)")" ]
	# Again, after a rebuild, and without the rows of coverage.
	assay fleet load --clickhouse "$clickhouse" fleet 2>&1 | grep "0 blocks stored, $(($(n_blocks fleet/.leaves) + $(n_blocks fleet))) were there"
	for day in $(sql "SELECT DISTINCT toDate(time) FROM leaf_coverage"); do
		assay fleet rebuild --clickhouse "$clickhouse" fleet "$day"
	done
	[ "$(stored)" = "$leaves" ]
	sql "TRUNCATE TABLE leaf_coverage"
	run -1 assay fleet audit --clickhouse "$clickhouse" fleet
	[[ "$output" == *"web1 "*"table leaf_coverage: "*" samples and 0 lost sent, 0 samples and 0 lost stored"* ]]
	assay fleet load --clickhouse "$clickhouse" fleet
	[ "$(stored)" = "$leaves" ]
	same_exports "$clickhouse"
	sql "INSERT INTO leaf_day SELECT * FROM leaf_day WHERE service = ''"
	run -1 assay fleet audit --clickhouse "$clickhouse" fleet
	[[ "$output" == *"table leaf_day: $(n_blocks fleet/.leaves) blocks are there more than once"* ]]
	run -1 assay export --fleet "$clickhouse" -F autofdo host:web1
	[[ "$output" == *"ClickHouse adds up the addresses of all hosts: leave out host:"* ]]
	run -1 assay export --fleet "$clickhouse" -F autofdo service:nothing
	run -2 assay export --fleet "$clickhouse" -F folded
	run -2 assay export --fleet "$clickhouse" -i fleet -F autofdo
	# A day that the directory has no longer stays.
	rm -r fleet/.leaves/web2/2*
	for day in $(sql "SELECT DISTINCT toDate(time) FROM leaf_coverage"); do
		run -1 assay fleet rebuild --clickhouse "$clickhouse" fleet "$day"
		[[ "$output" == *"web2 has "*" samples of that day in ClickHouse, and 0 in the directory"* ]]
	done
}

@test "addresses whose last table is refused for a while are stored once, at any hour of the day" {
	real_clickhouse
	assay record -q -F 997 -o rec "$PROGRAMS/split" 0.3cpu
	noon=$(($(date +%s) / 86400 * 86400 - 43200))
	for host in web1 web2; do
		"$ASSAY_BUILD/bench/thin" "h.$host" $host $noon 4000 1 split=20=rec
		assay ship --to dir:fleet --once -q --leaves '*' --host $host "h.$host"
	done
	[ "$(n_blocks fleet/.leaves)" -ge 4 ]
	leaves=$(samples fleet/.leaves --idle)
	assay fleet init --clickhouse "$clickhouse"
	sql "ALTER TABLE leaf_coverage ADD CONSTRAINT none CHECK host = ''"
	run -1 assay fleet load --clickhouse "$clickhouse" fleet
	sql "ALTER TABLE leaf_coverage DROP CONSTRAINT none"
	assay fleet load --clickhouse "$clickhouse" fleet
	stored() { sql "SELECT sum(samples) FROM leaf_day WHERE service != ''"; }
	[ "$(stored)" = "$leaves" ]
	run assay fleet audit --clickhouse "$clickhouse" fleet
	echo "$output"
	[ "$status" = 0 ]
	[[ "$output" == *"of addresses: $(n_blocks fleet/.leaves) blocks and $leaves samples"* ]]
	# A rebuild without the addresses in the directory leaves them in ClickHouse.
	mv fleet/.leaves gone
	assay fleet rebuild --clickhouse "$clickhouse" fleet "$(date -u -d "@$noon" +%F)"
	[ "$(stored)" = "$leaves" ]
}

@test "tables of an older version get what they lack by init, and keep what they have" {
	real_clickhouse
	fleet_with_leaves
	assay fleet init --clickhouse "$clickhouse"
	assay fleet load --clickhouse "$clickhouse" fleet
	# Version 1 had no addresses.
	sql "DROP TABLE leaf_day"
	sql "DROP TABLE leaf_coverage"
	sql "TRUNCATE TABLE schema_version"
	sql "INSERT INTO schema_version VALUES (1, 0, 1)"
	for words in "fleet load --clickhouse $clickhouse fleet" "report --fleet $clickhouse -l" "export --fleet $clickhouse -F autofdo"; do
		# shellcheck disable=SC2086
		run -1 assay $words
		[[ "$output" == *"has tables of version 1: run 'assay fleet init --clickhouse"* ]]
	done
	run assay fleet init --clickhouse "$clickhouse,$clickhouse"
	[ "$status" != 0 ]
	[[ "$output" == *"is shard 1 of 1, and not "* ]]
	assay fleet init --clickhouse "$clickhouse"
	assay fleet load --clickhouse "$clickhouse" fleet 2>&1 | grep "$(n_blocks fleet/.leaves) blocks stored, $(n_blocks fleet) were there"
	same_exports "$clickhouse"
	assay fleet audit --clickhouse "$clickhouse" fleet
	sql "INSERT INTO schema_version VALUES (4, 0, 1)"
	run -1 assay fleet load --clickhouse "$clickhouse" fleet
	[[ "$output" == *"has tables of version 4, and this assay knows 3"* ]]
}

@test "tables without builds of stacks get them by init, for the blocks that come, and by rebuild for all" {
	real_clickhouse
	record_two_builds
	mkdir -p web1/samples/current
	cp -r old.rec "web1/samples/current/$(date -u -d "@$(stat -c %Y old.rec)" +%Y%m%dT%H%M%S.000Z)"
	assay ship --to dir:fleet --once -q --host web1 web1
	assay fleet init --clickhouse "$clickhouse"
	assay fleet load --clickhouse "$clickhouse" fleet
	of_old() { # PLACE
		assay report "$@" -T "build:$old" --format json | jq .header.samples.selected
	}
	# shellcheck disable=SC2154 # record_two_builds() sets it
	want=$(of_old -i fleet)
	[ "$(of_old --fleet "$clickhouse")" = "$want" ]
	# Version 2 had no builds.
	sql "ALTER TABLE stacks DROP COLUMN builds"
	# The server remembers rows that it has stored. An older assay would have stored others.
	sql "ALTER TABLE stacks MODIFY SETTING non_replicated_deduplication_window = 0"
	sql "TRUNCATE TABLE schema_version"
	sql "INSERT INTO schema_version VALUES (2, 0, 1)"
	run -1 assay fleet load --clickhouse "$clickhouse" fleet
	[[ "$output" == *"has tables of version 2: run 'assay fleet init --clickhouse"* ]]
	assay fleet init --clickhouse "$clickhouse"
	assay fleet init --clickhouse "$clickhouse"
	assay fleet audit --clickhouse "$clickhouse" fleet
	run -1 assay report --fleet "$clickhouse" -T "build:$old"
	[[ "$output" == *"samples were stored before the tables had builds of stacks: 'assay fleet rebuild' gives them builds"*"no sample matches"* ]]
	assay fleet rebuild --clickhouse "$clickhouse" fleet "$(date -u -d "@$(stat -c %Y old.rec)" +%F)"
	[ "$(of_old --fleet "$clickhouse")" = "$want" ]
}

@test "a host that is forgotten leaves ClickHouse, and the audit finds one that the directory does not know" {
	real_clickhouse
	fleet_of_two
	one=$(samples fleet --idle host:web2)
	assay fleet init --clickhouse "$clickhouse"
	assay fleet load --clickhouse "$clickhouse" fleet
	assay fleet audit --clickhouse "$clickhouse" fleet
	cp -a fleet whole
	assay fleet forget fleet web1
	run -1 assay fleet audit --clickhouse "$clickhouse" fleet
	[[ "$output" == *"1 difference"*"web1 "*"table coverage: 0 samples and 0 lost sent"* ]]
	assay fleet forget --clickhouse "$clickhouse" fleet web1
	assay fleet audit --clickhouse "$clickhouse" fleet
	[ "$(sums)" = "$(all_are "$one")" ]
	[ "$(assay fleet hosts --format json "clickhouse:$clickhouse" | jq -c '[.hosts[].host]')" = '["web2"]' ]
	[ "$(sql "SELECT count() FROM hosts WHERE host = 'web1'")" = 0 ]
}

# A full disk can leave parts whose files are empty.
@test "a day that ClickHouse can't read any longer is stored again by a rebuild" {
	real_clickhouse
	fleet_of_two
	assay fleet init --clickhouse "$clickhouse"
	assay fleet load --clickhouse "$clickhouse" fleet
	all=$(samples fleet --idle)
	day=$(date -u -d "@$(stat -c %Y web1.rec)" +%F)
	break_tables "$database"
	run -1 assay fleet load --clickhouse "$clickhouse" fleet
	run -0 assay fleet rebuild --clickhouse "$clickhouse" fleet "$day"
	[[ "$output" == *"warning: "*"the day is made from the directory alone, as its table is broken: "*"Code: "* ]]
	assay fleet audit --clickhouse "$clickhouse" fleet
	[ "$(sums)" = "$(all_are "$all")" ]
	[ "$(samples "clickhouse:$clickhouse")" = "$(samples fleet)" ]
}

@test "a rebuild beside a shard that can't read the day keeps samples of another shard that the directory lacks" {
	real_clickhouse
	broken=$database whole=${database}_2
	sql "CREATE DATABASE $whole"
	two=$clickhouse,$ASSAY_CLICKHOUSE/$whole
	fleet_of_two
	for host in a b c d e f; do
		add_host "$host"
	done
	assay fleet init --clickhouse "$two"
	assay fleet load --clickhouse "$two" fleet
	if [ "$(sql "SELECT count() FROM $broken.coverage WHERE host = 'a'")" = 0 ]; then
		broken=$whole whole=$database
	fi
	break_tables "$broken"
	last=$(sql "SELECT max(host) FROM $whole.coverage")
	has=$(sql "SELECT sum(samples) FROM $whole.coverage WHERE host = '$last'")
	[ "$has" -gt 0 ]
	day=$(date -u -d "@$(stat -c %Y web1.rec)" +%F)
	mkdir away
	mv "fleet/$last"/2*T* away
	run -1 assay fleet rebuild --clickhouse "$two" fleet "$day"
	[[ "$output" == *"$last has "*" samples of that day in ClickHouse, and 0 in the directory"* ]]
	[ "$(sql "SELECT sum(samples) FROM $whole.coverage WHERE host = '$last'")" = "$has" ]
	mv away/* "fleet/$last"
	assay fleet rebuild --clickhouse "$two" fleet "$day"
	assay fleet audit --clickhouse "$two" fleet
	sql "DROP DATABASE ${database}_2"
}
