#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# An ordinary user's programs attack root's daemon and root's `record -a` (docs/security.md). Whatever they do, assay's
# memory stays small, the daemon answers, other programs keep their samples, and each lost sample is reported.
#
# tests/programs/attack.c has the attacks. Other attacks of the threat model have tests of their own: files (hostile.bats),
# caches (hostile_cache.bats), files of JITs (hostile_jit.bats), names (hostile_names.bats), and clients (daemon_ctl.bats).
load helpers
load daemon

# Beside large programs of others, such as compilers, assay has large tables without any attack: then an attack may add a part.
MOST_MIB=150
MOST_ADDED_MIB=75

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR
	need_daemon
	command -v setpriv >/dev/null || skip "setpriv is not installed"
	TENANT=$(short_folder)
	cp "$PROGRAMS/attack" "$TENANT"
	chown -R nobody "$TENANT"
	chmod 755 "$TENANT"
	limit_memory
}

teardown() {
	[[ -n ${BATS_TEST_COMPLETED-} ]] || cat daemon.log 2>/dev/null || true
	[[ -z ${attacker-} ]] || kill "$attacker" 2>/dev/null || true
	end_test
	rm -rf "$TENANT" "/tmp/perf-${attacker-none}.map"
	[[ -z ${CGROUP-} ]] || rmdir "$CGROUP" 2>/dev/null || true
}

# A group for assay alone, where groups can be made. Above its limit, the kernel ends the daemon, and the test fails.
limit_memory() {
	local base
	for base in /sys/fs/cgroup/memory /sys/fs/cgroup; do
		CGROUP=$base/assay-test.$$.$BATS_TEST_NUMBER
		mkdir "$CGROUP" 2>/dev/null || continue
		[ -e "$CGROUP/memory.max" ] || [ -e "$CGROUP/memory.limit_in_bytes" ] && break
		rmdir "$CGROUP"
	done
	[ -d "$CGROUP" ] || CGROUP=
}

# The kernel charges maps of BPF and rings, too: they are not what an attack makes grow.
in_group() { # COMMAND…
	if [ -n "$CGROUP" ]; then
		echo "$BASHPID" >"$CGROUP/cgroup.procs"
		local limit=$CGROUP/memory.max
		[ -e "$limit" ] || limit=$CGROUP/memory.limit_in_bytes
		echo $((600 << 20)) >"$limit"
	fi
	exec "$@"
}

attack() { # KIND
	ATTACK=$1
	# Another user has another session, and so a share of the processors of his own.
	background setsid setpriv --reuid=nobody --regid=nogroup --clear-groups "$TENANT/attack" "$1" "$TENANT" >attack.log 2>&1
	attacker=$pid
	wait_for grep -q ready attack.log
}

