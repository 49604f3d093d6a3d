#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The gateway of a fleet: assay serve --fleet, and assay ship --to http://.
load helpers
load serve
load fleet_hosts

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR TZ=UTC0
}

FIRST_BOOT=11111111-2222-3333-4444-555555555555

# Says that HOST runs since UPTIME seconds, with the boot BOOT and a clock that is wrong by MS.
introduce() { # HOST BOOT UPTIME MS
	echo "{\"boot\":\"$2\",\"uptime_s\":$3,\"clock_ms\":$(($(date +%s%3N) + $4)),\"version\":\"9.9\",\"cpus\":4,\"backlog\":7}" >facts
	ask "$1" PUT "/v1/hosts/$1" facts
}

# A block as a file, with the PART and the SECONDS of its name in the request.
a_block() {
	"$ASSAY_BUILD/bench/history" store 1 2000 400
	assay retain store --level functions -o blocks -q
	local made=(blocks/2*)
	cp "${made[1]}/samples/current/0000.segment" block
	part=$(basename store/samples/current/2*)
	seconds=$(date -ud "$(basename "${made[1]}" | sed 's/^\(....\)\(..\)\(..\)T\(..\)\(..\)\(..\).*/\1-\2-\3 \4:\5:\6/')" +%s)
	zstd -q block
}

put() { # [HEADER:VALUE…]: the file $body as the block
	ask web1 PUT "/v1/blocks/web1/$part/$seconds" "${body:-block.zst}" "Assay-Boot:$FIRST_BOOT" "Content-Encoding:${encoding:-zstd}" "$@"
	echo "$code $reply"
}

@test "a history is at the gateway once, also if the state is lost, and it is killed at any time" {
	gateway
	"$ASSAY_BUILD/bench/history" store 2 20000 400
	all=$(samples store)
	for ms in 20 60 120 200; do
		killed_after "$ms" fleet/web1 assay ship --to "$url" --token-file token.web1 --state state.web1 --once -q --host web1 store
	done
	ship web1 store -q --labels zone=a
	[ "$(samples fleet/web1)" = "$all" ]
	run ship web1 store
	[ "$output" = "assay: nothing to send: all 12 blocks of the history were sent before" ]
	rm -r state.web1
	ship web1 store -q
	[ "$(samples fleet/web1)" = "$all" ]
	assay fleet audit fleet
	[ "$(cat fleet/web1/.labels)" = "" ]
	[ -z "$(find fleet state.web1 -name '.block-*')" ]
	[ "$(assay fleet hosts fleet --format json | jq -c '.hosts[0] | [.host, .samples, .version != "", .cpus > 0]')" = "[\"web1\",$all,true,true]" ]
}

