#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The hosts of a fleet added up (assay fleet merge): the same answers, from one part a day.
load helpers
load fleet_hosts

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR TZ=UTC0
}

# Three hosts of the last three days. Two have samples at the begin of each hour.
three_hosts() {
	local host
	assay record -q -F 997 -o split "$PROGRAMS/split" 0.4cpu
	assay record -q -F 997 -o deep "$PROGRAMS/deep" 0.4cpu
	start=$(($(date +%s) / 86400 * 86400 - 3 * 86400))
	for host in web1 web2; do
		"$ASSAY_BUILD/bench/thin" --hourly store $host $start 190000 "${host#web}" \
			split=0.3=split "deep-$host=0.2=deep" >/dev/null
		ship_store $host
	done
	"$ASSAY_BUILD/bench/thin" store db1 $((start + 80000)) 40000 7 split=0.3=split >/dev/null
	ship_store db1
}

ship_store() { # HOST
	assay ship --to dir:fleet --once -q --host "$1" store
	rm -rf store
}

# The answers of a fleet to questions without hosts: answers FLEET [OPTION…]
answers() {
	local fleet=$1
	shift
	assay report -i "$fleet" -l --idle --format json "$@" |
		jq -c '[.header.samples.selected, .header.events, .header.hosts, .header.start, .header.duration_seconds, .header.losses, (.rows | map([.symbol, .samples, .total]) | sort)]'
	assay report -i "$fleet" --by service --idle --format json "$@" | jq -c '.rows | map([.service, .samples]) | sort'
	assay report -i "$fleet" --by service,symbol --idle --format json service:deep-web1 "$@" | jq -c '.rows | map([.symbol, .samples]) | sort'
	assay export -i "$fleet" --idle --format folded --weight samples "$@" | sort
	assay report -i "$fleet" --series --step 3600 --weight samples --idle --format json "$@" |
		jq -c '[.steps, (.series | map([.comm, .samples, .values]) | sort)]'
}

same_answers() { # [OPTION…]: with the sums, and without
	answers fleet "$@" >with
	[ -s with ]
	mv fleet/.sums sums
	answers fleet "$@" >without
	mv sums fleet/.sums
	diff with without
}

