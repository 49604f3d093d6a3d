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
	[[ "$output" == *"name the fleet, and the history of the profiles"* ]]
	run -1 assay fleet adopt fleet absent
	[[ "$output" == *"cannot read absent"* ]]
}

# A profile of 60 samples and so many events: push_events PREFIX SECONDS [HISTORY]
push_events() {
	python3 "$ROOT/tests/cli/push.py" events "$1" 60 >body
	assay import -q "--into=${3-pushed}" --body=ingest --name=many "--start=@$2" -- body
}

@test "a push that names many events, or can't be read, harms no other" {
	push_events a- "$then" || skip "built without protobuf-c"
	python3 "$ROOT/tests/cli/push.py" events y 40 >second
	python3 "$ROOT/tests/cli/push.py" request a body b second >pushes
	run -1 assay import -q --into=pushed --body=push "--start=@$then" -- pushes
	[[ "$output" == *"more than 64 events"* ]]
	assay record -q -o rec "$PROGRAMS/split" 0.2cpu
	mkdir -p store/samples/current
	cp -r rec "store/samples/current/$(date -u -d "@$(stat -c %Y rec)" +%Y%m%dT%H%M%S.000Z)"
	assay ship --to dir:fleet --once -q --host web1 store
	# Two hosts have more events together than a session on the disk can have.
	for i in 1 2; do
		rm -f pushed/.pushed other/.pushed # as histories of an older assay, which had no limit of all pushes
		push_events "b$i-" "$then"
		push_events "c$i-" "$then" other
	done
	rm other/.pushed
	push_events d- "$then" other
	assay fleet adopt fleet pushed
	assay ship --to dir:fleet --once -q --host other other
	hosts=$(assay report -i fleet --by host -t 0 --format json | jq -c '[.rows | group_by(.host)[] | [.[0].host, (map(.samples) | add)]]')
	[[ "$hosts" == '[["other",180],["pushed",180],["web1",'*']]' ]]
	# So has one host in these ten minutes.
	for i in 1 2 3 4 5; do
		rm -f pushed/.pushed
		push_events "e$i-" $((then + 600))
	done
	push_at shop $((then + 600))
	assay fleet adopt fleet pushed
	[ "$(assay fleet hosts fleet --format json | jq '.hosts[] | select(.host == "pushed") | .samples')" = $((3 * 60 + 5 * 60 + 15)) ]
	run -0 assay report -i fleet --by host -t 0
	[[ "$output" != *"left out"* ]]
	[ "$(assay report -i fleet -t 0 --format json host:pushed | jq '.header.samples.selected')" = $((3 * 60 + 5 * 60 + 15)) ]
	assay fleet merge fleet
	[ "$(assay report -i fleet -t 0 --format json host:pushed | jq '.header.samples.selected')" = $((3 * 60 + 5 * 60 + 15)) ]
	[ "$(assay report -i fleet -t 0 --format json --by host | jq '[.rows[] | select(.host == "pushed") | .samples] | add')" = $((3 * 60 + 5 * 60 + 15)) ]
	# A part that is damaged is named, and the others are sent.
	push_at bad $((then + 1200))
	for part in pushed/samples/current/2*; do
		[ -z "$(assay report -i "$part" --by service --format json 2>/dev/null | jq '.rows[] | select(.service == "bad")')" ] || echo x >"$part/samples/current/0000.segment"
	done
	push_at good $((then + 1200))
	run -1 assay fleet adopt fleet pushed
	[[ "$output" == *"1 block with 15 samples"*"1 part or block was left out"* ]]
}

