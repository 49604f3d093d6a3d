#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What the machine's settings take away, on any of the kernels; after other checks, which source it.
# Titles are rows of docs/kernels.md.
extent=${extent-short}

says_hidden() {
	assay report -i s 2>/dev/null | grep -q "kernel addresses are hidden (kptr_restrict)"
}

hidden_addresses() {
	before=$(cat /proc/sys/kernel/kptr_restrict)
	echo 2 >/proc/sys/kernel/kptr_restrict
	(record_until says_hidden -a -- dd if=/dev/zero of=/dev/null bs=1M) || failed=1
	assay doctor >doctor.txt || true
	echo "$before" >/proc/sys/kernel/kptr_restrict
	[ -z "${failed-}" ]
	has "/proc/kallsyms hides its addresses" doctor.txt
}

without_btf() {
	mount -t tmpfs none /sys/kernel/btf
	(record_split -a >log 2>&1) || failed=1
	assay doctor >doctor.txt || failed=1
	umount /sys/kernel/btf
	cat log
	[ -z "${failed-}" ]
	has "the kernel has no BTF (/sys/kernel/btf/vmlinux): collecting through rings instead" log
	has "the kernel has no BTF" doctor.txt
}

bpf_refused() {
	under="/programs/refuse bpf"
	(record_split -a >log 2>&1) || { cat log; fail "no right samples"; }
	has "bpf(2) is refused: by a seccomp filter, or a policy: collecting through rings instead" log
	/programs/refuse bpf assay doctor >doctor.txt || true
	has "bpf(2) is refused" doctor.txt
	refused 1 log /programs/refuse bpf assay record --off-cpu -o w -- true
	# In a container, the namespace comes first.
	[ -n "${ROOTLESS-}" ] || has "bpf(2) is refused" log
}

without_perf() {
	mount -t tmpfs none /proc/sys/kernel
	echo 32768 >/proc/sys/kernel/pid_max
	refused 1 log /programs/refuse perf assay record -o s -- true || failed=1
	refused 1 stat.log /programs/refuse perf assay stat -- true || failed=1
	/programs/refuse perf assay doctor >doctor.txt || true
	umount /proc/sys/kernel
	[ -z "${failed-}" ]
	has "this kernel is built without CONFIG_PERF_EVENTS" log
	has "this kernel is built without CONFIG_PERF_EVENTS" stat.log
	has "this kernel is built without CONFIG_PERF_EVENTS" doctor.txt
	has "You can profile: nothing." doctor.txt
}

a_cpu_that_goes_and_comes() { # COLLECTOR
	[ -w /sys/devices/system/cpu/cpu1/online ] || skip "no CPU can go offline here"
	record_until "has_samples_on 1 split s" -a --collector "$1" -- sh -c '
		/programs/split 100000s & split=$!
		echo 0 >/sys/devices/system/cpu/cpu1/online
		echo 1 >/sys/devices/system/cpu/cpu1/online
		taskset -p 2 $split; wait'
	killall split || true
	assay report -i s --by cpu,app
	between 1 "$(fact cpu-online s)" 10 "times that it came"
}

