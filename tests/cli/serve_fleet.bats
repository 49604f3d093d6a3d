#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The answers of assay serve about a fleet: its hosts and their blocks.
load helpers
load serve

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR TZ=UTC0
}

# A fleet with the hosts web1, web2 and db1, of one history: made_fleet
made_fleet() {
	"$ASSAY_BUILD/bench/history" store 2 20000 400
	for host in web1 web2 db1; do
		assay ship --to dir:fleet --once -q --host "$host" --labels "role=${host%[0-9]}" store
	done
}

@test "hosts and their blocks are answers, and a block opens as the samples of its host" {
	made_fleet
	serve fleet
	enter
	api 'hosts?source=fleet' >hosts.json
	diff hosts.json <(assay fleet hosts fleet --format json)
	[ "$(jq -c '[.hosts[] | [.host, .labels.role]]' hosts.json)" = '[["db1","db"],["web1","web"],["web2","web"]]' ]
	[ "$(api 'hosts?source=fleet&filter=host:web*' | jq -c '[.hosts[].host]')" = '["web1","web2"]' ]
	[ "$(api 'hosts?source=fleet&filter=host%21~"web.*"' | jq -c '[.hosts[].host]')" = '["db1"]' ]
	api 'blocks?source=fleet&filter=host:web1' >blocks.json
	[ "$(jq '[.blocks[] | .samples] | add' blocks.json)" = "$(jq '.hosts[1].samples' hosts.json)" ]
	[ "$(jq '.blocks | length' blocks.json)" = "$(jq '.hosts[1].blocks' hosts.json)" ]
	[ "$(jq -c '[.blocks[].start_seconds] | . == (sort | reverse)' blocks.json)" = true ]
	# The window of a block has the samples of the block.
	read -r start end samples < <(jq -r '.blocks[1] | "\(.start_seconds) \(.end_seconds) \(.samples)"' blocks.json)
	[ "$(api "tree?source=fleet&filter=host:web1&since=@$start&until=@$end" | jq .header.samples.selected)" = "$samples" ]
	[ "$(api "blocks?source=fleet&filter=host:web1&since=@$start&until=@$end" | jq -c '[.blocks[].start_seconds]')" = "[$start]" ]
	[ "$(api 'blocks?source=fleet&limit=2' | jq -c '[(.blocks | length), .other + 2 == '"$(jq '.hosts | map(.blocks) | add' hosts.json)"']')" = '[2,true]' ]
	[ "$(assay fleet blocks -i fleet host:web1 -n 1 | wc -l)" = 3 ]
	# Other filters choose no hosts.
	for answer in hosts blocks; do
		api "$answer?source=fleet&filter=comm:x" >out
		[ "$(status)" = 400 ]
		grep -q 'only the filter host: chooses hosts' out
	done
	run -2 assay fleet hosts fleet comm:x
}

@test "lists of hosts and blocks have the hosts that a token permits" {
	made_fleet
	printf '%s\n' "read web-web-web-web-web-web-web-web-1 host:web*" "read svc-svc-svc-svc-svc-svc-svc-svc-1 service:x" >tokens
	chmod 600 tokens
	serve fleet --token-file tokens
	limited() { # TOKEN PATH
		get "/api/v1/$2" "Authorization:Bearer $1"
	}
	[ "$(limited web-web-web-web-web-web-web-web-1 'hosts?source=fleet' | jq -c '[.hosts[].host]')" = '["web1","web2"]' ]
	[ "$(limited web-web-web-web-web-web-web-web-1 'blocks?source=fleet' | jq -c '[.blocks[].host] | unique')" = '["web1","web2"]' ]
	limited web-web-web-web-web-web-web-web-1 'hosts?source=fleet&filter=host:db1' >out
	[ "$(status)" = 400 ]
	for answer in hosts blocks; do
		limited svc-svc-svc-svc-svc-svc-svc-svc-1 "$answer?source=fleet" >out
		[ "$(status)" = 400 ]
		run -1 grep web1 out
	done
}

@test "in a browser: the pages of a fleet, keyboard, hostile names, narrow and wide, axe-core; no complaint" {
	local chromium
	chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "Chromium is not installed"
	command -v node >/dev/null || skip "node is not installed"
	[ -d "$ROOT/tests/npm/node_modules/playwright-core" ] && [ -d "$ROOT/tests/npm/node_modules/axe-core" ] || skip "playwright-core is not installed (scripts/deps-npm.sh)"
	made_fleet
	"$PROGRAMS/make_session" plain plain 300
	serve fleet plain
	short=$(short_folder) # the browser has sockets in its temporary folder
	CHROMIUM=$chromium TMPDIR=$short DEADLINE=$DEADLINE timeout $((5 * DEADLINE)) node "$ROOT/tests/browser/fleet.mjs" "http://$address$login" >results </dev/null
	rm -rf "$short"
	not grep '^skip ' results || skip "$(sed -n 's/^skip //p' results)"
	cat results
	[ "$(grep -c '^ok ' results)" = "$(grep -c '^	async ' "$ROOT/tests/browser/fleet.mjs")" ]
	not grep -v '^ok ' results
}
