#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What an ordinary user's program does to root's recording of the machine by doing much of one thing.

load helpers

setup_file() {
	[ "$(id -u)" = 0 ] || skip "needs root, whose assay is attacked by another user"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR
	need_recording
	FLOOD=$(mktemp -d)
	cp "$PROGRAMS/hostile" "$FLOOD"
	chmod 777 "$FLOOD"
}

teardown() {
	end_test
	[ -z "${FLOOD:-}" ] || rm -rf "$FLOOD"
}

flood() {
	background setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'cd "$1" && shift && exec ./hostile "$@"' sh "$FLOOD" "$@"
}

# shellcheck disable=SC2317,SC2329 # record_until calls them
has_unnamed_files() {
	[ "$(fact s '.losses."files-unnamed" // 0')" -gt 0 ]
}

@test "a flood of names of files takes limited memory, with the reason" {
	flood names
	record_until has_unnamed_files -q -a -o s
	[ "$(fact s .end.own_peak_bytes)" -lt 300000000 ]
	assay report -i s >out
	grep -q 'mapped files without a name' out
}