@test "ClickHouse answers about more kinds of events than a session has" {
	real_clickhouse
	for i in {1..5}; do
		rm -f pushed/.pushed # as a history of an older assay, which had no limit of all pushes
		push_events "e$i-" "$then" || skip "built without protobuf-c"
	done
	push_at shop "$then"
	assay fleet adopt fleet pushed
	assay fleet init --clickhouse "$clickhouse"
	assay fleet load --clickhouse "$clickhouse" fleet
	for question in "--by service" "--by event,service" "--by host,event"; do
		for place in fleet "clickhouse:$clickhouse"; do
			# shellcheck disable=SC2086
			assay report -i "$place" $question -t 0 --format json | jq -c '[.rows[] | [.service, .event, .host, .samples]] | sort' >"rows.${place%%:*}"
		done
		cmp rows.fleet rows.clickhouse
		[ "$(jq 'map(.[3]) | add' rows.fleet)" = $((5 * 60 + 15)) ]
		[ "$(jq length rows.fleet)" -gt 300 ]
	done
}

@test "programs push so many services and events, and more are refused and counted" {
	push_at shop.cpu "$then"
	# All places of one pusher: half of them, and its share. One service was pushed by nobody for long.
	today=$(($(date +%s) / 86400))
	for i in {1..564}; do
		printf 'service %d %016x\n' $today "$i"
	done >>pushed/.pushed
	push_at mail "$then"
	run -1 push_at more "$then"
	[[ "$output" == *"'pushed' takes no more services of this pusher (no token): all pushers together may name 1000 in 30 days, and each has its share"* ]]
	push_at mail $((then + 30))
	sed -i "s/^service $today 0000000000000001/service $((today - 31)) 0000000000000001/" pushed/.pushed
	push_at more "$then"
	run -1 push_at evenmore "$then"
	for i in {1..142}; do
		printf 'event %d %016x\n' $today "$i"
	done >>pushed/.pushed
	push_at mail "$then"
	printf 'event %d %016x\n' $today 256 >>pushed/.pushed
	push_at mail "$then" # its event is known
	python3 "$ROOT/tests/cli/push.py" events x 1 >one
	run -1 assay import -q --into=pushed --body=ingest --name=mail "--start=@$then" -- one
	[[ "$output" == *"takes no more events of this pusher"* || "$output" == *"built without"* ]]
	# Others have their own share.
	push_at other "$then" --pusher="7a token of line 3"
	python3 "$ROOT/tests/cli/push.py" events other 60 >sixty
	run -1 assay import -q --into=pushed --body=ingest --name=other --pusher="7a token of line 4" "--start=@$then" -- sixty
	[[ "$output" == *"(token of line 4)"* ]] && refusals=", token of line 4: 1"
	run -0 assay fleet adopt fleet pushed
	[[ "$output" =~ warning:\ [234]" pushes were refused so far: they name too many services or events; in the last days: no token: "[23]"${refusals-}" ]]
	has_services '[["mail",60],["more",15],["other",15],["shop.cpu",15]]' fleet host:pushed
	# One push has a limit, too.
	# shellcheck disable=SC2046
	python3 "$ROOT/tests/cli/push.py" request $(printf 's%d one ' {1..65}) >many
	run -1 assay import -q --into=pushed --body=push "--start=@$then" -- many
	grep -e "more than 64 services" -e "built without" <<<"$output"
}

@test "the host of pushed profiles has its name alone, and one process at a time" {
	push_at shop "$then"
	run -2 assay ship --to dir:fleet --once --host pushed pushed
	[[ "$output" == *"is the name of the host with the profiles that programs push"* ]]
	assay fleet adopt fleet pushed
	run -2 assay fleet enroll fleet pushed
	[[ "$output" == *"is the name of the host with the profiles that programs push"* ]]
	exec 9>fleet/.adopting
	flock 9
	run -1 assay fleet adopt fleet pushed
	[[ "$output" == *"another process makes blocks of pushed profiles"* ]]
	exec 9>&-
	echo "$(printf 'a%.0s' {1..64}) pushed" >fleet/.tokens
	chmod 600 fleet/.tokens
	run -1 assay fleet adopt fleet pushed
	[[ "$output" == *"has a token of a host 'pushed'"* ]]
	rm fleet/.tokens
	[ "$(id -u)" = 0 ] || return 0
	chown -R nobody fleet
	run -1 assay fleet adopt fleet pushed
	[[ "$output" == *"belongs to user"* ]]
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
