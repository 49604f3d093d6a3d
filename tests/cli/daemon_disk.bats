#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# A daemon whose disk takes nothing for a while: a file system of its own, that is frozen.
load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR
	need_root
	run assay record -a -e cpu-clock --duration 0.1 -o probe.assay
	[ "$status" = 0 ] || skip "the whole machine is not to be sampled here: $output"
	command -v mkfs.ext4 fsfreeze >/dev/null || skip "no mkfs.ext4, or no fsfreeze"
	truncate -s 32M image
	mkdir disk
	{ mkfs.ext4 -q image && mount -o loop image disk; } 2>/dev/null || skip "no mount here"
}

teardown() {
	! mountpoint -q disk 2>/dev/null || fsfreeze -u disk 2>/dev/null || true
	[ -z "${daemon-}" ] || kill -9 "$daemon" 2>/dev/null || true
	[ -z "${busy-}" ] || kill -9 "$busy" 2>/dev/null || true
	! mountpoint -q disk 2>/dev/null || umount -l disk
	rm -rf "$NOBODY"
}

# Waits until a command succeeds.
becomes() {
	for _ in {1..300}; do
		! "$@" || return 0
		sleep 0.1
	done
	echo "never: $*"
	cat daemon.log
	return 1
}

number() { assay ctl --session-dir disk/d status --format json | grep -Eo "\"$1\": ?[0-9]+" | grep -Eo '[0-9]+$'; }
has_more_than() { [ "$(number samples)" -gt "$1" ]; }
dumps() { assay ctl --session-dir disk/d dump 2>said; }
dump_says() { ! dumps && grep -q "$1" said; }

@test "a disk that blocks keeps no one waiting, and loses nothing" {
	assay daemon --session-dir disk/d -e cpu-clock 2>daemon.log 3>&- &
	daemon=$!
	"$PROGRAMS/split" 100s 3>&- &
	busy=$!
	becomes dumps
	fsfreeze -f disk || skip "this file system can't be frozen"
	becomes dump_says "the disk has not taken yet what was stored before"
	before=$(number samples)
	becomes has_more_than $((before + 100))
	[ "$(number lost)" = 0 ]
	# A part that ends would wait for the disk, too: it goes on.
	run assay ctl --session-dir disk/d save kept
	[ "$status" != 0 ]
	fsfreeze -u disk
	becomes dumps
	[ "$(number lost)" = 0 ]
	run assay report --session-dir disk/d --format json
	[ "$status" = 0 ]
	n=$(python3 -c 'import json, sys; print(json.loads(sys.argv[1])["header"]["samples"]["selected"])' "$output")
	echo "$n of $before"
	[ "$n" -gt $((before + 100)) ]
	kill "$daemon"
	wait "$daemon"
	run ! grep -q "is stored until" daemon.log
}