@test "a gateway with another fleet gets all blocks again" {
	gateway
	"$ASSAY_BUILD/bench/history" store 1 2000 400
	all=$(samples store)
	ship web1 store -q
	id=$(cat fleet/.id)
	[[ "$id" =~ ^[0-9a-f]{16}$ ]]
	run ship web1 store
	[ "$output" = "assay: nothing to send: all 6 blocks of the history were sent before" ]
	kill "$server"
	wait "$server" || true
	mv fleet first
	local port=${address##*:}
	mkdir empty
	assay ship --to dir:fleet --once -q --host other empty || true
	serve_again --fleet fleet --listen "127.0.0.1:$port"
	enroll web1
	ship web1 store -q
	[ "$(cat fleet/.id)" != "$id" ]
	[ "$(samples fleet/web1)" = "$all" ]
	[ "$(samples first/web1)" = "$all" ]
}

# The gateway ends, and comes again at its address, with another fleet and the same tokens.
exchange_fleet() { # NAME: that of the old one
	kill "$server"
	wait "$server" || true
	mv fleet "$1"
	assay ship --to dir:fleet --once -q --host other empty || true
	cp -p "$1/.tokens" fleet/
	serve --fleet fleet --listen "127.0.0.1:${address##*:}"
}

@test "one ship that runs on sends all blocks and names to another fleet at its gateway" {
	gateway
	mkdir empty
	"$ASSAY_BUILD/bench/history" store 1 2000 400
	all=$(samples store)
	need_recording
	assay record -o session -q -- sha256sum "$ASSAY_BUILD/assay" >/dev/null
	XDG_CACHE_HOME=$PWD/cache assay report -i session --by symbol >/dev/null
	sym=$(find cache -name '*.sym' -size -2000k | sort | head -1)
	ship web1 store -q
	cp "$sym" state.web1/*/.names/
	ship web1 store -q
	background assay ship --to "$url" --token-file token.web1 --state state.web1 --host web1 --interval 1s -q store
	exchange_fleet first
	wait_for test -s fleet/web1/.keys
	cp "$sym" state.web1/*/.names/
	wait_for test -s "fleet/.names/$(basename "$sym")"
	[ "$(samples fleet/web1)" = "$all" ]
}

@test "an exchange of the fleet that was killed half-way sends all blocks" {
	gateway
	mkdir empty
	"$ASSAY_BUILD/bench/history" store 1 2000 400
	all=$(samples store)
	ship web1 store -q
	state=$(echo state.web1/*)
	# Killed after the old folder was moved away.
	exchange_fleet first
	mv "$state" "$state.old"
	ship web1 store -q
	[ "$(samples fleet/web1)" = "$all" ]
	[ ! -e "$state.old" ]
	# Killed before, while an older one was still there.
	exchange_fleet second
	cp -r "$state" "$state.old"
	ship web1 store -q
	[ "$(samples fleet/web1)" = "$all" ]
	[ ! -e "$state.old" ]
	# An id that can't be read is no missing one.
	rm "$state/.of"
	mkdir "$state/.of"
	run ! ship web1 store -q
	has "cannot read $state/.of" <(echo "$output")
}

@test "the gateway killed at any time loses and doubles nothing" {
	gateway
	"$ASSAY_BUILD/bench/history" store 2 20000 400
	all=$(samples store)
	local port=${address##*:} ms
	for ms in 05 10 20 30; do
		ship web1 store -q &
		client=$!
		sleep 0."$ms"
		kill -KILL "$server"
		wait "$client" "$server" || true
		serve_again --fleet fleet --listen "127.0.0.1:$port"
	done
	ship web1 store -q
	[ "$(samples fleet/web1)" = "$all" ]
	assay fleet audit fleet
}

@test "a fleet is a source of the page and of the API, with all of its hosts" {
	gateway
	enroll web2
	"$ASSAY_BUILD/bench/history" store 1 2000 400
	all=$(samples store)
	ship web1 store -q
	ship web2 store -q
	enter
	[ "$(api sources | jq -c '[.sources[] | [.name, .kind]]')" = '[["fleet","fleet"]]' ]
	[ "$(api 'values?source=fleet&by=host' | jq -c '[.rows[] | [.host, .samples]]')" = "[[\"web1\",$all],[\"web2\",$all]]" ]
	[ "$(api 'values?source=fleet&by=host' | jq -c .header.hosts)" = '{"with_samples":2,"asked":2}' ]
	[ "$(api 'top?source=fleet&filter=host:web1' | jq -c '.header.hosts')" = '{"with_samples":1,"asked":1}' ]
	[[ "$(api 'page?source=fleet')" == *"<html"* ]]
}

@test "a token is for its host alone, reads nothing, and can be replaced" {
	gateway
	enroll web2
	a_block
	introduce web1 $FIRST_BOOT 100 0
	[ "$code" = 200 ]
	ask web2 PUT "/v1/blocks/web1/$part/$seconds" block.zst "Assay-Boot:$FIRST_BOOT"
	[ "$code" = 403 ]
	ask web2 PUT /v1/hosts/web1 facts
	[ "$code" = 403 ]
	ask web1 GET /api/v1/sources facts
	[ "$code" = 401 ]
	ask web1 GET "/v1/blocks/web1/$part/$seconds" facts
	[ "$code" = 405 ]
	for path in "/v1/blocks/web1/$part" "/v1/blocks/web1/$part/$seconds/x" "/v1/blocks/web1//$seconds" /v1/blocks/ "/v1/blocks/web1/../web2/$part/1"; do
		ask web1 PUT "$path" block.zst
		echo "$path $code"
		[[ "$code" = 404 || "$code" = 403 ]]
	done
	cp token.web1 token.old
	enroll web1
	sleep 0.1
	ask old PUT /v1/hosts/web1 facts
	[ "$code" = 401 ]
	: >token.none
	ask none PUT /v1/hosts/web1 facts
	[ "$code" = 401 ]
	introduce web1 $FIRST_BOOT 100 0
	[ "$code" = 200 ]
	# The fleet has hashes alone, and nobody else may read them.
	[ "$(stat -c %a fleet/.tokens)" = 600 ]
	run ! grep -F "$(cat token.web1)" -r fleet
	[ "$(find fleet -mindepth 1 -maxdepth 1 -type d ! -name '.*' | sort | tr '\n' ' ')" = "fleet/web1 " ]
}

@test "a block that is damaged, too large or of another time is refused, and harms nothing" {
	gateway
	a_block
	run put
	[[ "$output" == "409 "* ]]
	introduce web1 $FIRST_BOOT 100 0
	# Damaged.
	head -c 1000 block >torn
	body=torn encoding=identity run put
	[[ "$output" == "422 "* ]]
	head -c 200 block.zst >torn
	body=torn run put
	[[ "$output" == "422 "*"its end is missing"* ]]
	body=block run put
	[[ "$output" == "422 "*"zstd can't unpack it"* ]]
	: >empty
	body=empty encoding=identity run put
	[[ "$output" == "422 "* || "$output" == "411 "* ]]
	# A bomb, and bodies that are too large.
	head -c 100M /dev/zero | zstd -q >bomb
	body=bomb run put
	[[ "$output" == "413 "* ]]
	head -c $((8 * 1048576 + 1000)) /dev/urandom >large
	body=large run put
	[[ "$output" == "413"* ]]
	# Facts of 2 MB. The answer comes behind the body.
	head -c 2M /dev/zero >large
	ask web1 PUT /v1/hosts/web1 large
	[ "$code" = 413 ]
	# The rest of a body that is far too large is not even read.
	head -c 20M /dev/urandom >larger
	body=larger run put
	[[ "$output" != *"200"* ]]
	# Of another bucket, and of no bucket.
	seconds=$((seconds + 600)) run put
	[[ "$output" == "422 "*"another bucket"* ]]
	seconds=$((seconds + 1)) run put
	[[ "$output" == "422 "* ]]
	part=nothing run put
	[[ "$output" == "400 "* ]]
	part=20260601T000000.000Z seconds=99999999999 run put
	[[ "$output" == "503 "* || "$output" == "400 "* ]]
	[ -z "$(find fleet/web1 -name '2*')" ]
	[ "$(assay fleet hosts fleet --format json | jq '.hosts[0].refused')" -ge 6 ]
	run assay fleet hosts fleet
	[[ "$output" == *web1* ]]
	run put
	[[ "$output" == "200 "*'"known":false'* ]]
	run put
	[[ "$output" == "200 "*'"known":true'* ]]
	assay fleet audit fleet
}

@test "a part that keeps processes apart, or that replaces others, is no block" {
	gateway
	"$ASSAY_BUILD/bench/history" store 1 2000 400
	introduce web1 $FIRST_BOOT 100 0
	part=$(basename store/samples/current/2*)
	seconds=$(date -ud "${part:0:4}-${part:4:2}-${part:6:2} ${part:9:2}:${part:11:2}:${part:13:2}" +%s)
	cp store/samples/current/2*/samples/current/0000.segment raw
	body=raw encoding=identity run put
	[[ "$output" == "422 "* ]]
	assay retain store --level functions -o blocks -q
	assay retain blocks --tier hours=1h,0 --tier days=never -q
	cp blocks/2*/samples/current/0000.segment merged
	body=merged encoding=identity run put
	[[ "$output" == "422 "*"replaces other parts"* ]]
}

@test "clocks that are wrong, and machines under one name, are refused and shown" {
	gateway
	a_block
	introduce web1 $FIRST_BOOT 100000 7200000
	[ "$code" = 200 ]
	run put
	[[ "$output" == "422 "*'"code":"clock"'* ]]
	introduce web1 $FIRST_BOOT 100000 0
	seconds=$(($(date +%s) / 600 * 600 + 6000)) run put
	[[ "$output" == "422 "*'"code":"clock"'* ]]
	[ "$(assay fleet hosts fleet --format json | jq '.hosts[0].refused')" = 2 ]
	# Another kernel that runs since a time before the first one spoke: a copy of the machine.
	introduce web1 99999999-2222-3333-4444-555555555555 100000 0
	[ "$code" = 409 ]
	[[ "$reply" == *'"code":"clone"'* ]]
	[ "$(assay fleet hosts fleet --format json | jq '.hosts[0].cloned_seconds > 0')" = true ]
	# The first one goes on.
	introduce web1 $FIRST_BOOT 100000 -5000
	run put
	[[ "$output" == "200 "* ]]
	skew=$(assay fleet hosts fleet --format json | jq '.hosts[0].skew_ms')
	[ "$skew" -lt -4000 ]
	# It was started again.
	sleep 1
	sed -i "s/^seen_s .*/seen_s $(($(date +%s) - 300))/" fleet/web1/.host
	introduce web1 99999999-2222-3333-4444-555555555555 10 0
	[ "$code" = 200 ]
	for body in '{}' '[' '{"boot":"x","clock_ms":1}' "{\"boot\":\"$FIRST_BOOT\",\"clock_ms\":1,\"labels\":{\"a b\":\"c\"}}"; do
		echo "$body" >facts
		ask web1 PUT /v1/hosts/web1 facts
		[ "$code" = 400 ]
	done
}

@test "a token of an older fleet for the name of the pushed profiles is refused" {
	gateway
	sed -i 's/^web1 /pushed /' fleet/.tokens
	mv token.web1 token.pushed
	introduce pushed $FIRST_BOOT 100000 0
	[ "$code" = 409 ]
	[[ "$reply" == *"is the name of the host with the profiles that programs push"*'"code":"name"'* ]]
	[ ! -e fleet/pushed/.host ]
}

@test "a host that sends too much waits, and others do not" {
	gateway
	enroll web2
	introduce web1 $FIRST_BOOT 100 0
	printf x >small
	head -c 8M /dev/zero >large
	for _ in {1..20}; do
		ask web1 PUT "/v1/blocks/web1/20260601T000000.000Z/0" large "Assay-Boot:$FIRST_BOOT"
		[ "$code" != 429 ] || break
	done
	[ "$code" = 429 ]
	[ "$wait_s" -gt 0 ]
	introduce web2 $FIRST_BOOT 100 0
	[ "$code" = 200 ]
}

@test "names of functions: those that are wanted are kept, and no other host renames them" {
	gateway
	enroll web2
	need_recording
	assay record -o session -q -- sha256sum "$ASSAY_BUILD/assay" >/dev/null
	XDG_CACHE_HOME=$PWD/cache assay report -i session --by symbol >/dev/null
	local sym build question
	sym=$(find cache -name '*.sym' -size -2000k | sort | head -1)
	build=$(basename "$sym" .sym)
	[ -n "$build" ]
	question="{\"images\":{\"$build\":\"symtab\",\"0102\":\"none\"}}"
	echo "$question" >question
	ask web1 PUT "/v1/images/$build/symbols" "$sym" "Assay-Boot:$FIRST_BOOT"
	[ "$code" = 409 ]
	introduce web1 $FIRST_BOOT 100 0
	introduce web2 $FIRST_BOOT 100 0
	ask web1 POST /v1/images question
	[ "$code $reply" = "200 {\"wanted\":[\"$build\"]}" ]
	zstd -q "$sym" -o sym.zst
	ask web1 PUT "/v1/images/$build/symbols" sym.zst "Assay-Boot:$FIRST_BOOT" Content-Encoding:zstd
	[ "$code $reply" = '200 {"kept":true}' ]
	[ "$(cat "fleet/.names/$build.from")" = web1 ]
	ask web2 PUT "/v1/images/$build/symbols" "$sym" "Assay-Boot:$FIRST_BOOT"
	[ "$code $reply" = '200 {"kept":false}' ]
	ask web2 PUT "/v1/images/0102/symbols" "$sym" "Assay-Boot:$FIRST_BOOT"
	[ "$code" = 422 ]
	head -c 90 "$sym" >torn
	ask web2 PUT "/v1/images/$build/symbols" torn "Assay-Boot:$FIRST_BOOT"
	[ "$code" = 422 ]
	# ship sends what the gateway lacks, once.
	assay fleet forget fleet web1
	[ -z "$(find fleet/.names -type f)" ]
	enroll web1
	enroll web3
	"$ASSAY_BUILD/bench/history" store 1 2000 400
	ship web3 store -q
	cp "$sym" state.web3/*/.names/
	ship web3 store -q
	[ "$(stat -c %s "fleet/.names/$build.sym")" = "$(stat -c %s "$sym")" ]
	[ "$(cat "fleet/.names/$build.from")" = web3 ]
	before=$(stat -c %i "fleet/.names/$build.sym")
	ship web3 store -q
	[ "$(stat -c %i "fleet/.names/$build.sym")" = "$before" ]
	introduce web1 $FIRST_BOOT 100 0
	for path in "/v1/images/$build" "/v1/images/$build/names" /v1/images/x/y/symbols; do
		ask web1 PUT "$path" "$sym" "Assay-Boot:$FIRST_BOOT"
		echo "$path $code"
		[ "$code" = 404 ]
	done
	for question in '{}' '[' '{"images":{"x":"symtab"}}' '{"images":{"0102":"best"}}' '{"images":{"0102":3}}'; do
		echo "$question" >question
		ask web1 POST /v1/images question
		[ "$code" = 400 ]
	done
	assay fleet forget fleet web3
	[ -z "$(find fleet/.names -name "$build.*")" ]
}

# Rewrites a line of what the gateway knows about web1: NAME VALUE.
set_fact() {
	sed -i "s/^$1 .*/$1 $2/" fleet/web1/.host
}

@test "names of a day have a limit: 2,000 indexes of a host, and 512 MiB" {
	gateway
	need_recording
	assay record -o session -q -- sha256sum "$ASSAY_BUILD/assay" >/dev/null
	XDG_CACHE_HOME=$PWD/cache assay report -i session --by symbol >/dev/null
	local sym build today
	sym=$(find cache -name '*.sym' -size -2000k | sort | head -1)
	build=$(basename "$sym" .sym)
	[ -n "$build" ]
	send_names() {
		ask web1 PUT "/v1/images/$build/symbols" "$sym" "Assay-Boot:$FIRST_BOOT"
		echo "$code ${reply:0:40}"
	}
	introduce web1 $FIRST_BOOT 100 0
	[ "$(send_names)" = '200 {"kept":true}' ]
	has '^names 1$' fleet/web1/.host
	has "^names_bytes $(stat -c %s "$sym")$" fleet/web1/.host
	today=$(($(date +%s) / 86400))
	set_fact names_day "$today"
	set_fact names 1999
	[[ "$(send_names)" == '200 '* ]]
	[[ "$(send_names)" == '429 '* ]]
	[[ "$(send_names)" == '429 '* ]]
	# Bytes count by themselves.
	set_fact names 1
	set_fact names_bytes $((512 * 1048576 - $(stat -c %s "$sym")))
	[[ "$(send_names)" == '200 '* ]]
	[[ "$(send_names)" == '429 '* ]]
	# Other hosts may still send, and so may this one on another day.
	enroll web2
	introduce web2 $FIRST_BOOT 100 0
	ask web2 PUT "/v1/images/$build/symbols" "$sym" "Assay-Boot:$FIRST_BOOT"
	[ "$code" = 200 ]
	set_fact names_day $((today - 1))
	[[ "$(send_names)" == '200 '* ]]
	has '^names 1$' fleet/web1/.host
}

@test "forget removes a host with its blocks and its token, and writes it down" {
	gateway
	"$ASSAY_BUILD/bench/history" store 1 2000 400
	ship web1 store -q
	assay fleet forget fleet web1
	[ ! -e fleet/web1 ]
	grep -q 'uid [0-9]*: forget web1' fleet/.log
	run ship web1 store
	[ "$status" = 1 ]
	[[ "$output" == *"answers 401"* ]]
	run -2 assay fleet forget fleet ../x
	run -2 assay fleet enroll fleet
	run -2 assay fleet enroll fleet a/b
}

@test "ship refuses plain HTTP to other machines, and files that others can read" {
	mkdir store
	echo "$FIRST_BOOT" >token
	chmod 600 token
	run -1 assay ship --to http://gw.example.org --token-file token --once --state s --host a store
	[[ "$output" == *"write https://"* ]]
	chmod 644 token
	run -1 assay ship --to https://127.0.0.1:1 --token-file token --once --state s --host a store
	[[ "$output" == *"chmod 600"* ]]
	run -1 assay ship --to https://127.0.0.1:1 --once --state s --host a store
	[[ "$output" == *"--token-file, --join-file, or --certificate"* ]]
	chmod 600 token
	run -1 assay ship --to https://127.0.0.1:1 --token-file token --once --state s --host a store
	[[ "$output" == *"127.0.0.1"* ]]
	run -1 assay serve --fleet store --listen 127.0.0.1:0
	[[ "$output" == *"store is no fleet"* ]]
}

@test "names of containers come before the blocks, and no host gives names to another one" {
	local id
	id=$(printf %064d 1)
	gateway
	enroll web2
	"$ASSAY_BUILD/bench/history" store 1 2000 400
	printf '%s web\npod-1 default/web-0\n' "$id" >store/containers
	ship web1 store -q
	cmp store/containers fleet/web1/containers
	[ "$(stat -c %Y fleet/web1/containers)" -le "$(stat -c %Y fleet/web1/.keys)" ]
	# Only what is new goes again.
	before=$(stat -c %i fleet/web1/containers)
	ship web1 store -q
	[ "$(stat -c %i fleet/web1/containers)" = "$before" ]
	echo "pod-1 default/db-0" >>store/containers
	ship web1 store -q
	[ "$(sort fleet/web1/containers)" = "$(printf '%s web\npod-1 default/db-0\n' "$id")" ]
	# More than one request's worth.
	for ((i = 2; i < 2000; i++)); do printf '%064d name%d\n' "$i" "$i"; done >>store/containers
	ship web1 store -q
	[ "$(wc -l <fleet/web1/containers)" = 2000 ]
	# A host that has not said who it is, another host's names, bad lines, too many at once.
	echo "x y" >lines
	ask web2 PUT /v1/containers/web2 lines "Assay-Boot:$FIRST_BOOT"
	[ "$code" = 409 ]
	introduce web2 $FIRST_BOOT 100 0
	ask web2 PUT /v1/containers/web1 lines "Assay-Boot:$FIRST_BOOT"
	[ "$code" = 403 ]
	printf '../x y\n\0\nid a\tb\n' >lines
	ask web2 PUT /v1/containers/web2 lines "Assay-Boot:$FIRST_BOOT"
	[ "$code" = 200 ]
	[ ! -s fleet/web2/containers ]
	head -c 65537 /dev/zero >lines
	ask web2 PUT /v1/containers/web2 lines "Assay-Boot:$FIRST_BOOT"
	[ "$code" = 413 ]
	for path in /v1/containers/ /v1/containers/web2/x; do
		ask web2 PUT "$path" lines "Assay-Boot:$FIRST_BOOT"
		[ "$code" = 404 ]
	done
}

@test "forget waits for requests that are looked at, and nothing of the host comes back" {
	gateway
	need_recording
	assay record -o session -q -- sha256sum "$ASSAY_BUILD/assay" >/dev/null
	XDG_CACHE_HOME=$PWD/cache assay report -i session --by symbol >/dev/null
	local sym build kind lock
	sym=$(find cache -name '*.sym' -size -2000k | sort | head -1)
	build=$(basename "$sym" .sym)
	for kind in "/v1/images/$build/symbols" /v1/hosts/web1; do
		enroll web1
		introduce web1 $FIRST_BOOT 100 0
		[ "$code" = 200 ]
		cp "$sym" body
		[[ "$kind" != *hosts* ]] || cp facts body
		flock fleet/web1 sleep 1 &
		lock=$!
		wait_for eval '! flock -n fleet/web1 true'
		python3 "$ROOT/tests/cli/fleet_client.py" "$address" PUT "$kind" "$(cat token.web1)" body "Assay-Boot:$FIRST_BOOT" >late &
		sleep 0.3
		assay fleet forget fleet web1
		wait "$lock"
		wait $!
		cat late
		[ ! -e fleet/web1 ]
		[ -z "$(find fleet/.names -type f)" ]
	done
}

@test "a new host joins with a token of which several hosts have a copy" {
	serve --fleet fleet
	url=http://$address
	assay fleet invite fleet 2 >join.token
	chmod 600 join.token
	"$ASSAY_BUILD/bench/history" store 1 2000 400
	all=$(samples store)
	joins() { assay ship --to "$url" --join-file join.token --state "state.$1" --once -q --host "$1" store; }
	joins web1
	[ "$(samples fleet/web1)" = "$all" ]
	[ "$(stat -c %a state.web1/*.token)" = 600 ]
	grep -q ' join web1$' fleet/.log
	# It has its own token now: the join token is not used again, and another one reads nothing.
	joins web1
	chmod 644 join.token
	run joins web2
	[ "$status" = 1 ]
	[[ "$output" == *"is not only yours"* ]]
	chmod 600 join.token
	# A ship that was killed while it wrote its token makes another one.
	mkdir -p state.web2
	printf 0123 >"state.web2/$(basename state.web1/*.token).new.part"
	# A host whose answer was lost asks again with the same token.
	joins web2
	[ -z "$(find state.web2 -name '*.part')" ]
	mv state.web2/*.token "$(ls state.web2/*.token).new"
	joins web2
	[ "$(samples fleet/web2)" = "$all" ]
	# A host that lost its state can't become that host again, and a third one is too many.
	rm -r state.web1
	run joins web1
	[ "$status" = 1 ]
	[[ "$output" == *"join token is used up"* ]]
	assay fleet invite fleet 5 >join.token
	run joins web1
	[ "$status" = 1 ]
	[[ "$output" == *"has a host 'web1' already"* ]]
	assay fleet forget fleet web1
	rm -r state.web1
	joins web1
	[ "$(samples fleet/web1)" = "$all" ]
	# A join token sends no blocks and reads nothing; a host's token invites nobody.
	cp join.token token.web9
	echo '{}' >facts
	ask web9 PUT /v1/hosts/web9 facts
	[ "$code" = 401 ]
	ask web9 POST /v1/join/web9 facts
	[ "$code" = 401 ]
	enroll web3
	ask web3 POST /v1/join/web9 facts
	[ "$code" = 401 ]
	for n in x 100001 ''; do
		run assay fleet invite fleet "$n"
		[ "$status" = 2 ]
	done
	# A leaked token is taken back. A log that can't be written refuses no host.
	assay fleet invite fleet 0
	run joins web5
	[ "$status" = 1 ]
	[[ "$output" == *"no join token"* ]]
	assay fleet invite fleet 3 >join.token
	rm fleet/.log
	mkdir fleet/.log
	joins web6
	[ "$(samples fleet/web6)" = "$all" ]
	# Rates that can't be read stop no host.
	echo wrong >fleet/.rates
	joins web6
}

@test "hosts get the rate that the fleet asks for, and ship writes it down for the daemon" {
	gateway
	enroll web2
	rate_of() { # HOST
		introduce "$1" $FIRST_BOOT 100 0
		[ "$code" = 200 ]
		jq -r .rate_hz <<<"$reply"
	}
	[ "$(rate_of web1)" = null ]
	assay fleet rate fleet '*' 19
	assay fleet rate fleet web1 7
	[ "$(rate_of web1) $(rate_of web2)" = "7 19" ]
	"$ASSAY_BUILD/bench/history" store 1 2000 400
	export ASSAY_SHIP_STATUS=$PWD/status
	sed -i "s/^boot .*/boot $(cat /proc/sys/kernel/random/boot_id)/" fleet/web1/.host
	ship web1 store -q
	has '^rate_hz 7$' status
	# A gateway that is away leaves the rate as it was.
	url=http://127.0.0.1:1 run -1 ship web1 store -q
	has '^rate_hz 7$' status
	assay fleet rate fleet web1 0
	ship web1 store -q
	has '^rate_hz 19$' status
	for words in "web1 x" "web1 100001" "../x 5" "web1" "web1 5 6"; do
		# shellcheck disable=SC2086
		run -2 assay fleet rate fleet $words
	done
	assay fleet rate fleet web2 3
	assay fleet forget fleet web2
	not grep web2 fleet/.rates
	echo "web1 much" >>fleet/.rates
	introduce web1 "$(cat /proc/sys/kernel/random/boot_id)" 100 0
	# Blocks do not wait for a rate that can't be read.
	[ "$code" = 200 ]
	not grep -q rate_hz <<<"$reply"
}

@test "ship sends nothing to a gateway that wants other blocks" {
	"$ASSAY_BUILD/bench/history" store 1 2000 400
	cat >other.py <<-'END'
		import http.server
		class Gateway(http.server.BaseHTTPRequestHandler):
		    def do_PUT(self):
		        self.rfile.read(int(self.headers["Content-Length"]))
		        body = b'{"fleet":"0123456789abcdef","contact_s":600,"bucket_s":60}'
		        self.send_response(200)
		        self.send_header("Content-Length", str(len(body)))
		        self.end_headers()
		        self.wfile.write(body)
		        open("asked", "a").write(self.path + "\n")
		server = http.server.HTTPServer(("127.0.0.1", 0), Gateway)
		open("port.new", "w").write(str(server.server_port))
		import os
		os.rename("port.new", "port")
		server.serve_forever()
	END
	background python3 other.py
	wait_for test -s port
	echo none >token.web1
	chmod 600 token.web1
	url=http://127.0.0.1:$(cat port)
	run -1 ship web1 store
	[[ "$output" == *"wants blocks of 60 s, and this assay makes blocks of 600 s"* ]]
	[ "$(cat asked)" = /v1/hosts/web1 ]
}
