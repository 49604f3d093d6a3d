#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Profiles that programs push, as blocks of a host of a fleet: assay fleet adopt, which assay serve --fleet --push runs.
load helpers
load serve
load clickhouse

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR TZ=UTC0
	printf 'main;walk;hash 11\nmain;walk 4\n' >folded
	# Ten minutes that are over for two hours.
	then=$(($(date +%s) / 600 * 600 - 7200))
}

teardown() {
	drop_clickhouse
	end_test
}

# A profile of 15 samples, as the gateway gets it: push_at NAME SECONDS [OPTION…]
push_at() {
	assay import -q --into=pushed --body=ingest "--name=$1" "--start=@$2" "${@:3}" -- folded
}

services() { # OPTIONS
	assay report -i "$@" --by service -t 0 --format json | jq -c '[.rows[] | [.service, .samples]] | sort'
}

has_services() { # WANT OPTIONS
	[ "$(services "${@:2}")" = "$1" ]
}

n_blocks() {
	find fleet/pushed -mindepth 1 -maxdepth 1 -name '2*T*' | wc -l
}

has_all() {
	[ "$(assay fleet hosts fleet --format json | jq -c '.hosts[0] | [.samples, .expired_on_host]')" = '[90,0]' ]
}

@test "profiles that programs push are blocks of a host, by service, and each sample is there once" {
	for at in 0 60 599; do
		push_at shop.cpu $((then + at)) --label region=eu
	done
	push_at mail $((then + 30))
	push_at soon "$(date +%s)" # its ten minutes are not over
	assay fleet adopt fleet pushed
	has_services '[["mail",15],["shop.cpu",45]]' fleet host:pushed
	[ "$(n_blocks)" = 1 ]
	# A later push into these ten minutes is a block of its own.
	push_at shop.cpu $((then + 90))
	push_at other $((then + 1200))
	assay fleet adopt fleet pushed
	assay fleet adopt fleet pushed
	has_services '[["mail",15],["other",15],["shop.cpu",60]]' fleet host:pushed
	[ "$(n_blocks)" = 3 ]
	has_services '[["mail",15],["other",15],["shop.cpu",60],["soon",15]]' pushed
	assay report -i fleet --by symbol service:shop.cpu --format json -t 0 | jq -c '[.rows[] | select(.samples > 0) | [.symbol, .samples]] | sort' | diff - <(echo '[["hash",44],["walk",16]]')
	assay fleet audit fleet
	has_all
	# Parts that are in the fleet go first, and the fleet keeps its samples.
	assay fleet adopt --push-size 1 fleet pushed
	assay fleet adopt fleet pushed
	has_services '[["mail",15],["other",15],["shop.cpu",60]]' fleet host:pushed
	has_all
	assay fleet audit fleet
	# Older parts become hours, and nothing is sent again.
	push_at shop.cpu $((then - 40 * 86400 / 10))
	push_at shop.cpu $((then - 40 * 86400 / 10 + 700))
	assay fleet adopt fleet pushed
	assay fleet adopt --push-size 8k fleet pushed
	assay fleet adopt fleet pushed
	has_services '[["mail",15],["other",15],["shop.cpu",90]]' fleet host:pushed
	[ "$(assay fleet hosts fleet --format json | jq -c '.hosts[0] | [.samples, .expired_on_host]')" = '[120,0]' ]
	assay fleet audit fleet
	run -2 assay fleet adopt fleet
	[[ "$output" == *"name the fleet, the history of the profiles"* ]]
	run -2 assay fleet adopt fleet pushed ../x
	run -1 assay fleet adopt fleet absent
	[[ "$output" == *"cannot read absent"* ]]
}

@test "adopting profiles can be killed at any time" {
	local n=0 i
	for i in {1..12}; do
		push_at shop $((then + i * 37))
		push_at "job$((i % 3))" $((then + 600 + i))
		n=$((n + 30))
		background assay fleet adopt fleet pushed
		sleep "0.$((RANDOM % 7))"
		kill -KILL $! 2>/dev/null || true
		wait $! 2>/dev/null || true
	done
	assay fleet adopt fleet pushed
	has_services "[[\"job0\",60],[\"job1\",60],[\"job2\",60],[\"shop\",180]]" fleet host:pushed
	[ "$(assay report -i pushed --format json | jq .header.samples.selected)" = "$n" ]
	assay fleet audit fleet
}

@test "a gateway that takes profiles has them in its fleet" {
	push_at shop.cpu "$then"
	serve --fleet fleet --push pushed
	wait_for has_services '[["shop.cpu",15]]' fleet host:pushed
	enter
	api sources | jq -c '.sources | map(.name) | sort' | diff - <(echo '["fleet","pushed"]')
}

@test "ClickHouse has the pushed profiles of a fleet" {
	real_clickhouse
	push_at shop.cpu "$then"
	push_at mail $((then + 700))
	assay fleet adopt fleet pushed
	assay fleet init --clickhouse "$clickhouse"
	assay fleet load --clickhouse "$clickhouse" fleet
	assay fleet audit --clickhouse "$clickhouse" fleet
	has_services '[["mail",15],["shop.cpu",15]]' "clickhouse:$clickhouse" host:pushed
}