# The largest sizes of a process and of all below it, in MiB: the daemon, its keeper, opener and parsers. The memory of
# the program's file and of its libraries, some 20 MiB, is there once: it counts for the first process.
peak_of() { # PID [SHARED]
	local child sum shared=${2:-0}
	sum=$(awk -v shared="$shared" '/^VmHWM/ { sum = $2 } /^RssFile/ { file = $2 }
		END { print int((sum - (file < shared ? file : shared)) / 1024) }' "/proc/$1/status" 2>/dev/null || true)
	sum=${sum:-0}
	[ "$shared" != 0 ] || shared=$(awk '/^RssFile/ { print $2 }' "/proc/$1/status" 2>/dev/null || true)
	for child in $(pgrep -P "$1"); do
		sum=$((sum + $(peak_of "$child" "${shared:-0}")))
	done
	echo "$sum"
}

# is_little PEAK BEFORE, in MiB
is_little() {
	[ "$1" -le $MOST_MIB ] || [ "$1" -le $(($2 + MOST_ADDED_MIB)) ] || { echo "it needs $1 MiB; without the attack, $2"; return 1; }
}

counted() {
	status_of d .samples
}

has_counted() {
	[ "$(counted)" -ge "$1" ]
}

# Samples of the program that the attack does not concern.
has_bystander() { # SESSION N
	[ "$(samples_of "$1" comm:split)" -ge "$2" ]
}

# At most a tenth is lost, however busy the machine is; bench/run tenants has the share on a quiet one. Thousands of
# threads that are ready to run leave little time for the daemon, so the limit does not hold beside them.
loses_little() { # SAMPLES LOST
	[ "$ATTACK" = threads ] || [ $(($2 * 10)) -le $(($1 + $2)) ]
}

# The log's sums are those of the stored parts, and what is missing there is reported.
check_sums() {
	local lost
	lost=$(sed -n 's/.*statistics: [0-9]* s: [0-9]* samples, \([0-9]*\) lost.*/\1/p' daemon.log | tail -1)
	[ "$(total_of d)" = "$(counted_in_all)" ]
	loses_little "$(counted_in_all)" "$lost"
}

# A daemon before and beside an attack; sets $peak, what it needed before, and $most, what it needed in all.
meet_attack() { # KIND
	local before
	rm -rf d
	run_daemon in_group assay daemon --session-dir d -e cpu-clock -F 199 -v --max-cpu 0
	[ -z "$CGROUP" ] || has "${CGROUP##*/}" "/proc/$daemon/cgroup"
	wait_for has_bystander d 50
	peak=$(peak_of "$daemon")
	attack "$1"
	before=$(counted)
	wait_for has_counted $((before + 500))
	before=$(samples_of d comm:split)
	wait_for has_bystander d $((before + 50))
	most=$(peak_of "$daemon")
	kill "$attacker"
	wait "$attacker" || true
	attacker=
	end_daemon
}

under_attack() { # KIND
	local peak most
	work
	meet_attack "$1"
	# Large programs of other tests count, too. They end soon, and what an attack takes is taken each time.
	is_little "$most" "$peak" || meet_attack "$1"
	is_little "$most" "$peak"
	check_sums
}

peak_of_recording() {
	echo $(($(fact r .end.own_peak_bytes) >> 20))
}

# As root's `record -a` meets it.
recorded_under_attack() { # KIND
	local before=$BATS_FILE_TMPDIR/before
	work
	# Once a file: what it needs here without an attack.
	if [ ! -s "$before" ]; then
		record_samples 500 r comm:split -a -F "$(at_most 499)" -e cpu-clock
		peak_of_recording >"$before"
	fi
	attack "$1"
	RECORD_BY=in_group record_samples 500 r comm:split -a -F "$(at_most 499)" -e cpu-clock
	# Large programs of other tests count, too. They end soon, and what an attack takes stays.
	if ! is_little "$(peak_of_recording)" "$(cat "$before")"; then
		RECORD_BY=in_group record_samples 500 r comm:split -a -F "$(at_most 499)" -e cpu-clock
		is_little "$(peak_of_recording)" "$(cat "$before")"
	fi
	loses_little "$(fact r .samples)" "$(fact r .lost)"
}

# What a process and all below it take now, in KiB; a page that they share counts once.
memory_of() { # PID
	local child sum
	sum=$(awk '/^Pss:/ { print $2 }' "/proc/$1/smaps_rollup" 2>/dev/null || true)
	sum=${sum:-0}
	for child in $(pgrep -P "$1"); do
		sum=$((sum + $(memory_of "$child")))
	done
	echo "$sum"
}

# It looks at the memory each time that somebody waits.
has_counted_within() { # N
	local now
	now=$(memory_of "$daemon")
	[ "$now" -le "$most" ] || most=$now
	has_counted "$1"
}

# The default of --max-memory, with keeper, opener and parsers.
@test "the daemon stays below --max-memory beside all attacks at once" {
	local kind attackers=() most=0
	work
	run_daemon in_group assay daemon --session-dir d -e cpu-clock -F 199 -v --max-cpu 0 --max-memory 150M
	for kind in maps comms jitdump perf-map files forks execs threads; do
		mkdir -m 777 "$TENANT/$kind"
		background setsid setpriv --reuid=nobody --regid=nogroup --clear-groups "$TENANT/attack" "$kind" "$TENANT/$kind" >"$kind.log" 2>&1
		attackers+=("$pid")
	done
	for kind in maps comms jitdump perf-map files forks execs threads; do
		wait_for grep -q ready "$kind.log"
	done
	wait_for has_counted_within $(($(counted) + 1000))
	wait_for has_bystander d 50
	echo "the most was $most KiB" >&2
	[ "$most" -gt 10000 ]
	[ "$most" -le $((150 << 10)) ]
	# They remove their files.
	kill "${attackers[@]}"
	end_daemon
	ATTACK=threads check_sums
}

@test "the daemon, beside a jitdump of 20,000 moves of a function of 48 MiB" {
	under_attack jitdump
}

@test "record -a, beside a jitdump of 20,000 moves of a function of 48 MiB" {
	recorded_under_attack jitdump
}

@test "the daemon, beside a perf map of 100 MiB" {
	under_attack perf-map
}

@test "record -a, beside a perf map of 100 MiB" {
	recorded_under_attack perf-map
}

@test "the daemon, beside 10,000 mappings that come and go" {
	under_attack maps
}

@test "record -a, beside 10,000 mappings that come and go" {
	recorded_under_attack maps
}

@test "the daemon, beside a new name of the thread every moment" {
	under_attack comms
}

@test "record -a, beside a new name of the thread every moment" {
	recorded_under_attack comms
}

@test "the daemon, beside 5,000 threads" {
	under_attack threads
}

@test "record -a, beside 5,000 threads" {
	recorded_under_attack threads
}

@test "the daemon, beside a storm of short processes" {
	under_attack forks
}

@test "record -a, beside a storm of short processes" {
	recorded_under_attack forks
}

@test "the daemon, beside a storm of executed programs" {
	under_attack execs
}

@test "record -a, beside a storm of executed programs" {
	recorded_under_attack execs
}

@test "the daemon, beside a program of its own for each process" {
	under_attack files
}

@test "record -a, beside a program of its own for each process" {
	recorded_under_attack files
}

@test "the daemon, beside a link to a device in the place of a running program" {
	under_attack swap
}

@test "record -a, beside a link to a device in the place of a running program" {
	recorded_under_attack swap
}