# Nothing of the hosts' parts can be read any more, but nobody can tell.
spoil_hosts() {
	local file
	for file in fleet/*/2*/samples/current/*.segment; do
		cp -p "$file" "$file.old"
		dd if=/dev/zero of="$file" bs="$(stat -c %s "$file")" count=1 conv=notrunc status=none
		touch -r "$file.old" "$file"
	done
}

mend_hosts() {
	local file
	for file in fleet/*/2*/samples/current/*.segment.old; do
		mv "$file" "${file%.old}"
	done
}

@test "sums of hosts give the answers of their blocks, in any window" {
	three_hosts
	answers fleet >before
	run assay fleet merge fleet
	echo "$output"
	[ "$status" = 0 ]
	[[ "$output" == *" parts of hosts were added up"* ]]
	answers fleet | diff before -
	same_answers
	same_answers --since "@$((start + 40000))" --until "@$((start + 100000))"
	same_answers --since "@$((start + 90061))" --until "@$((start + 150007))"
	same_answers --since "@$((start + 21600))" --until "@$((start + 25200))"
	assay fleet audit fleet
	# They are read: the parts of the hosts have nothing any more.
	answers fleet >whole
	spoil_hosts
	answers fleet | diff whole -
	[ "$(assay report -i fleet --by host --format json 2>/dev/null | jq '.rows | length')" != 3 ]
	mend_hosts
	# Nothing is to be done twice.
	run assay fleet merge fleet
	[ -z "$output" ]
}

@test "hosts keep their names, and filters of them are exact beside sums" {
	three_hosts
	by_host() {
		assay report -i fleet --by host,service --idle --format json | jq -c '.rows | map([.host, .service, .samples]) | sort'
		assay report -i fleet --idle --format json 'host:web*' | jq -c '[.header.samples.selected, .header.hosts]'
	}
	by_host >before
	assay fleet merge fleet
	by_host | diff before -
}

@test "blocks that come later count at once, and sums grow" {
	three_hosts
	late=$(find fleet/web1 -maxdepth 1 -name '2*T*' | sort | sed -n '5p;40p')
	mkdir late
	# shellcheck disable=SC2086 # two names
	mv $late late
	assay fleet merge fleet
	first=$(answers fleet)
	mv late/2* fleet/web1
	answers fleet >with
	[ "$(cat with)" != "$first" ]
	same_answers
	assay fleet merge fleet
	answers fleet | diff with -
	same_answers
	spoil_hosts
	answers fleet | diff with -
}

@test "sums that are damaged or stale are not read, and made again" {
	three_hosts
	assay fleet merge fleet
	answers fleet >before
	for file in fleet/.sums/*/sources fleet/.sums/*/samples/current/*.segment; do
		cp -p "$file" kept
		printf X | dd of="$file" bs=1 seek=$(($(stat -c %s kept) / 2)) conv=notrunc status=none
		answers fleet | diff before -
		cp -p kept "$file"
		truncate -s -100 "$file"
		answers fleet | diff before -
	done
	run assay fleet merge fleet
	[[ "$output" == *" sums did not fit any longer, and were removed"* ]]
	[[ "$output" == *" parts of hosts were added up"* ]]
	answers fleet | diff before -
	# A part of a host is gone.
	gone=$(find fleet/db1 -maxdepth 1 -name '2*T*' | sort | head -1)
	mv "$gone" gone
	answers fleet >without
	! diff -q before without || false
	mv gone "$gone"
	answers fleet | diff before -
}

@test "parts that a merge could not remove are in no sums twice" {
	three_hosts
	cp -a fleet/web1 kept
	assay fleet merge fleet
	rm -rf fleet/.sums
	# A merge was stopped before it removed them. Then the host was busy.
	cp -a kept/2* fleet/web1
	answers fleet >before
	flock fleet/web1 assay fleet merge fleet
	answers fleet | diff before -
	same_answers
	assay fleet merge fleet
	answers fleet | diff before -
	same_answers
}

@test "forget removes the sums that have the host" {
	three_hosts
	assay fleet merge fleet
	grep -q '^db1 ' fleet/.sums/*/sources
	assay fleet forget fleet db1
	run -1 grep '^db1 ' fleet/.sums/*/sources
	assay fleet merge fleet
	same_answers
	[ "$(assay report -i fleet --format json | jq .header.hosts.asked)" = 2 ]
}

by_service() {
	assay report -i fleet --by service --idle --format json | jq -c '.rows | map([.service, .samples]) | sort | .[]'
}

@test "of a forgotten service, the number of its samples stays, and nothing else" {
	three_hosts
	late=$(find fleet/web1 -maxdepth 1 -name '2*T*' | sort | tail -1)
	mv "$late" late
	assay fleet merge fleet
	mv late "$late"
	by_service >before
	grep -q '^\["deep-web1",' before
	n=$(sed -n 's/^\["deep-web1",\(.*\)\]$/\1/p' before)
	run assay fleet forget fleet service:deep-web1
	echo "$output"
	[ "$status" = 0 ]
	[[ "$output" == *"$n samples of deep-web1 are unknown now"* ]]
	{ grep -v deep-web1 before && echo "[\"[forgotten]\",$n]"; } | sort >wanted
	by_service | sort | diff wanted -
	[ "$(assay report -i fleet -l --format json 'service:[forgotten]' | jq -c '.rows | map(.symbol)')" = '["(forgotten)"]' ]
	run -1 assay report -i fleet service:deep-web1
	# The functions of the program are known of the other host alone.
	[ "$(assay report -i fleet/web1 -l --format json | jq -c '[.rows[].symbol | select(startswith("deep"))]')" = '[]' ]
	assay fleet audit fleet
	grep -q 'forget service:deep-web1$' fleet/.log
	assay fleet merge fleet
	same_answers
	by_service | sort | diff wanted -
	assay fleet audit fleet
	# Once more, there is nothing to do.
	run assay fleet forget fleet service:deep-web1
	[[ "$output" == *" 0 samples of deep-web1 are unknown now, in 0 parts"* ]]
	run -2 assay fleet forget fleet 'service:*'
	[[ "$output" == *"is not the name of one service"* ]]
}
