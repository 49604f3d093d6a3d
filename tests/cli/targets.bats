#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Targets by name: a user's processes, processes with a name, systemd's units, containers.

load helpers

ID=3f0c4f1e2d9b8a7c6e5f40312a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b

setup_file() {
	export OTHER=$((55000 + $$ % 5000)) # a user that nothing else has: the tests of daemons have 54321
}

# A busy program with a name of its own: $NAME.
busy_name() {
	NAME=bu$$y
	cp "$PROGRAMS/split" "$NAME"
	chmod 755 . "$NAME"
}

need_group() {
	need_root
	need_recording
	MOUNT=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$MOUNT" ] || skip "cgroup2 is not mounted"
	TOP=$MOUNT/assaytest$$.slice
	GROUP=$TOP/$1
	mkdir "$TOP" "$GROUP" 2>mkdir.log || skip "cgroups can't be made here: $(tail -1 mkdir.log)"
	# shellcheck disable=SC2016 # the inner shell's
	bash -c 'echo $$ >"$1/cgroup.procs"' bash "$GROUP" 2>move.log ||
		skip "no process can be moved into a cgroup here: $(tail -1 move.log)"
	run assay record -G "${GROUP#"$MOUNT"}" --duration 0.01 -o probe.assay
	[ "$status" = 0 ] || skip "no counters of cgroup2 here: $output"
}

in_group() {
	# shellcheck disable=SC2016 # the inner shell's
	background bash -c 'echo $$ >"$1/cgroup.procs" && exec "${@:2}"' bash "$GROUP" "$@"
	wait_for grep -q "^$pid\$" "$GROUP/cgroup.procs"
}

remove_group() {
	rmdir "$1" 2>/dev/null || { xargs -r kill -9 <"$1/cgroup.procs" 2>/dev/null; false; }
}

teardown() {
	end_test
	for group in ${GROUP:+"$GROUP" "$TOP"}; do
		[ ! -d "$group" ] || wait_for remove_group "$group"
	done
}

only_processes() { # SESSION COMM: it has samples of this process name, and of no other
	assay report -i "$1" --by comm --format json | jq -r '.rows[].comm' | sort -u >comms
	[ "$(cat comms)" = "$2" ]
}

@test "--comm by BPF takes processes that begin later, and no others" {
	need_sampler
	busy_name
	assay record -o s --comm "bu*y" -- sh -c "'$PROGRAMS/split' 0.2cpu; ./$NAME 0.2cpu" 2>messages
	grep -q "processes named bu\*y: none runs now; those that begin later are profiled" messages
	only_processes s "$NAME"
	[ "$(fact s .target)" = "processes named bu*y" ]
}

@test "--user takes the processes of an effective user alone" {
	need_sampler
	busy_name
	assay record -o s --user "$OTHER" -- sh -c \
		"'$PROGRAMS/split' 0.2cpu; setpriv --reuid $OTHER --clear-groups ./$NAME 0.2cpu"
	has_samples 1 s "comm:$NAME"
	[ "$(samples_of s comm:split)" = 0 ]
	# Both together: processes with both.
	assay record -o t --user "$OTHER" --comm 'no-such*' -- \
		sh -c "setpriv --reuid $OTHER --clear-groups ./$NAME 0.1cpu" || [ "$?" = 1 ]
	[ "$(fact t .samples)" = 0 ]
}

@test "waits of a user's processes alone, also those from before" {
	need_sampler
	run assay record --off-cpu -o probe -- true
	[ "$status" = 0 ] || skip "$output"
	background setpriv --reuid "$OTHER" --clear-groups -- sleep 1000
	wait_for has_comm "$pid" sleep
	background sleep 1001
	wait_for has_comm "$pid" sleep
	assay record --off-cpu -u "$OTHER" -o s --duration 0.2
	[ "$(assay report -i s --by pid --format json event:off-cpu:sleep | jq '.rows | length')" = 1 ]
	[ "$(assay report -i s --by comm --format json event:off-cpu:sleep | jq -r '.rows[0].comm')" = sleep ]
}

@test "by rings, names are the processes that run now, and a message says so" {
	need_recording
	busy_name
	background "./$NAME" 1000s
	wait_for has_comm "$pid" "$NAME"
	record_samples 10 s "" --collector=perf --comm "$NAME"
	[[ "$output" == *"processes named $NAME: 1 runs now. Of those that begin later, only children of these are profiled"* ]]
	only_processes s "$NAME"
	run assay record -o none --collector=perf --comm 'no-such*' --duration 0.1
	refused 1 "no process runs at present: processes named no-such*"
}

@test "the processes of a unit, by rings and by BPF" {
	need_group "busy$$.service"
	need_sampler
	busy_name
	in_group "$PWD/$NAME" 1000s
	background "$PROGRAMS/split" 1000s
	for collector in perf bpf; do
		record_samples 10 "$collector" "" --collector="$collector" --unit "busy$$"
		only_processes "$collector" "$NAME"
		[ "$(fact "$collector" .target)" = "unit busy$$" ]
	done
	run assay record -o s --unit "busy$$.slice" --duration 0.1
	refused 1 "is of a unit 'busy$$.slice': it does not run, or has another name"
}

@test "waits in a container alone" {
	need_group "docker-$ID.scope"
	need_sampler
	run assay record --off-cpu -o probe -- true
	[ "$status" = 0 ] || skip "$output"
	in_group sleep 1000
	wait_for has_comm "$pid" sleep
	in_group "$PROGRAMS/waits" 1000s
	background sleep 1001
	assay record --off-cpu -o s --container "${ID:0:12}" --duration 0.5
	assay report -i s --by comm --format json 'event:off-cpu:sleep' | jq -r '.rows[].comm' | sort -u >comms
	grep -qx sleep comms
	[ "$(assay report -i s --by pid --format json event:off-cpu:sleep comm:sleep | jq '.rows | length')" = 1 ]
	[ "$(samples_of s event:off-cpu:sleep container:"${ID:0:12}")" -gt 0 ]
	[ "$(fact s .target)" = "container ${ID:0:12}" ]
}

@test "stat and trace take names and --children" {
	need_recording
	busy_name
	background sh -c "./$NAME 1000s; true"
	parent=$pid
	wait_for pgrep -P "$parent" "$NAME"
	[ "$(assay stat --comm "$NAME" -e task-clock -d 0.2 --format json | jq '.counts[0].count > 0')" = true ]
	[ "$(assay stat -p "$parent" -e task-clock -d 0.2 --format json | jq '.counts[0].count')" = 0 ]
	[ "$(assay stat -p "$parent" --children -e task-clock -d 0.2 --format json | jq '.counts[0].count > 0')" = true ]
	run assay stat --comm "$NAME" -p "$parent" -d 0.1
	refused 2 "exclude each other"
	kill_background
	background "./$NAME" 2cpu
	wait_for has_comm "$pid" "$NAME"
	run assay trace --comm "$NAME" --source samples
	[[ "$output" == *main* ]]
	run assay trace --comm no-such-name --source samples
	refused 1 "no process runs at present"
}

@test "names that do not go together, or that nothing can have" {
	run assay record --comm a -a
	refused 2 "exclude each other"
	run assay record --unit a --container b
	refused 2 "exclude each other"
	run assay record --user no-such-user
	refused 2 "there is no user 'no-such-user' on this machine"
	run assay record --comm 0123456789012345678901234567890123456789
	refused 2 "no process has such a long name"
	run assay top --children --comm x
	[ "$status" != 0 ]
}
