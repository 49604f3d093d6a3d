#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What can be profiled, and how recording ends.

load helpers

@test "a command is profiled by default, and what it starts" {
	need_recording
	assay record -o s -- sh -c "$PROGRAMS/split 200; $PROGRAMS/deep 2000"
	[ "$(fact s .samples)" -gt 0 ]
	[ "$(fact s .processes)" -ge 2 ]
	[ "$(fact s .lost)" = 0 ]
}

@test "the last line says samples, losses, duration and assay's own cost" {
	need_recording
	run --separate-stderr assay record -o s -- "$PROGRAMS/split" 100
	[[ "$stderr" =~ [0-9]+\ samples,\ 0\ lost,\ in\ [0-9.]+\ s:\ s,.*itself\ used ]]
	[[ "$output" == "100 rounds, "* ]]
}

@test "-q says nothing" {
	need_recording
	run --separate-stderr assay record -q -o s -- true
	[ "$status" = 0 ]
	[ "$stderr" = "" ]
}

@test "the command's exit status is assay's" {
	need_recording
	run assay record -q -o s -- sh -c 'exit 7'
	[ "$status" = 7 ]
}

@test "a command killed by a signal gives 128 and the signal's number" {
	need_recording
	run bash -c 'assay record -q -o s -- sh -c "kill -TERM \$\$"'
	[ "$status" = 143 ]
	[ "$(fact s .end.wait_status)" = 15 ]
}

@test "the command has its own terminal streams" {
	need_recording
	run bash -c 'echo in | assay record -q -o s -- sh -c "cat; echo err >&2" 2>err.txt'
	[ "$output" = in ]
	grep -qx err err.txt
}

@test "a session that exists is kept as .old" {
	need_recording
	assay record -q -o s -- echo first
	assay record -q -o s -- echo second
	assay record -q -o s -- echo third
	[ "$(fact s .command)" = "echo third" ]
	[ "$(fact s.old .command)" = "echo second" ]
}

@test "without -o the session is ./assay.data" {
	need_recording
	assay record -q -- true
	[ "$(assay info --format json | jq -r .command)" = true ]
}

@test "-p profiles all threads of a running process" {
	need_recording
	"$PROGRAMS/threads" 3s >/dev/null &
	sleep 0.3
	assay record -q -o s -p $! --duration 1.5
	kill $! || true
	[ "$(fact s .threads)" = 2 ]
	[ "$(fact s .processes)" = 1 ]
}

@test "-t profiles one thread" {
	need_recording
	"$PROGRAMS/threads" 3s >/dev/null &
	sleep 0.3
	assay record -q -o s -t "$(basename "$(find /proc/$!/task/* -maxdepth 0 | tail -1)")" --duration 1.5
	kill $! || true
	[ "$(fact s .threads)" = 1 ]
}

@test "-a profiles the whole machine for the duration" {
	run assay record -q -a -o s --duration 0.5
	[ "$status" = 0 ] || skip "the whole machine is not permitted here: $output"
	[ "$(fact s .target)" = "whole machine" ]
	fact s .duration_s | awk '{ exit !($1 >= 0.5) }'
}

@test "-C profiles only those CPUs" {
	run assay record -q -C 0 -o s --duration 0.5
	[ "$status" = 0 ] || skip "a whole CPU is not permitted here: $output"
	[ "$(fact s .samples)" -ge 0 ]
}

@test "-G profiles a control group" {
	need_root
	local group
	group=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$group" ] || skip "cgroup2 is not mounted"
	group+=/assay-test-$$
	mkdir "$group" 2>/dev/null || skip "no control group can be made here"
	bash -c "echo \$\$ >$group/cgroup.procs && exec $PROGRAMS/split 20s" >/dev/null &
	local pid=$!
	sleep 0.3
	run assay record -q -G "${group##*/}" -o s --duration 1
	kill $pid
	wait $pid || true
	rmdir "$group" || { sleep 0.5 && rmdir "$group"; }
	[ "$status" = 0 ] || skip "control groups can't be profiled here: $output"
	[ "$(fact s .processes)" = 1 ]
	[ "$(fact s .samples)" -gt 0 ]
}

@test "several events are counted at once, each with its rate" {
	need_recording
	assay record -q -o s -e cpu-clock -e page-faults:u -c 100000 -- "$PROGRAMS/split" 200
	[ "$(fact s '.events | length')" = 2 ]
	[ "$(fact s '.events[0].count')" = 100000 ]
}

@test "OProfile's event syntax is understood" {
	need_recording
	assay record -q -o s -e page-faults:500:0:0:1 -- true
	[ "$(fact s '.events[0] | "\(.count) \(.kernel) \(.user)"')" = "500 false true" ]
}

@test "--call-graph none records no chains" {
	need_recording
	assay record -q -o flat --call-graph none -- "$PROGRAMS/deep" 3000
	assay record -q -o chains -- "$PROGRAMS/deep" 3000
	[ "$(fact flat .stacks)" = none ]
	[ "$(fact chains .stacks)" = "copied stacks" ]
	[ "$(fact chains .nodes)" -ge 60 ]
}

# ended SIGNAL: records until the signal comes; the session has an end.
ended() {
	run timeout --preserve-status -s "$1" 1.2 assay record -q -o s -- "$PROGRAMS/split" 20s
	[ "$(fact s '.end != null')" = true ]
	[ "$(fact s .samples)" -gt 0 ]
}

@test "Ctrl-C ends recording cleanly, and the command with it" {
	need_recording
	ended INT
	[ "$status" = 130 ]
	[ "$(fact s .end.wait_status)" = 2 ]
}

@test "SIGTERM ends recording cleanly" {
	need_recording
	ended TERM
	[ "$status" = 143 ]
}

@test "SIGKILL of the recorder costs only the last second" {
	need_recording
	assay record -q -o s -- "$PROGRAMS/split" 20s >/dev/null &
	local recorder=$! child
	sleep 3.2
	child=$(ps -o pid= --ppid $recorder)
	kill -KILL $recorder
	kill "$child"
	wait $recorder || true
	[ "$(fact s '.end == null')" = true ]
	fact s .last_sample_s | awk '{ exit !($1 > 1) }'
	[ "$(fact s .lost)" = 0 ]
}

@test "a session can be read while it is being written" {
	need_recording
	assay record -q -o s -- "$PROGRAMS/split" 20s >/dev/null &
	local recorder=$!
	sleep 2.5
	fact s .samples >while
	kill $recorder
	wait $recorder || true
	[ "$(cat while)" -gt 0 ]
	[ "$(fact s .samples)" -gt "$(cat while)" ]
}

@test "a target that ends at once gives a session without samples" {
	need_recording
	run assay record -o s -e page-faults -c 1000000 -- true
	[ "$status" = 0 ]
	[[ "$output" == *"0 samples, 0 lost"* ]]
	[ "$(fact s .samples)" = 0 ]
}

@test "10,000 forks are followed without a loss" {
	need_recording
	assay record -q -o s -- "$PROGRAMS/forks" 10000
	[ "$(fact s .lost)" = 0 ]
	[ "$(fact s .end.wait_status)" = 0 ]
}

@test "what processes shorter than a sampling period lack is said, with what has it" {
	need_recording
	run assay record -F 499 -o s -- "$PROGRAMS/forks" 10000
	[ "$status" = 0 ]
	[[ "$output" == *"threads that live shorter than a sampling period get none; sample the whole machine (-a)"* ]]
	[ "$(fact s .losses.unsampled)" -gt 0 ]
}
