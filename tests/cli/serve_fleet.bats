#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The answers of assay serve about a fleet: its hosts and their blocks.
load helpers
load fleet
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

# A fleet whose hosts web1 and web2 got another build of the program work after the first of two hours; db1 did not. In the new build, parse takes three times as long.
# $old and $new are the build ids: updated_fleet
updated_fleet() {
	local host
	record_two_builds
	begin=$((($(date +%s) - 9000) / 600 * 600))
	for host in web1 web2 db1; do
		"$ASSAY_BUILD/bench/thin" "h.$host" "$host" $begin 3600 1 work=2=old.rec
		"$ASSAY_BUILD/bench/thin" "h.$host" "$host" $((begin + 3600)) 3600 2 "work=2=$([ "$host" = db1 ] && echo old || echo new).rec"
		assay ship --to dir:updated --once -q --host "$host" "h.$host"
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
	run -2 assay fleet blocks -i fleet --since -1h --until -2h
	[[ "$output" == *"ends before it begins"* ]]
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
	printf '%s\n' "read web-web-web-web-web-web-web-web-1 host:web*" "read svc-svc-svc-svc-svc-svc-svc-svc-1 service:x" \
		"read sec-sec-sec-sec-sec-sec-sec-sec-1 time:0-1s" >tokens
	chmod 600 tokens
	serve fleet --token-file tokens
	limited() { # TOKEN PATH
		get "/api/v1/$2" "Authorization:Bearer $1"
	}
	[ "$(limited web-web-web-web-web-web-web-web-1 'hosts?source=fleet' | jq -c '[.hosts[].host]')" = '["web1","web2"]' ]
	[ "$(limited web-web-web-web-web-web-web-web-1 'blocks?source=fleet' | jq -c '[.blocks[].host] | unique')" = '["web1","web2"]' ]
	limited web-web-web-web-web-web-web-web-1 'hosts?source=fleet&filter=host:db1' >out
	[ "$(status)" = 400 ]
	[ "$(limited web-web-web-web-web-web-web-web-1 'regressions?source=fleet&since=2026-06-01' | jq -c .header.hosts)" = '{"with_samples":2,"asked":2}' ]
	limited sec-sec-sec-sec-sec-sec-sec-sec-1 'regressions?source=fleet' >out # of a week, which is a window
	[ "$(status)" = 403 ]
	for answer in hosts blocks; do
		limited svc-svc-svc-svc-svc-svc-svc-svc-1 "$answer?source=fleet" >out
		[ "$(status)" = 400 ]
		run -1 grep web1 out
	done
}

@test "regressions are those of the event with the most samples in the fleet" {
	updated_fleet
	for build in old new; do
		assay record -q -e task-clock -F 997 -o "task.$build.rec" "$build/work"
	done
	"$ASSAY_BUILD/bench/thin" h.other other $begin 3600 1 work=2=task.old.rec
	"$ASSAY_BUILD/bench/thin" h.other other $((begin + 3600)) 3600 2 work=2=task.new.rec
	assay ship --to dir:updated --once -q --host other h.other
	[ "$(assay report -i updated --by host --format json | jq '.header.events | length')" = 2 ]
	assay fleet regressions updated --format json >found.json
	[ "$(jq -c '[.changes, .regressions[0].symbol, .regressions[0].hosts]' found.json)" = '[2,"parse",2]' ]
	[ "$(assay fleet regressions updated host:other --format json | jq -c '[.changes, .regressions[0].symbol]')" = '[1,"parse"]' ]
}

