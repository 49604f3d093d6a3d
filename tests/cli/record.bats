#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The targets of a recording, and its end.

load helpers

@test "a command and its children are profiled by default" {
	need_recording
	assay record -o s -- sh -c "'$PROGRAMS/split' 0.1cpu; '$PROGRAMS/deep' 0.1cpu"
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

# Starts a program of two threads that both work; main() waits for them.
start_threads() {
	background "$PROGRAMS/threads" 100000s >/dev/null
	all_run() { [ "$(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 | wc -l)" = 3 ]; }
	wait_for all_run
}

@test "-p profiles all threads of a running process" {
	need_recording
	start_threads
	two_threads() { [ "$(fact s .threads 2>/dev/null)" = 2 ]; }
	record_until two_threads -q -o s -p "$pid"
	[ "$(fact s .threads)" = 2 ]
	[ "$(fact s .processes)" = 1 ]
}

# The other thread has one or three quarters of the time. If it were profiled, the probability to miss it in
# 100 samples would be below 10^-12.
@test "-t profiles one thread" {
	need_recording
	start_threads
	record_samples 100 s "" -q -t "$(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -n | tail -1)"
	[ "$(fact s .threads)" = 1 ]
}

@test "-a profiles the whole machine for the duration" {
	run assay record -q -a -o s --duration 0.5
	[ "$status" = 0 ] || skip "the whole machine is not permitted here: $output"
	[ "$(fact s .target)" = "whole machine" ]
	[ "$(fact s '.duration_s >= 0.5')" = true ]
}

@test "-C profiles only those CPUs" {
	local cpus
	cpus=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
	run assay record -q -C "$cpus" -o s --duration 0.1
	[ "$status" = 0 ] || skip "a whole CPU is not permitted here: $output"
	background taskset -c "$cpus" "$PROGRAMS/split" 100000s >/dev/null
	record_samples 10 s "" -q -C "$cpus"
	[ "$(assay report -i s --by cpu --format json | jq -r '[.rows[].cpu] | unique | join(" ")')" = "$cpus" ]
}

# A failed test leaves no group, either.
teardown() {
	end_test
	[ -z "${GROUP-}" ] || wait_for rmdir "$GROUP"
}

@test "-G profiles a control group" {
	need_root
	local top
	top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$top" ] || skip "cgroup2 is not mounted"
	mkdir "$top/assay-test-$$" 2>mkdir.log || skip "no control group can be made here: $(tail -1 mkdir.log)"
	GROUP=$top/assay-test-$$
	# shellcheck disable=SC2016 # the inner shell's
	background bash -c 'echo $$ >"$1/cgroup.procs" && exec "$2" 100000s' bash "$GROUP" "$PROGRAMS/split" >/dev/null
	is_running "$pid" split
	run assay record -q -G "${GROUP##*/}" -o probe --duration 0.1
	[ "$status" = 0 ] || skip "control groups can't be profiled here: $output"
	record_samples 10 s "" -q -G "${GROUP##*/}"
	[ "$(fact s .processes)" = 1 ]
	[ "$(fact s .samples)" -gt 0 ]
}

@test "several events are counted at once, each with its rate" {
	need_recording
	assay record -q -o s -e cpu-clock -e page-faults:u -c 100000 -- "$PROGRAMS/split" 1
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
	assay record -q -o flat --call-graph none -- "$PROGRAMS/deep" 0.2cpu
	assay record -q -o chains -- "$PROGRAMS/deep" 0.2cpu
	[ "$(fact flat .stacks)" = none ]
	[ "$(fact chains .stacks)" = "copied stacks" ]
	[ "$(fact chains .nodes)" -ge 60 ]
}

# ended SIGNAL: records until the signal comes to assay and its command, as from a terminal; the
# session has an end.
ended() {
	set -m # a separate job, because other jobs in the background ignore Ctrl-C
	background assay record -q -o s -- "$PROGRAMS/split" 100000s >/dev/null
	set +m
	wait_for has_samples 1 s
	kill -"$1" -- -"$pid"
	status=0
	wait "$pid" || status=$?
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

@test "SIGKILL of the recorder only costs samples that were not written yet" {
	need_recording
	background assay record -q -o s -- "$PROGRAMS/split" 100000s >/dev/null
	two_seconds() { [ "$(fact s '.last_sample_s > 2' 2>/dev/null)" = true ]; }
	wait_for two_seconds
	written=$(fact s .samples)
	[ "$(fact s '.end == null')" = true ]
	child=$(pgrep -P "$pid" -x split) # beside it there may be a process that reads files
	kill -KILL "$pid"
	kill "$child"
	wait "$pid" || true
	[ "$(fact s '.end == null')" = true ]
	[ "$(fact s .samples)" -ge "$written" ]
	[ "$(fact s '.last_sample_s > 2')" = true ]
	[ "$(fact s .lost)" = 0 ]
}

@test "a session can be read while it is being written" {
	need_recording
	background assay record -q -o s -- "$PROGRAMS/split" 100000s >/dev/null
	wait_for has_samples 1 s
	seen=$(fact s .samples)
	[ "$seen" -gt 0 ]
	wait_for has_samples $((seen + 1)) s
	kill "$pid"
	wait "$pid" || true
	[ "$(fact s .samples)" -gt "$seen" ]
}

@test "a target that ends at once gives a session without samples" {
	need_recording
	run assay record -o s -e page-faults -c 1000000 -- true
	[ "$status" = 0 ]
	[[ "$output" == *"0 samples, 0 lost"* ]]
	[ "$(fact s .samples)" = 0 ]
}

# The shell becomes a sleep, which never waits for its child.
@test "a target that ends is gone, also if its parent does not wait for it" {
	need_recording
	is_zombie() { grep -q '^State:.Z' "/proc/$zombie/status"; }
	background bash -c '"$1" 1000s & echo $! >child; exec sleep 1000' bash "$PROGRAMS/split"
	wait_for test -s child
	zombie=$(<child)
	background assay record -q -o s -p "$zombie"
	local recorder=$pid
	background assay stat -I 0.1 -o counts -e task-clock -p "$zombie"
	wait_for has_samples 1 s
	wait_for test -s counts
	kill "$zombie"
	wait_for is_zombie
	wait_for so_or_ended "$recorder" false
	wait_for so_or_ended "$pid" false
}

@test "a command with too few events for a sample gives a note, for each event" {
	run assay record -e page-faults -c 1000000 -o s.assay -- true
	refused 0 "the command had too few events of 'page-faults' for a sample" "a smaller period (-c)"
	run assay record -e cpu-clock -c 100000000000 -o s.assay -- true
	refused 0 "the command used too little time for a sample"
}

@test "10,000 forks are followed without a loss" {
	need_recording
	assay record -q -o s -- "$PROGRAMS/forks" 10000
	[ "$(fact s .lost)" = 0 ]
	[ "$(fact s .end.wait_status)" = 0 ]
}

@test "missing samples of processes shorter than a sampling period give a note with the remedy" {
	need_recording
	# The kernel counts CPU time in ticks: by chance, it counts little of one run.
	for _ in 1 2 3 4; do
		run assay record -F 499 -o s -- "$PROGRAMS/forks" 1000
		[ "$status" = 0 ]
		[[ "$output" != *"live shorter"* ]] || break
		rm -rf s
	done
	[[ "$output" == *"Threads that live shorter than a sampling period get no sample. Sample the whole machine (-a)"* ]]
	[ "$(fact s .losses.unsampled)" -gt 0 ]
}

@test "children that ran before -p began give a note, and are profiled with --children" {
	need_recording
	background sh -c '"$0" 100000s; true' "$PROGRAMS/split"
	wait_for pgrep -P "$pid" split
	run assay record -o without --duration 1 -p "$pid"
	[ "$status" = 0 ]
	[[ "$output" == *"1 process below them, such as $(pgrep -P "$pid" split), used "*"and was not profiled"*"add --children"* ]]
	assay record -q -o with --duration 1 -p "$pid" --children
	[ "$(samples_of with 'app:*/split')" -gt 0 ]
	run assay record -o s --children -- true
	refused 2 "--children is for -p"
}

@test "a session that is deleted while assay writes it is an error" {
	local recorder
	need_recording
	background "$PROGRAMS/split" 100000s
	background assay record -o gone -e cpu-clock -p "$pid" 2>err
	recorder=$pid
	wait_for has_samples 1 gone
	rm -rf gone
	kill "$recorder"
	status=0
	wait "$recorder" || status=$?
	[ "$status" = 1 ]
	has "gone/samples/current/0000.segment was deleted while assay wrote it" err
	not grep -q "higher rate" err
}

@test "a full disk is reported while it is full, and so is its end" {
	need_recording
	need_root
	mkdir small
	mount -t tmpfs -o size=1m none small || skip "no mount here"
	head -c 900k /dev/zero >small/fill
	background "$PROGRAMS/split" 100000s >/dev/null
	background assay record -o small/s -e page-faults,cpu-clock -F "$(at_most 997)" -p "$pid" 2>err
	wait_for has_samples 1 small/s
	head -c 1M /dev/zero >>small/fill 2>/dev/null || true
	wait_for grep -q "samples are lost until this ends" err
	rm small/fill
	wait_for grep -q "the session is written again" err
	kill "$pid"
	wait "$pid" || true
	assay report -i small/s >said.txt
	has "the session could not be written" said.txt
	umount -l small
}

@test "the limit of open files is an error with its remedy" {
	need_recording
	for n in 6 8 10; do
		run bash -c "ulimit -n $n; exec assay record -o s -p $$ --duration 0.1"
		[ "$status" = 0 ] || refused 1 "the limit of $n open files is reached; root raises it, with 'ulimit -n 1024'"
	done
	run bash -c "ulimit -n 6; exec assay record -o s -p $$ --duration 0.1"
	refused 1 "the limit of 6 open files is reached"
}

@test "a command that executes a set-uid program gives a note about its few samples" {
	need_recording
	[ "$(id -u)" = 0 ] || skip "needs root, to make a set-uid program"
	mkdir -m 777 "$NOBODY"
	cp "$PROGRAMS/split" "$NOBODY/other"
	chown 1 "$NOBODY/other"
	chmod 4755 "$NOBODY/other"
	cd "$NOBODY"
	run setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$NOBODY" "PATH=$PATH" assay record -o s -- ./other 0.5cpu
	[ "$status" = 0 ]
	[[ "$output" == *"1 process executed a program with other rights (other: set-uid"* ]]
	[[ "$output" != *"interrupts came too late"* ]]
	[[ "$output" != *"too little time"* ]]
	[ "$(fact s .losses.protected)" = 1 ]
	run assay report -i s
	refused 1 "the session has no samples: the kernel ended the counters where a program with other rights"
}

@test "a program that runs from a memfd has its names" {
	local program
	need_recording
	gcc -O1 -o plain -Wl,--build-id=none "$ROOT/tests/programs/split.c" -lpthread
	for program in "$PROGRAMS/split" ./plain; do
		rm -rf s
		assay record -q -o s -- python3 -c '
import os, sys
fd = os.memfd_create("inside", 0)
os.write(fd, open(sys.argv[1], "rb").read())
os.execve(f"/proc/self/fd/{fd}", ["split", "0.5cpu"], os.environ)' "$program"
		assay report -i s -l --format json >s.json
		jq -es '.[0].rows | map(select(.image | test("memfd:inside"))) | [(.[] | select(.symbol == "forty")).samples, (map(.samples) | add)] |
			.[0] * 100 / .[1] | . > 25 and . < 55' s.json
	done
}
