#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The addresses of chosen services in a fleet: assay ship --leaves, assay export --fleet.
load helpers
load serve
load fleet_hosts

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR TZ=UTC0
}

FIRST_BOOT=11111111-2222-3333-4444-555555555555

@test "ship --leaves: the addresses of chosen services come once, by the hour, and are exported" {
	assay record -q -o rec sh -c "$PROGRAMS/split 0.5s; $PROGRAMS/deep 0.3s"
	assay record -q -F 200 -o slow "$PROGRAMS/split" 0.5s
	history_of rec store
	history_of slow other
	run assay ship --to dir:fleet --dry-run --leaves split,nothing --host web1 store
	[ "$status" = 0 ]
	[ "$(grep -c "^web1 " <<<"$output")" = 2 ]
	for host in web1 web1 web2; do
		assay ship --to dir:fleet --once -q --leaves split,nothing --host "$host" "$([ "$host" = web1 ] && echo store || echo other)"
	done
	run assay ship --to dir:fleet --dry-run --leaves split,nothing --host web1 store
	[ "$output" = "assay: nothing to send: the 1 block of the history was sent before" ]
	# Blocks of functions have all, and those of addresses the service alone.
	[ "$(samples fleet/web1)" = "$(samples store)" ]
	[ "$(samples fleet/.leaves/web1)" = "$(assay report -i store service:split --format json | jq .header.samples.selected)" ]
	[ "$(assay report -i fleet/.leaves --by service --format json | jq -r '.rows[].service' | sort -u)" = split ]
	assay fleet audit fleet/.leaves
	# The places of the file are those of the recordings, host by host.
	places() { assay export -q -F autofdo --weight samples --image split "$@" | sed -n '3,$p' | grep :; }
	places -i store service:split >one
	places -i other >two
	places --fleet fleet host:web1 | diff one -
	places --fleet fleet host:web2 | diff two -
	places --fleet fleet | diff <(sort one two | awk -F: '{ n[$1] += $2 } END { for (a in n) print a ":" n[a] }' | sort) <(places --fleet fleet | sort)
	build=$(readelf -n "$PROGRAMS/split" | awk '/Build ID/ { print $3 }')
	[ "$(assay export -q -F autofdo --weight samples --fleet fleet --build-id "$build" | grep -c :)" = "$(places --fleet fleet | wc -l)" ]
	# Function blocks have no addresses, and would give a wrong profile.
	run assay export -i fleet/web1 -F autofdo
	[ "$status" = 1 ]
	[[ "$output" == *"it has functions and no addresses"* ]]
	run assay export --fleet store -F autofdo
	[ "$status" = 1 ]
	[[ "$output" == *"store is no fleet"* ]]
	run assay export --fleet fleet -F folded
	[ "$status" = 2 ]
	run assay export --fleet fleet -i fleet -F autofdo
	[ "$status" = 2 ]
	assay ship --to dir:bare --once -q --host web1 store
	run assay export --fleet bare -F autofdo
	[ "$status" = 1 ]
	[[ "$output" == *"no host of bare has sent addresses"* ]]
}

@test "addresses of a service come through the gateway once, and go with their host" {
	gateway
	assay record -q -o rec "$PROGRAMS/split" 0.4s
	mkdir -p store/samples/current
	cp -r rec "store/samples/current/$(date -u +%Y%m%dT%H%M%S.000Z)"
	ship web1 store -q --leaves split
	ship web1 store -q --leaves split
	rm -r state.web1
	ship web1 store -q --leaves split
	[ "$(samples fleet/.leaves/web1)" = "$(assay report -i store service:split --format json | jq .header.samples.selected)" ]
	[ "$(find fleet/.leaves/web1 -name 0000.segment | wc -l)" = 1 ]
	diff <(assay export -q -i store -F autofdo --image split service:split) <(assay export -q --fleet fleet -F autofdo --image split)
	# Another host's name, and bytes that are no block.
	echo junk >junk
	ask web1 PUT /v1/leaves/web2/20261101T000000.000Z/1793491200 junk "Assay-Boot:$(cat /proc/sys/kernel/random/boot_id)"
	[ "$code" = 403 ]
	ask web1 PUT /v1/leaves/web1/20261101T000000.000Z/1793491200 junk "Assay-Boot:$(cat /proc/sys/kernel/random/boot_id)"
	[ "$code" = 422 ]
	ask web1 PUT /v1/leaves/web1/20261101T000000.000Z/1793491200 junk "Assay-Boot:$FIRST_BOOT"
	[ "$code" = 409 ]
	assay fleet forget fleet web1
	[ ! -e fleet/.leaves/web1 ]
}

@test "a file under two names is one build, and each name finds it" {
	cp "$PROGRAMS/split" first
	cp "$PROGRAMS/split" second
	assay record -q -o rec sh -c './first 0.3s; ./second 0.3s'
	of() { assay export -i rec -F autofdo --weight samples "$@" 2>said | sed -n '3,$p' | grep :; }
	of >all
	for name in first second; do
		of --image $name | diff all -
		has "samples of .*/$name, build id" said
	done
	assay export -q -i rec -F autofdo --weight samples --image first comm:first | sed -n '3,$p' | grep : >one
	not diff -q one all
}

# A gateway that answers blocks of addresses by STATUS…, and a recording `rec`: answers STATUS…
answers() {
	assay record -q -o rec "$PROGRAMS/split" 0.4s
	day=$(date -u -d "@$(stat -c %Y rec)" +%Y%m%dT%H%M%S)
	own_fleet fleet
	background python3 "$ROOT/tests/cli/fleet_answers.py" fleet leaves "$@" >log
	wait_for test -s log
	url=http://$(head -1 log)
}

# A further part of the history `store`: add_part NUMBER
add_part() {
	mkdir -p store/samples/current
	cp -r rec made
	mv made "store/samples/current/$day.00$1Z"
}

# Blocks of this kind that came: n_came leaves|blocks; for wait_for: came KIND N
n_came() { grep -c "PUT /v1/$1/" log || true; }
came() { [ "$(n_came "$1")" -ge "$2" ]; }

@test "ship --once fails if addresses are not sent, and waits for a busy gateway" {
	answers 200 429 200 500
	add_part 1
	add_part 2
	run ship web1 store -q --leaves split
	echo "$output"
	[ "$status" = 0 ]
	[ "$(n_came blocks) $(n_came leaves)" = "2 3" ]
	add_part 3
	run ship web1 store -q --leaves split
	echo "$output"
	[ "$status" = 1 ]
	[[ "$output" == *"answers 500"* ]]
	[ "$(n_came blocks) $(n_came leaves)" = "3 4" ]
}

@test "an older gateway gets no addresses until the next start of ship" {
	answers 404
	add_part 1
	run ship web1 store -q --leaves split
	[ "$status" = 1 ]
	[[ "$output" == *"is older, and takes no addresses"* ]]
	background assay ship --to "$url" --token-file token.web1 --state state.web1 --interval 1 --host web1 --leaves split store 2>said
	wait_for came leaves 2
	for part in 2 3; do
		add_part $part
		wait_for came blocks $part
	done
	# Blocks of the third part came in a later round than those of the second.
	[ "$(n_came leaves)" = 2 ]
	[ "$(grep -c "addresses are not sent" said)" = 1 ]
}
