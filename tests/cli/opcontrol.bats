#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# opcontrol: the machine in the background, until something else is said.
load helpers

control() {
	opcontrol --session-dir="$PWD/session" "$@"
}

teardown() {
	[ ! -e session/lock ] || opcontrol --session-dir="$PWD/session" --shutdown
	rm -rf "$NOBODY"
}

# Samples of a program in the session.
samples_of() {
	opreport --session-dir=session -n "${@:2}" 2>/dev/null | awk -v name="$1" '$3 == name { print $1; exit }'
}

@test "start, dump, save, go on, shut down" {
	need_recording
	assay record -q -a -d 50ms -o probe2 >/dev/null 2>&1 || skip "the whole machine may not be recorded here"
	run control --setup --event=cpu-clock:1000000 --separate=library
	[ "$status" = 0 ]
	grep -qx 'CHOSEN_EVENTS=cpu-clock:1000000' .oprofile/daemonrc
	control --start
	[[ "$(control --status)" == "Daemon running: pid "* ]]
	"$PROGRAMS/split" 2s >/dev/null
	control --dump
	before=$(samples_of split)
	[ "$before" -gt 0 ]
	"$PROGRAMS/split" 2s >/dev/null
	control --save=first
	[ "$(samples_of split session:first)" -gt "$before" ]
	run control --save=first
	refused 1 "there is a session 'first' already"
	control --shutdown
	[ ! -e session/lock ]
	[[ "$(control --status)" == "Daemon not running"* ]]
	control --reset
	[ ! -e session/samples/current ]
	[ -d session/samples/first ]
}

@test "what can't be is said, and ends with 1" {
	run opcontrol
	refused 1 "no action"
	run control --start --stop
	refused 1 "two actions"
	run control --stop
	refused 1 "profiling is not running"
	run control --dump
	refused 1 "nothing to dump"
	run control --event='a;b' --setup
	refused 1 "a character that is not allowed"
	run control --save=../x
	refused 1 "no name of a session"
	run control --init --vmlinux=/boot/vmlinux --buffer-size=100000
	[ "$status" = 0 ]
	[[ "$output" == *"--init: "*"--vmlinux: "*"--buffer-size: "* ]]
	run control --start --event=no-such-event:100000
	refused 1 "profiling did not start" "oprofiled.log"
	grep -q "unknown event 'no-such-event'" session/samples/oprofiled.log
	run opcontrol --list-events
	[ "$status" = 0 ]
	[[ "$output" == *"available events for CPU type"* ]]
}
