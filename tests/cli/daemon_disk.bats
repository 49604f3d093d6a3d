#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# A daemon whose disk stops for a while: a separate file system, which is frozen.
load helpers
load daemon

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR
	need_daemon
	command -v mkfs.ext4 >/dev/null || skip "mkfs.ext4 is not installed"
	command -v fsfreeze >/dev/null || skip "fsfreeze is not installed"
	truncate -s 32M image
	mkdir disk
	{ mkfs.ext4 -q image && mount -o loop image disk; } 2>/dev/null || skip "no mount of a loop device here"
}

teardown() {
	[[ -n ${BATS_TEST_COMPLETED-} ]] || cat daemon.log 2>/dev/null || true
	! mountpoint -q disk 2>/dev/null || fsfreeze -u disk 2>/dev/null || true
	end_test
	! mountpoint -q disk 2>/dev/null || umount -l disk
}

number() {
	status_of disk/d ".$1"
}

has_more_than() {
	[ "$(number samples)" -gt "$1" ]
}

has_stored() {
	[ "$(total_of disk/d)" -gt "$1" ]
}

# Without patience: whoever has some is answered when the disk is well.
is_refused() { # REQUEST…
	! assay ctl --session-dir disk/d --timeout 0.5 "$@" 2>said &&
		grep -q "the disk is slow and has not stored the earlier data yet" said
}

all_is_lost() { # MORE_THAN
	[ "$(number lost)" -gt "$1" ]
}

@test "losses have reasons, and so has the loss at the end of a session on a full disk" {
	start_daemon disk/d -e cpu-clock --max-cpu 0
	work
	ask disk/d dump
	dd if=/dev/zero of=disk/full bs=4k 2>/dev/null || true
	wait_for all_is_lost 0
	parts=$(number parts)
	ask disk/d set events=page-faults,cpu-clock
	wait_for begun_anew "$parts"
	[ "$(number 'lost - (.lost_by_reason | add)')" = 0 ]
}

begun_anew() { # PARTS
	[ "$(number parts)" -gt "$1" ] && [ "$(number 'events | length')" = 2 ]
}

@test "a disk that blocks keeps no one waiting, and loses nothing" {
	start_daemon disk/d -e cpu-clock --max-cpu 0
	work
	ask disk/d dump
	fsfreeze -f disk || skip "this file system can't be frozen"
	wait_for is_refused dump
	before=$(number samples)
	wait_for has_more_than $((before + 100))
	[ "$(number 'lost_by_reason["disk-full"] // 0')" = 0 ]
	# A part that ends would wait for the disk, too: it goes on.
	wait_for is_refused save kept
	# It reads its settings later, and changes its rate in a later part.
	kill -HUP "$daemon"
	wait_for grep -q "the settings are read as soon as the disk has stored the earlier data" daemon.log
	[ "$(grep -c "the settings were read again" daemon.log)" = 0 ]
	ask disk/d dump 3>&- &
	patient=$!
	fsfreeze -u disk
	wait "$patient"
	wait_for grep -q "the settings were read again" daemon.log
	[ "$(number 'lost_by_reason["disk-full"] // 0')" = 0 ]
	wait_for has_stored $((before + 100))
	end_daemon
	# All that was counted, before and after, is there.
	[ "$(total_of disk/d)" = "$(counted_in_all)" ]
	run ! grep "is stored until" daemon.log
}
