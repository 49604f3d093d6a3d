#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What keeps a user from profiling, as containers have it: record, stat, top and doctor give one reason.

load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR
	need_root
	need_recording
}

# in_mount_namespace COMMANDS: with private mounts, which no other process sees.
in_mount_namespace() {
	unshare -m --propagation private true 2>/dev/null || skip "needs mount namespaces (unshare -m)"
	PROGRAMS=$PROGRAMS unshare -m --propagation private bash -uc "$1"
}

without_capability() { # NAME COMMAND…
	local name=$1
	shift
	command -v setpriv >/dev/null || skip "setpriv is not installed"
	setpriv --inh-caps "-$name" --bounding-set "-$name" "$@"
}

# The reason and the remedy in each command.
all_say() { # TEXT…
	local text
	run "$@"
	for text in "${TEXTS[@]}"; do
		[[ "$output" == *"$text"* ]] || { echo "'$*' lacks: $text" >&2; return 1; }
	done
}

@test "a seccomp filter is named by all commands, not the paranoid level" {
	TEXTS=("a seccomp filter refuses perf_event_open")
	for filter in container perf; do
		all_say "$PROGRAMS/refuse" $filter assay record -o s -- true
		[ "$status" = 1 ]
		all_say "$PROGRAMS/refuse" $filter assay record -a -o s --duration 0.1
		all_say "$PROGRAMS/refuse" $filter assay record --alloc -o s -- "$PROGRAMS/heaps" family
		[ "$status" = 1 ]
		all_say "$PROGRAMS/refuse" $filter timeout -k 5 "$DEADLINE" assay daemon --session-dir d
		[ "$status" = 1 ]
		all_say "$PROGRAMS/refuse" $filter assay stat -e cpu-clock -- true
		! assay --version | grep -q 'ncurses.*yes' || all_say "$PROGRAMS/refuse" $filter script -qec "assay top" /dev/null
		[[ "$("$PROGRAMS/refuse" $filter assay doctor --format json |
			jq -r '.checks[] | select(.name == "seccomp").finding')" == "a seccomp filter refuses perf_event_open" ]]
	done
}

@test "in a container, the remedy of a seccomp filter is the engine's option" {
	local container=(env container=podman unshare -i)
	unshare -i true 2>/dev/null || skip "needs IPC namespaces (unshare -i)"
	TEXTS=("--cap-add PERFMON" "--security-opt seccomp=")
	all_say "${container[@]}" "$PROGRAMS/refuse" container assay record -o s -- true
	all_say "${container[@]}" "$PROGRAMS/refuse" container assay stat -e cpu-clock -- true
	[[ "$("${container[@]}" "$PROGRAMS/refuse" container assay doctor --format json |
		jq -r '.checks[] | select(.name == "seccomp").meaning')" == *"--security-opt seccomp="* ]]
}

@test "without CAP_SYSLOG, kernel symbols need it, whatever kptr_restrict says" {
	local file=/proc/sys/kernel/kptr_restrict
	[ "$(cat $file)" -le 1 ] || skip "needs kernel.kptr_restrict of 1 or less"
	[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 2 ] || skip "needs kernel.perf_event_paranoid of 2 or more"
	unshare -i true 2>/dev/null || skip "needs IPC namespaces (unshare -i)"
	container=podman without_capability syslog unshare -i assay doctor --format json >doctor.json
	[[ "$(jq -r '.checks[] | select(.name == "kernel symbols") | .state, .meaning, .command' doctor.json)" == "limited"*"--cap-add SYSLOG"* ]]
	[ "$(jq -r '.checks[] | select(.name == "kernel symbols").command' doctor.json)" = "" ]
	# Root is not told to become root.
	without_capability syslog assay doctor --format json >doctor.json
	jq -e '.checks[] | select(.name == "kernel symbols").meaning | contains("this root lacks CAP_SYSLOG") and (contains("run as root") | not)' doctor.json
}

@test "without /sys, the CPUs are those that assay may run on" {
	in_mount_namespace '
		umount -l /sys; mount -t tmpfs none /sys
		assay record -a -e cpu-clock --duration 0.3 -o s >record.log 2>&1; echo $? >status
		assay stat -e cpu-clock -- true >stat.log 2>&1
		for event in "uprobe:$PROGRAMS/heaps:family" sched:sched_switch; do
			! assay record -e "$event" -o none -- true || exit
		done >event.log 2>&1
		assay doctor --format json >doctor.json; true'
	[ "$(cat status)" = 0 ]
	has "/sys is not there" record.log
	has "/sys is not there" stat.log
	# Not the kernel, nor tracefs alone.
	[ "$(grep -c "/sys is not there.*mount -t sysfs\|mount -t sysfs.*/sys is not there" event.log)" = 2 ]
	jq -e '.checks[] | select(.name == "system files") | .state == "limited" and (.finding | contains("/sys is not there"))' doctor.json
	[ "$(fact s .cpus)" = "$(nproc)" ] || fact s .
}

@test "unreadable settings are shown as unreadable, not as 0" {
	in_mount_namespace '
		mount -t tmpfs none /proc/sys/kernel
		assay doctor --format json >doctor.json; true'
	[ "$(jq -r '.checks[] | select(.name == "system files").finding' doctor.json)" = "the kernel's settings (/proc/sys/kernel) cannot be read" ]
	has "kernel.perf_event_paranoid cannot be read" doctor.json
	run grep -E "(paranoid|mlock_kb|kptr_restrict) is " doctor.json
	[ "$status" = 1 ]
}

@test "without /proc, recording uses rings, and a note names the missing parts" {
	background "$PROGRAMS/split" 100000s >/dev/null
	in_mount_namespace '
		mount -t tmpfs none /proc
		assay record -a -e cpu-clock --duration 0.5 -o s >record.log 2>&1; echo $? >status
		assay doctor --format json >doctor.json; true'
	[ "$(cat status)" = 0 ]
	has "/proc is not there" record.log
	has "collecting through rings instead" record.log
	has "processes that already run have no names" record.log
	[ "$(samples_of s)" -gt 0 ]
	# Root is root without /proc, too.
	[ "$(jq -r .reach doctor.json)" = machine ]
	jq -e '.checks[] | select(.name == "system files") | .finding | contains("/proc is not there")' doctor.json
	run grep -E "(paranoid|mlock_kb|kptr_restrict) is " doctor.json
	[ "$status" = 1 ]
}

@test "a /proc of another pid namespace is refused, as its numbers are other processes'" {
	unshare -p -f true 2>/dev/null || skip "no pid namespace here"
	for arguments in "-a --duration 0.2" "-- true" "-p 1 --duration 0.2"; do
		# shellcheck disable=SC2086 # several words
		run unshare -p -f assay record -o s -e cpu-clock $arguments
		refused 1 "/proc belongs to another pid namespace" "--pid=host"
	done
	run unshare -p -f assay stat -e cpu-clock -p 1 --duration 0.1
	refused 1 "/proc belongs to another pid namespace"
	run unshare -p -f assay doctor --format json
	[ "$(jq -r '.checks[] | select(.name == "system files").state' <<<"$output")" = missing ]
}

@test "hidepid is reported to the users from whom it hides processes" {
	unprivileged true
	set_paranoid -1
	in_mount_namespace '
		mount -t proc -o hidepid=2 proc /proc || exit 77
		. "'"$BATS_TEST_DIRNAME"'/helpers.bash"
		unprivileged assay record -a -e cpu-clock -o s --duration 0.2 >user.log 2>&1
		assay record -a -e cpu-clock -o root --duration 0.2 >root.log 2>&1; true'
	has "hides the processes of other users (hidepid)" user.log
	run grep hidepid root.log
	[ "$status" = 1 ]
}

@test "in a separate pid namespace, doctor names the part that can be profiled" {
	unshare -p -f --mount-proc true 2>/dev/null || skip "no pid namespace here"
	run unshare -p -f --mount-proc assay doctor
	[[ "${lines[0]}" == "You can profile: this pid namespace"* ]]
	[[ "$output" == *"--pid=host"* ]]
	unshare -p -f --mount-proc assay doctor --format json >doctor.json
	[ "$(jq -r .reach doctor.json)" = namespace ]
}

# The kernel counts the locked memory of each user, so no other test is this user. The limit is the usual one.
as_somebody() { # COMMAND…
	(
		ulimit -l 0
		HOME=$NOBODY exec setpriv --reuid $((100000 + $$)) --regid nogroup --clear-groups env PATH="$NOBODY:$PATH" "$@"
	)
}

@test "record and doctor report used-up locked memory alike" {
	local finding
	need_root
	unprivileged true # which puts assay where others find it
	chmod 777 "$NOBODY"
	background as_somebody assay record -q -e cpu-clock:u --collector perf --ring-size 512k -o "$NOBODY/holder" -- sleep 1000
	wait_for test -e "$NOBODY/holder"
	finding=$(as_somebody assay doctor --format json |
		jq -r '.checks[] | select(.name == "ring memory") | .state + " " + .finding')
	[[ $finding == missing* ]] || skip "other limits let rings in here: $finding"
	[[ $finding == *"'ulimit -l' is 0"*"have locked the rest of the permitted memory" ]]
	run as_somebody assay record -e cpu-clock:u --collector perf -o "$NOBODY/s" -- true
	refused 1 "cannot map rings" "'ulimit -l' is 0" "have locked the rest of the permitted memory" "--ring-size"
}

@test "a folder for temporary files in which no program may run" {
	need_root
	unshare -m true 2>/dev/null || skip "no mount namespace here"
	need_recording
	mkdir t
	cat >commands <<-'END'
		mount -t tmpfs -o noexec,nodev,nosuid tmpfs t
		export TMPDIR=$PWD/t XDG_CACHE_HOME=$PWD/t
		assay record -q -o t/s -- "$PROGRAMS/split" 0.2cpu
		assay report -i t/s -l | grep -q forty
		assay annotate -i t/s forty | grep -q '│'
		assay report -i t/s --html t/s.html && [ -s t/s.html ]
		cp "$PROGRAMS/split" t/split
		! assay record -o none -- t/split 2>said
		grep -q "t/split': its file system is mounted with noexec" said
	END
	PROGRAMS=$PROGRAMS unshare -m bash -ec '. ./commands'
}

@test "a recording without samples says why" {
	# No x86 or Arm processor has such a fault.
	run assay record -a -e alignment-faults -c 1 -o s --duration 0.1
	refused 0 "0 samples" "there is no sample: the profiled processes had no events of 'alignment-faults'"
}
