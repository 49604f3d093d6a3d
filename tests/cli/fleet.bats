#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Blocks, which leave the machine.
load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR TZ=UTC0
}

# A history of one recording: history_of SESSION DIR
history_of() {
	mkdir -p "$2/samples/current"
	cp -r "$1" "$2/samples/current/$(date -u -d "@$(stat -c %Y "$1")" +%Y%m%dT%H%M%S.000Z)"
}

stacks() {
	assay export -i "$1" --format folded --weight samples | sort
}

@test "blocks have the stacks of the recording, without addresses and command lines" {
	assay record -o rec "$PROGRAMS/split" 0.5s secret-argument
	history_of rec store
	run assay retain store --level functions -o blocks
	[ "$status" = 0 ]
	[[ "$output" == *"0 were there"* ]]
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

@test "blocks that are there are not made again, and a block is a part of a history" {
	"$ASSAY_BUILD/bench/history" store 2 20000 400
	assay retain store --level functions -o blocks -q
	n=$(ls blocks | wc -l)
	[ "$n" -ge 12 ]
	run assay retain store --level functions -o blocks
	[[ "$output" == *"0 blocks made, $n were there"* ]]
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