# The daemon's part goes on, with a note about the CPU that nobody sampled.
a_daemon_and_such_a_cpu() { # [FUNCTION: it is called with the daemon's pid]
	[ -w /sys/devices/system/cpu/cpu1/online ] || skip "no CPU can go offline here"
	assay daemon --session-dir d -F 499 --max-cpu 0 2>log &
	daemon=$!
	wait_for grep -q collecting log
	"${1-:}" "$daemon"
	echo 0 >/sys/devices/system/cpu/cpu1/online
	echo 1 >/sys/devices/system/cpu/cpu1/online
	taskset 2 /programs/split 100000s &
	split=$!
	(wait_for has_samples forty d) || failed=1
	kill "$split"
	kill "$daemon"
	wait "$daemon" || failed=1
	[ -z "${failed-}" ] || { cat log; assay info d; fail "no samples of that CPU"; }
	between 1 "$(fact cpu-online d)" 10 "times that it came"
	set -- d/samples/current/2*
	[ $# = 1 ]
}

# Whether a process of user assay has CAP_SYS_ADMIN: `yes` or `no`.
has_sys_admin() { # PID
	same 997 "$(sed -n 's/^Uid:\t\([0-9]*\).*/\1/p' "/proc/$1/status")" "user of process $1"
	effective=$(sed -n 's/^CapEff:\t//p' "/proc/$1/status")
	[ $((0x$effective >> 21 & 1)) = 0 ] && echo no || echo yes
}

# Where counters need CAP_SYS_ADMIN: the opener opens those of a CPU that comes, and the daemon cannot.
only_the_opener_is_admin() { # DAEMON
	opener=$(grep -lx assay-opener /proc/[0-9]*/comm | cut -d/ -f3)
	same no "$(has_sys_admin "$1")" "CAP_SYS_ADMIN of the daemon"
	same yes "$(has_sys_admin "$opener")" "CAP_SYS_ADMIN of the opener"
}

# The last one: nothing takes it back.
locked_down() {
	echo confidentiality >/sys/kernel/security/lockdown || skip "no lockdown in this kernel"
	(record_split -a >log 2>&1) || { cat log; fail "no right samples"; }
	has "kernel lockdown is at 'confidentiality': collecting through rings instead" log
	assay doctor >doctor.txt
	has "kernel lockdown is at 'confidentiality'" doctor.txt
}

with_one_cpu() { # COLLECTOR
	[ "$1" != bpf ] || need_bpf
	[ -w /sys/devices/system/cpu/cpu1/online ] || skip "no CPU can go offline here"
	echo 0 >/sys/devices/system/cpu/cpu1/online
	(record_split -a --collector "$1") || status=$?
	echo 1 >/sys/devices/system/cpu/cpu1/online
	return "${status-0}"
}

# Perf events and the in-kernel sampler look for the group in the hierarchy of perf_event.
groups_of_cgroup_v1() { # COLLECTOR
	[ "$1" != bpf ] || need_bpf
	umount /sys/fs/cgroup
	mount -t tmpfs none /sys/fs/cgroup
	mkdir /sys/fs/cgroup/perf_event
	if mount -t cgroup -o perf_event none /sys/fs/cgroup/perf_event; then
		mkdir /sys/fs/cgroup/perf_event/box
		record_until "has_samples forty s 300" -a --collector "$1" -- sh -c '
			echo $$ >/sys/fs/cgroup/perf_event/box/cgroup.procs; exec /programs/split 100000s' || failed=1
		killall split || true
		assay report -i s --by cgroup,symbol --format csv >rows.csv || failed=1
		rmdir /sys/fs/cgroup/perf_event/box || true
		umount /sys/fs/cgroup/perf_event
	else
		missing=1
	fi
	umount /sys/fs/cgroup
	mount -t cgroup2 cgroup2 /sys/fs/cgroup
	[ -z "${missing-}" ] || skip "no cgroup v1 in this kernel"
	[ -z "${failed-}" ]
	grep -q '/box,forty,' rows.csv || { cat rows.csv; fail "the group is not named"; }
	! grep ',forty,' rows.csv | grep -qv '/box,' || { cat rows.csv; fail "samples in another group"; }
}

without_tracefs() { # COLLECTOR
	[ "$1" != bpf ] || need_bpf
	umount /sys/kernel/tracing
	(
		refused 1 log assay record -e sched:sched_switch -o t -- true || exit
		assay doctor >doctor.txt || true
		record_split -a --collector "$1"
	) || status=$?
	mount -t tracefs tracefs /sys/kernel/tracing
	[ "${status-0}" = 0 ] || return "$status"
	has tracefs log
	has tracefs doctor.txt
}

without_unprivileged_bpf() {
	need_bpf
	before=$(cat /proc/sys/kernel/unprivileged_bpf_disabled)
	[ "$before" != 1 ] || skip "ordinary users have no BPF here, and nothing changes that"
	echo 2 >/proc/sys/kernel/unprivileged_bpf_disabled
	(record_split -a --collector bpf) || status=$?
	echo "$before" >/proc/sys/kernel/unprivileged_bpf_disabled
	return "${status-0}"
}

# Open counters stay open, for threads and processes that begin later, too.
a_level_that_rises_meanwhile() {
	rm -rf /tmp/nobody
	at_paranoid 2 as_nobody "assay record -F 199 -o s -- sh -c 'until [ \$(cat /proc/sys/kernel/perf_event_paranoid) = 4 ]; do sleep 0.1; done
		exec /programs/split 100000s'" &
	recorder=$!
	(wait_for test -e /tmp/nobody/s && echo 4 >/proc/sys/kernel/perf_event_paranoid && wait_for has_samples forty /tmp/nobody/s 100) || failed=1
	killall split || true
	wait $recorder || true
	[ -z "${failed-}" ] || fail "no recording"
	split_is_right /tmp/nobody/s
	adds_up /tmp/nobody/s
}

check "a CPU that goes offline and comes back, by rings" a_cpu_that_goes_and_comes perf
check "a CPU that goes offline and comes back, by BPF" a_cpu_that_goes_and_comes bpf
check "a CPU that goes offline and comes back, and the daemon" a_daemon_and_such_a_cpu
check "a daemon's opener opens counters at perf_event_paranoid 3" at_paranoid 3 a_daemon_and_such_a_cpu only_the_opener_is_admin
check "kernel addresses that are hidden" hidden_addresses
check "a kernel without BTF" without_btf
check "bpf(2) refused" bpf_refused
check "a kernel without perf events" without_perf
if [ "$extent" = all ]; then
	check "one CPU, by rings" with_one_cpu perf
	check "one CPU, by BPF" with_one_cpu bpf
	check "groups of cgroup v1, by rings" groups_of_cgroup_v1 perf
	check "groups of cgroup v1, by BPF" groups_of_cgroup_v1 bpf
	check "no tracefs, by rings" without_tracefs perf
	check "no tracefs, by BPF" without_tracefs bpf
	check "BPF closed to ordinary users" without_unprivileged_bpf
	check "perf_event_paranoid that rises during a recording" a_level_that_rises_meanwhile
fi
check "a kernel locked down" locked_down
