#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What an ordinary user sees.

load helpers

@test "a user can profile a command of his own" {
	[ -r "$PARANOID_FILE" ] && [ "$(cat "$PARANOID_FILE")" -le 2 ] ||
		skip "needs kernel.perf_event_paranoid of 2 or less"
	need_recording
	run unprivileged assay record -o c.assay -- python3 -c 'print(sum(i * i for i in range(3000000)))'
	refused 0 8999995500000500000 samples
}

@test "at paranoid 2 a user's profile is of user mode, and it says so" {
	need_recording
	set_paranoid 2
	run unprivileged assay record -o c.assay -- python3 -c 'sum(i * i for i in range(3000000))'
	refused 0 samples "user"
	run unprivileged assay info --format json c.assay
	[[ "$output" == *'"kernel": false'* ]]
}

@test "at paranoid 2 the whole machine is refused with the way out" {
	need_recording
	set_paranoid 2
	run unprivileged assay record -a -o c.assay --duration 0.2
	refused 1 perf_event_paranoid sysctl
}

@test "a process of somebody else is refused" {
	need_root
	need_recording
	run unprivileged assay record -p 1 -o c.assay --duration 0.2
	refused 1 "another user's"
}

@test "another user's session is refused by name" {
	need_root
	need_recording
	unprivileged true
	assay record -q -o "$NOBODY/private" -- true
	run unprivileged assay info private
	refused 1 "permission denied"
}

@test "doctor shows an ordinary user the possible targets" {
	run unprivileged assay doctor
	[ "$status" -le 1 ]
	[[ "$output" == *"perf_event_paranoid"* ]]
}
