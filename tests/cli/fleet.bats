#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Blocks, which leave the machine.
load helpers
load fleet
load fleet_hosts

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR TZ=UTC0
}

stacks() {
	assay export -i "$1" --format folded --weight samples | sort
}

@test "blocks have the stacks of the recording, without addresses and command lines" {
	assay record -o rec "$PROGRAMS/split" 0.5cpu secret-argument
	history_of rec store
	run assay retain store --level functions -o blocks
	[ "$status" = 0 ]
	[[ "$output" == *" block"*" made"* ]]
	stacks store >want
	stacks blocks >got
	cmp want got
	[ -s got ]
	run assay report -i store --format json
	[[ "$output" == *secret-argument* ]]
	run assay report -i blocks --format json
	[[ "$output" != *secret-argument* ]]
	run assay report -i blocks --by cpu,process
	[[ "$output" == *all* ]]
}

@test "blocks are made into a new directory, and a block is a part of a history" {
	"$ASSAY_BUILD/bench/history" store 2 20000 400
	assay retain store --level functions -o blocks -q
	made=(blocks/*)
	n=${#made[@]}
	[ "$n" -ge 12 ]
	run assay retain store --level functions -o blocks
	[ "$status" = 1 ]
	[[ "$output" == *"blocks is there already"* ]]
	run assay retain store --level functions -o store
	[ "$status" = 1 ]
	all=$(assay report -i store --format json | jq .header.samples.selected)
	[ "$(assay report -i blocks --format json | jq .header.samples.selected)" = "$all" ]
	hour=$(assay report -i store --format json --until '2026-06-01 01:00' | jq .header.samples.selected)
	[ "$(assay report -i blocks --format json --until '2026-06-01 01:00' | jq .header.samples.selected)" = "$hour" ]
	# The history of blocks is kept small as any other.
	assay retain blocks --tier hours=1h,0 --tier days=never -q
	[ "$(assay report -i blocks --format json | jq .header.samples.selected)" = "$all" ]
}

@test "--level without --output, and a folder without parts, are refused" {
	"$ASSAY_BUILD/bench/history" store 1 1000 40
	run assay retain store --level functions
	[ "$status" = 2 ]
	[[ "$output" == *"--level and --output go together"* ]]
	run assay retain store -o blocks
	[ "$status" = 2 ]
	run assay retain store --level lines -o blocks
	[ "$status" = 2 ]
	mkdir empty
	run assay retain empty --level functions -o blocks
	[ "$status" = 1 ]
	[[ "$output" == *"empty is no history"* ]]
}

@test "a history is in the fleet once, however often it is sent, and killed at any time" {
	"$ASSAY_BUILD/bench/history" store 2 20000 400
	all=$(samples store)
	for ms in 5 20 40 80 160 320; do
		killed_after "$ms" fleet/web1 assay ship --to dir:fleet --once --host web1 store
	done
	assay ship --to dir:fleet --once --host web1 store
	[ "$(samples fleet/web1)" = "$all" ]
	run assay ship --to dir:fleet --once --host web1 store
	[ "$status" = 0 ]
	[ "$output" = "assay: nothing to send: all $(wc -l <fleet/web1/.keys) blocks of the history were sent before" ]
	[ "$(samples fleet/web1)" = "$all" ]
	[ -z "$(find fleet -name '.block-*')" ]
	# Ended before the last block, it does not claim to have sent all.
	for ms in 20 40 80 160; do
		if timeout --preserve-status -s TERM "0.$(printf %03d "$ms")" assay ship --to dir:ended --once -q --host web1 store; then
			[ "$(samples ended/web1)" = "$all" ]
		fi
	done
	# Another host has its own blocks.
	assay ship --to dir:fleet/ --once -q --host web2 store
	[ "$(samples fleet/web2)" = "$all" ]
	# The fleet's own history is kept small as any other, and still knows its blocks.
	assay retain fleet/web1 --tier hours=1h,0 --tier days=never -q
	assay ship --to dir:fleet --once -q --host web1 store
	[ "$(samples fleet/web1)" = "$all" ]
}

@test "ship --once says why it has nothing to send, and from when on it has" {
	[ -e "$PROGRAMS/clock_shift.so" ] || skip "there is no library that shifts the clock"
	local part=store/samples/current/20260601T000000.000Z/samples/current
	says() { # TIME WORDS STATUS TEXT
		rm -f shift
		ln -s -- $(($(date -d "$1" +%s) - $(date +%s))) shift
		# shellcheck disable=SC2086
		run env LD_PRELOAD="$PROGRAMS/clock_shift.so" CLOCK_SHIFT="$PWD/shift" assay ship --to dir:fleet --host web1 $2
		echo "$1 $2: $status $output"
		[ "$status" = "$3" ]
		[ "$output" = "${4:+assay: $4}" ]
	}
	says 2026-06-01T00:55:00Z "--once none" 1 "ship: none is no history: it does not exist (a daemon makes it)"
	mkdir -p store/samples/current
	says 2026-06-01T00:55:00Z "--once store" 1 "ship: store is no history: there are no parts in it (a daemon makes the first one when it starts)"
	mkdir -p "$part"
	says 2026-06-01T00:55:00Z "--once store" 0 "nothing to send: the history has no samples yet"
	rm -r store
	# The recorder of an hour has not ended: its last ten minutes wait.
	"$ASSAY_BUILD/bench/history" store 1 2000 400
	truncate -s -8 "$part/0000.segment"
	assay ship --to dir:fleet --once -q --host web1 store
	waits=$(($(samples store) - $(samples fleet/web1)))
	[ "$waits" -gt 1 ]
	says 2026-06-01T00:55:00Z "--once store" 0 "nothing to send yet: $waits samples wait until their ten minutes are over; they go from 2026-06-01T01:00:00Z on"
	says 2026-06-01T00:55:00Z "--dry-run store" 0 "nothing to send yet: $waits samples wait until their ten minutes are over; they go from 2026-06-01T01:00:00Z on"
	says 2026-06-01T01:01:00Z "--once store" 0 "nothing to send yet: $waits samples wait; they go when the history has the next ones"
	says 2026-06-01T00:55:00Z "--once -q store" 0 ""
	find store -exec touch -d 2026-06-01T00:51:00Z {} +
	says 2026-06-01T00:55:00Z "--once store" 0 "nothing to send yet: $waits samples wait, and nobody wrote to the history since 2026-06-01T00:51:00Z, as if no daemon ran; if none does, they go from 2026-06-01T01:51:00Z on"
	# An hour later, they are sent. A line for each round that sends is enough.
	assay ship --to dir:fleet --once --host web1 store 2>sent
	[ "$(wc -l <sent)" = 1 ]
	has "1 block sent: $waits samples, 0 lost" sent
	says 2026-06-01T02:55:00Z "--once store" 0 "nothing to send: all 6 blocks of the history were sent before"
}

@test "functions have names in the fleet when the program is gone" {
	cp "$PROGRAMS/split" ./gone
	assay record -q -o rec ./gone 0.5cpu
	history_of rec store
	assay ship --to dir:fleet --once --host web1 --labels zone=a,role=web store
	stacks store >want
	rm gone
	rm -rf "$HOME/.cache" store rec
	stacks fleet/web1 >got
	cmp want got
	[ "$(cat fleet/web1/.labels)" = $'zone=a\nrole=web' ]
}

@test "an index with all names names the functions of a stripped program, which this machine has, too" {
	stripped_program
	assay record -q -F 997 -o rec bin/work
	history_of rec store
	assay ship --to dir:fleet --once -q --host web1 store
	named() { assay report -i "$1" -l --format json | jq '[.rows[] | select(.symbol | startswith("parse(") or startswith("copy(")) | .samples] | add // 0'; }
	[ "$(named fleet)" = 0 ]
	# The rest is its start: on a busy machine, up to a fifth of so few samples.
	index_comes fleet
	[ "$(named fleet)" -gt $(($(samples fleet) * 7 / 10)) ]
	# A worse index of a history does not replace it. A better one replaces a worse one.
	mkdir store/samples/.names
	find "$HOME/.cache" -name '*.sym' -exec cp {} store/samples/.names/ \;
	assay ship --to dir:fleet --once -q --host web2 store
	[ "$(named fleet)" -gt $(($(samples fleet) * 7 / 10)) ]
	mkdir other
	cp -r store other/store
	cp fleet/.names/* other/store/samples/.names/
	rm -r fleet
	assay ship --to dir:fleet --once -q --host web1 store
	[ "$(named fleet)" = 0 ]
	assay ship --to dir:fleet --once -q --host web2 other/store
	[ "$(named fleet)" -gt $(($(samples fleet) * 7 / 10)) ]
}

@test "a dry run shows the blocks and stores none; dropped names are not sent" {
	assay record -q -o rec "$PROGRAMS/split" 0.3cpu
	history_of rec store
	run assay ship --to dir:fleet --dry-run --host web1 store
	[ "$status" = 0 ]
	[[ "${lines[0]}" == "web1 "*": functions, "*" samples, "*" lost, "*" bytes" ]]
	[ ! -e fleet ]
	# It shows all names that would leave the host.
	assay ship --to dir:fleet --dry-run --host web1 --labels a=b,c=d --leaves 'split' store >out
	[ "$(grep -c '^web1 .*: functions, ' out) $(grep -c '^web1 .*: addresses, ' out)" = "1 1" ]
	for line in "program .*/split" "thread split" "file .*/split, build id [0-9a-f]*, with the names of its functions" "label a=b" "label c=d" "kernel .*$(uname -r)" \
		"fact boot $(cat /proc/sys/kernel/random/boot_id)" "fact cpus [0-9]*" "fact version .*"; do
		has "^$line\$" out
	done
	[ "$(sort out | uniq -d)" = "" ]
	assay ship --to dir:fleet --dry-run --host web1 --drop comm,cgroup store >out
	not grep -E '^(thread|cgroup) ' out
	[ ! -e fleet ]
	assay ship --to dir:fleet/// --once --host web1 --drop comm,cgroup store
	run assay ship --to dir:fleet --dry-run --host web1 store
	[ "$output" = "assay: nothing to send: the 1 block of the history was sent before" ]
	run assay report -i fleet/web1 --by comm,cgroup
	[ "$status" = 0 ]
	[[ "$output" != *split* ]]
}

@test "ship refuses other places, hosts and words" {
	mkdir empty
	for words in "store" "--to ftp://x store" "--to dir: store" "--to dir:fleet --drop name store" \
		"--to dir:fleet --labels zone store" "--to dir:fleet a b"; do
		# shellcheck disable=SC2086
		run assay ship --once $words
		echo "$words: $output"
		[ "$status" = 2 ]
	done
	run assay ship --once --to dir:fleet --host ../web1 empty
	[ "$status" = 1 ]
	[[ "$output" == *"can't be the name of a host"* || "$output" == *"is no history"* ]]
	run assay ship --once --to dir:fleet --host web1 empty
	[ "$status" = 1 ]
	[[ "$output" == *"empty is no history"* ]]
	echo text >empty/file
	run assay ship --once --to dir:empty --host web1 empty
	[ "$status" = 1 ]
	[[ "$output" == *"empty is no fleet"* ]]
}

rows() {
	assay report --format json "$@" | jq -c '[.rows[] | [.host // .service // .build, .samples]]'
}

@test "a report of a fleet is over its hosts, and states how many it has" {
	"$ASSAY_BUILD/bench/history" store 2 20000 400
	assay retain store --level functions -o half -q
	all=$(samples store)
	for host in web1 web2; do
		assay ship --to dir:fleet --once -q --host "$host" store
	done
	# The third host has the second hour alone.
	mkdir -p second/samples/current
	cp -r store/samples/current/20260601T010000.000Z second/samples/current
	assay ship --to dir:fleet --once -q --host db1 second
	hour=$(samples second)
	[ "$(samples fleet)" = $((2 * all + hour)) ]
	[ "$(rows -i fleet --by host)" = "[[\"web1\",$all],[\"web2\",$all],[\"db1\",$hour]]" ]
	[ "$(rows -i fleet --by host 'host:web*')" = "[[\"web1\",$all],[\"web2\",$all]]" ]
	[ "$(rows -i fleet --by host 'host="db1"')" = "[[\"db1\",$hour]]" ]
	run assay report -i fleet
	[[ "$output" == *"hosts     3 of 3 have samples here"* ]]
	run assay report -i fleet --until '2026-06-01 01:00'
	[[ "$output" == *"hosts     2 of 3 have samples here"* ]]
	# The first block of the third host begins here, and most of it is later.
	run assay report -i fleet --until '2026-06-01 01:02'
	[[ "$output" == *"hosts     2 of 3 have samples here"* ]]
	run assay report -i fleet --until '2026-06-01 01:02' host:db1
	[ "$status" = 1 ]
	[[ "$output" == *"no host of fleet has samples here"* ]]
	[ "$(assay report -i fleet --format json | jq -c .header.hosts)" = '{"with_samples":3,"asked":3}' ]
	[ "$(assay report --fleet fleet --format json | jq -c .header.hosts)" = '{"with_samples":3,"asked":3}' ]
	run -1 assay report --fleet none
	[[ "$output" == *"'none' is no fleet: name its directory, or its URLs"* ]]
	# A host that can't be read is named.
	for segment in fleet/db1/*/samples/current/0000.segment; do
		echo garbage >"$segment"
	done
	run assay report -i fleet
	[ "$status" = 0 ]
	[[ "$output" == *"hosts     2 of 3 have samples here"* ]]
	[[ "$output" == *db1* ]]
	run assay report -i fleet host:none
	[ "$status" = 1 ]
	[[ "$output" == *"has no such host"* ]]
	run assay diff '{' fleet host:web1 '}' '{' fleet 'host:web*' '}'
	[ "$status" = 0 ]
	[[ "$output" == *"+100"* ]]
}

@test "a fleet has services and builds" {
	assay record -q -o rec "$PROGRAMS/split" 0.4cpu
	history_of rec store
	all=$(samples store)
	assay ship --to dir:fleet --once -q --host web1 --drop cgroup store
	[ "$(rows -i fleet --by service)" = "[[\"split\",$all]]" ]
	[ "$(samples fleet service:split)" = "$all" ]
	run assay report -i fleet service:other
	[ "$status" = 1 ]
	id=$(readelf -n "$PROGRAMS/split" | sed -n 's/.*Build ID: //p')
	[[ "$(rows -i fleet --by build)" == *"$id"* ]]
}

@test "the units of ship and of the gateway are valid, and are confined" {
	command -v systemd-analyze >/dev/null || skip "no systemd-analyze here"
	local unit
	mkdir unit
	for unit in assay-ship assay-gateway; do
		sed "s#@bindir@#$(dirname "$(command -v assay)")#" "$ROOT/data/$unit.service" >"unit/$unit.service"
		systemd-analyze verify --man=no "$PWD/unit/$unit.service" 2>verify.log || { cat verify.log; false; }
		[ ! -s verify.log ] || { cat verify.log; false; }
		systemd-analyze security --help | grep -q -- --offline || continue
		systemd-analyze security --offline=true --threshold=25 "$PWD/unit/$unit.service" >/dev/null
	done
}

@test "a function is one row in all builds of its file" {
	local build
	for build in one two; do
		mkdir -p "$build"
		cat >"$build/work.c" <<-END
			volatile unsigned long x;
			__attribute__((noinline)) void spin(void) { for (unsigned long i = 0; i < $([ $build = one ] && echo 200 || echo 300)000000UL; i++) x += i; }
			int main(void) { spin(); return 0; }
		END
		gcc -O1 -g -Wl,--build-id=sha1 -o "$build/work" "$build/work.c"
		assay record -q -o "$build.rec" "$build/work"
		history_of "$build.rec" "$build.store"
		assay ship --to dir:fleet --once -q --host "$build" "$build.store"
	done
	[ "$(assay report -i fleet --by symbol --format json | jq '[.rows[] | select(.symbol == "spin")] | length')" = 1 ]
	[ "$(assay report -i fleet --by build,symbol --format json | jq '[.rows[] | select(.symbol == "spin")] | length')" = 2 ]
	one=$(samples one.store 'symbol:spin')
	two=$(samples two.store 'symbol:spin')
	[ "$(assay report -i fleet --by symbol --format json | jq '.rows[] | select(.symbol == "spin") | .samples')" = $((one + two)) ]
}
