#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Old blocks of a fleet become longer parts: assay fleet merge, and assay serve --fleet by itself.
load helpers
load serve
load fleet_hosts

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR TZ=UTC0
}

n_parts() { # HOST
	find "$1" -mindepth 1 -maxdepth 1 -name '2*T*' | wc -l
}

# What a fleet has, in all views.
views() {
	assay report -i fleet -l --idle --format json | jq -c '[.header.samples.selected, .header.events, (.rows | map([.symbol, .samples, .total]) | sort)]'
	assay report -i fleet --by host,service --idle --format json | jq -c '.rows | map([.host, .service, .samples]) | sort'
	assay export -i fleet --idle --format folded --weight samples | sort
}

# A fleet of a host with old blocks and one with a new block.
old_and_new() {
	"$ASSAY_BUILD/bench/history" store 2 20000 400
	assay record -q -o rec "$PROGRAMS/split" 0.4s
	history_of rec new
	assay ship --to dir:fleet --once -q --host web1 store
	assay ship --to dir:fleet --once -q --leaves '*' --host web2 new
	assay ship --to dir:fleet --once -q --leaves '*' --host web1 store
}

@test "merge joins the old blocks of each host, keeps all samples and stacks, and leaves new ones" {
	old_and_new
	views >before
	old=$(n_parts fleet/web1) old_leaves=$(n_parts fleet/.leaves/web1)
	[ "$old" -ge 12 ]
	new=$(find fleet/web2 fleet/.leaves/web2 -name '2*T*' | sort)
	run assay fleet merge fleet
	echo "$output"
	[ "$status" = 0 ]
	[[ "$output" == *" blocks and parts are "* ]]
	[ "$(n_parts fleet/web1)" -lt $((old / 4)) ]
	[ "$(n_parts fleet/.leaves/web1)" -lt "$old_leaves" ]
	[ "$(find fleet/web2 fleet/.leaves/web2 -name '2*T*' | sort)" = "$new" ]
	views | diff before -
	assay fleet audit fleet
	assay fleet audit fleet/.leaves
	# Once more: there is nothing to do, and nothing comes again.
	run assay fleet merge fleet
	[ "$status" = 0 ]
	[ -z "$output" ]
	run assay ship --to dir:fleet --once --host web1 store
	[ "$status" = 0 ]
	[[ "$output" != *"blocks sent"* ]]
	views | diff before -
	run -1 assay fleet merge store
	[[ "$output" == *"store is no fleet"* ]]
}

@test "blocks of today are joined without a loss of time, and later ones join them" {
	# 18 hours ago, in four parts of six hours at most.
	start=$(($(date +%s) / 21600 * 21600 - 64800))
	assay record -q -F 997 -o rec "$PROGRAMS/split" 0.5cpu
	"$ASSAY_BUILD/bench/thin" store web1 $start 21600 1 split=20=rec
	assay ship --to dir:fleet --once -q --host web1 store
	series() { assay report -i fleet --series --step 600 --format json | jq -c '[.steps, .series]'; }
	views >before
	series >before.series
	late=$(find fleet/web1 -name '2*T*' | sort | tail -1)
	mv "$late" late
	[ "$(n_parts fleet/web1)" = 35 ]
	assay fleet merge fleet
	[ "$(n_parts fleet/web1)" = 1 ]
	mv late "$late"
	assay fleet merge fleet
	[ "$(n_parts fleet/web1)" = 1 ]
	views | diff before -
	series | diff before.series -
	[ "$(jq '.[0]' before.series)" = 36 ]
	assay fleet audit fleet
}

@test "merge leaves the blocks that ClickHouse may not have" {
	old_and_new
	old=$(n_parts fleet/web1)
	echo '{"success_seconds":0}' >fleet/.clickhouse
	assay fleet merge fleet
	[ "$(n_parts fleet/web1)" = "$old" ]
	echo "{\"success_seconds\":$(date +%s)}" >fleet/.clickhouse
	assay fleet merge fleet
	[ "$(n_parts fleet/web1)" -lt $((old / 4)) ]
}

is_merged() { # PARTS: before
	[ "$(n_parts fleet/web1)" -lt $(($1 / 4)) ]
}

@test "serve --fleet merges old blocks by itself, and ends with its process" {
	old_and_new
	views >before
	old=$(n_parts fleet/web1)
	serve --fleet fleet
	wait_for is_merged "$old"
	views | diff before -
	kill "$server"
	wait "$server" || true
	run pgrep -f "fleet merge --follow --interval=1h -- $BATS_TEST_TMPDIR/fleet"
	[ "$status" = 1 ]
}