@test "functions that grew after a new build are named, and builds compare" {
	updated_fleet
	[ ${#old} = 40 ] && [ ${#new} = 40 ] && [ "$old" != "$new" ]
	assay fleet regressions updated --format json >found.json
	[ "$(jq -c '[.changes, .left_out, .other]' found.json)" = '[2,0,0]' ]
	[ "$(jq -c '.regressions[0] | [.service, .symbol, .old_build, .new_build, .hosts, .hosts_grew, .since_seconds]' found.json)" = \
		"[\"work\",\"parse\",\"$old\",\"$new\",2,2,$((begin + 3600))]" ]
	[ "$(jq '[.regressions[] | select(.symbol == "copy")] | length' found.json)" = 0 ]
	[ "$(jq '.regressions[0] | (.new_percent - .old_percent - .change | fabs) < 0.01 and .change > 10' found.json)" = true ]
	run assay fleet regressions updated
	[[ "$output" == *"3 of 3 hosts have samples here; 2 changes of builds"*"2/2"*"parse"* ]]
	# Of a host that has the old build alone, of another service, and of the hour before: nothing.
	[ "$(assay fleet regressions updated host:db1 --format json | jq -c '[.changes, .regressions]')" = '[0,[]]' ]
	[ "$(assay fleet regressions updated --until "@$((begin + 3600))" --format json | jq -c '[.changes, .regressions]')" = '[0,[]]' ]
	run assay fleet regressions updated host:db1
	[[ "$output" == *"No function grew"* ]]
	[ "$(assay fleet regressions updated symbol:parse --format json | jq -c '[.changes, .regressions]')" = '[2,[]]' ]
	run -1 assay fleet regressions updated service:nobody
	run -2 assay fleet regressions updated nothing:x
	run -1 assay fleet regressions old.rec
	# Code of one build.
	for build in "$old" "$new"; do
		[ "$(assay report -i updated "build:$build" --format json | jq .header.samples.selected)" = \
			"$(assay report -i updated --by build --format json | jq ".rows[] | select(.build == \"$build\") | .samples")" ]
	done
	[ "$(assay report -i updated -l "build=\"$new\"" host:db1 --format json 2>&1 | grep -c "$new")" -gt 0 ] # the message names the build
	run assay diff '{' updated "build:$old" '}' '{' updated "build:$new" '}' --format json
	[ "$(jq -c '.rows[] | select(.symbol == "parse") | [.is_significant, .change > 10]' <<<"$output")" = '[true,true]' ]
	serve updated --cpu-price '0.04 EUR'
	enter
	[ "$(api "regressions?source=updated" | jq -c .regressions)" = "$(jq -c .regressions found.json)" ]
	[ "$(api "diff?source=updated&filter=build:$new&baseline_filter=build:$old" | jq '.rows[] | select(.symbol == "parse") | .is_significant')" = true ]
	[ "$(api sources | jq -c .cpu_hour)" = '{"price":0.04,"unit":"EUR"}' ]
	# A step of a fleet is a bucket, or longer: samples have no times within it.
	[ "$(api "series?source=updated&by=host" | jq -c '[.step_seconds, .steps, ([.series[] | (.values | map(select(. > 0)) | length)] | unique)]')" = '[600,12,[12]]' ]
	run -2 assay serve updated --cpu-price free
}

@test "an event of a fleet has the lowest and the highest rate of its hosts" {
	local rate start=$((($(date +%s) - 9000) / 600 * 600))
	for rate in 50 200; do
		assay record -q -F $rate -e cpu-clock -o "$rate.rec" sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done'
		"$ASSAY_BUILD/bench/thin" "h.$rate" "web$rate" $start 600 1 "sh=2=$rate.rec"
		assay ship --to dir:fleet --once -q --host "web$rate" "h.$rate"
	done
	[ "$(assay report -i fleet -l --format json | jq -c '[.header.events[] | [.lowest_hz, .highest_hz]]')" = '[[50,200]]' ]
	[ "$(assay report -i fleet -l --format json host:web200 | jq -c '[.header.events[] | [.freq_hz, .lowest_hz, .highest_hz]]')" = '[[200,200,200]]' ]
	# Two sessions that are no history keep an event for each rate.
	[ "$(assay report -l --format json "session:$PWD/50.rec,$PWD/200.rec" | jq -c '[.header.events[] | [.lowest_hz, .highest_hz]]')" = '[[50,50],[200,200]]' ]
}

@test "Grafana's calls work on a fleet, and each panel of the fleet's dashboard has all of its samples" {
	updated_fleet
	serve updated
	enter
	grafana() { # METHOD FIELD…
		python3 "$ROOT/tests/cli/grafana.py" "$address" "${cookie#Cookie:}" "$@"
	}
	grafana ProfileTypes >types
	[[ $(<types) != 404* ]] || skip "built without protobuf-c"
	grep '^assay:cpu-clock:nanoseconds:cpu-clock:nanoseconds ' types
	grafana LabelNames | grep -x -c -e host -e service -e build | diff - <(echo 3)
	grafana LabelValues 1=host | sort | diff - <(printf '%s\n' db1 web1 web2)
	grafana LabelValues 1=service | diff - <(echo work)
	grafana LabelValues 1=build '2={service_name="updated", host="db1"}' >builds # that of the C library, too
	grep -x "$old" builds
	run -1 grep "$new" builds
	dashboard=$ROOT/data/grafana-fleet-dashboard.json
	jq -e '.panels | map(.datasource.type) | unique == ["grafana-pyroscope-datasource"]' "$dashboard"
	jq -r '.panels[].targets[] | [.queryType, .profileTypeId, .labelSelector, (.groupBy[0] // "")] | join("\u001f")' "$dashboard" >targets
	[ "$(wc -l <targets)" = 4 ]
	type=assay:cpu-clock:nanoseconds:cpu-clock:nanoseconds
	for hosts in '.*' 'web.*'; do
		all=$(assay report -i updated --format json "host=~\"$hosts\"" event:cpu-clock | jq '.total[0].events')
		while IFS=$'\x1f' read -r kind event selector key; do
			event=${event//\$event/$type} selector=${selector//\$fleet/updated} selector=${selector//\$service/w.*} selector=${selector//\$host/$hosts}
			if [ "$kind" = metrics ]; then
				grafana SelectSeries "1=$event" "2=$selector" "3:=$((begin * 1000))" "4:=$(((begin + 7200) * 1000))" "5=$key" 6/=15 >series
				[ "$(awk '{ sum += $NF } END { printf "%.0f", sum }' series)" = "$all" ] || { echo "$selector $key: $(<series), wanted $all"; false; }
			else
				grafana SelectMergeStacktraces "1=$event" "2=$selector" "3:=$((begin * 1000))" "4:=$(((begin + 7200) * 1000))" | tail -1 | diff - <(echo "total $all")
			fi
		done <targets
	done
	# A series has a point for each bucket.
	grafana SelectSeries "1=$type" '2={service_name="updated", host="db1"}' 5=host 6/=15 >series
	[[ $(<series) == "[('host', 'db1')] ${begin}000 12 "* ]]
}

@test "in a browser: the pages of a fleet, keyboard, hostile names, narrow and wide, axe-core; no complaint" {
	local chromium
	chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "Chromium is not installed"
	command -v node >/dev/null || skip "node is not installed"
	[ -d "$ROOT/tests/npm/node_modules/playwright-core" ] && [ -d "$ROOT/tests/npm/node_modules/axe-core" ] || skip "playwright-core is not installed (scripts/deps-npm.sh)"
	made_fleet
	updated_fleet
	"$PROGRAMS/make_session" plain plain 300
	serve fleet plain updated --cpu-price '0.04 EUR'
	short=$(short_folder) # the browser has sockets in its temporary folder
	CHROMIUM=$chromium TMPDIR=$short DEADLINE=$DEADLINE timeout $((5 * DEADLINE)) node "$ROOT/tests/browser/fleet.mjs" "http://$address$login" "$old" "$new" >results </dev/null
	rm -rf "$short"
	not grep '^skip ' results || skip "$(sed -n 's/^skip //p' results)"
	cat results
	[ "$(grep -c '^ok ' results)" = "$(grep -c '^	async ' "$ROOT/tests/browser/fleet.mjs")" ]
	not grep -v '^ok ' results
}
