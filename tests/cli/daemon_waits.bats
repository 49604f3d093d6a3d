#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon's history of waits.

load helpers
load daemon

# Whether the history has so many milliseconds of waits of a process: has_waits DIR PID [LEAST]
has_waits() {
	[ "$(samples_of "$1" event:off-cpu:sleep pid:"$2")" -ge "${3-1}" ]
}

# A process that sleeps again and again; its pid is in $pid: nap SECONDS
nap() {
	background python3 -c 'import sys, time
while True: time.sleep(float(sys.argv[1]))' "$1"
}

@test "the daemon keeps waits with their reasons and stacks" {
	need_daemon
	need_sampler
	nap 0.05
	napper=$pid
	start_daemon d -e cpu-clock --off-cpu --max-cpu 0
	wait_for has_waits d "$napper" 600
	end_daemon
	assay report -i d --by reason,symbol 'event:off-cpu:*' pid:"$napper"
	# The nap in which the daemon began may have no stack, and the first waits may be for a file.
	all=$(samples_of d event:off-cpu:sleep pid:"$napper")
	[ $((2 * $(samples_of d event:off-cpu:sleep pid:"$napper" reason:sleep))) -ge "$all" ]
	[ "$(assay report -i d --by reason --format json event:off-cpu:sleep pid:"$napper" | jq '[.rows[].samples] | add')" = "$all" ]
}

@test "beyond the budget, waits count without a stack, under a reason" {
	need_daemon
	need_sampler
	nap 0.05
	napper=$pid
	start_daemon d -e cpu-clock --off-cpu --max-cpu 0.0001
	wait_for has_waits d "$napper"
	end_daemon
	assay report -i d 'event:off-cpu:*' pid:"$napper" | tee report
	grep -q "unknown .*no stack: the wait began before assay, or their budget was used up" report
	[ "$(samples_of d event:off-cpu:sleep pid:"$napper" "reason:[[]unknown]")" -gt 0 ]
}

@test "a shorter wait than the setting's does not count" {
	need_daemon
	need_sampler
	nap 0.002
	short=$pid
	nap 0.3
	long=$pid
	printf 'event = cpu-clock\noff-cpu = yes\noff-cpu-min = 200ms\nmax-cpu = 0\n' >conf
	start_daemon d --config conf
	wait_for has_waits d "$long" 4000
	end_daemon
	# It sleeps nearly always, too. On a busy machine, some of its naps may be long.
	[ "$(samples_of d event:off-cpu:sleep pid:"$short")" -lt 2000 ]
}

@test "waits without BPF are refused" {
	run assay daemon --session-dir d -e cpu-clock --off-cpu --collector perf
	refused 2 "--off-cpu needs BPF: it does not go with --collector=perf"
}

@test "a daemon that becomes the user assay keeps waits" {
	need_daemon
	need_sampler
	nap 0.05
	napper=$pid
	with_users assay daemon --session-dir d -e cpu-clock --off-cpu --max-cpu 0
	[ "$(awk '$1 == "Uid:" { print $2 }' "/proc/$daemon/status")" = 54321 ]
	wait_for has_samples 300 d event:off-cpu:sleep pid:"$napper" reason:sleep
	end_daemon
}

# Caps as in assay.service.
@test "a daemon that systemd starts as user assay keeps waits" {
	need_daemon
	need_sampler
	run_private
	OTHER=$(mktemp -d)
	chown 54321:54321 "$OTHER"
	nap 0.05
	napper=$pid
	local caps=+perfmon,+bpf,+sys_ptrace,+dac_read_search,+syslog,+ipc_lock
	run_daemon setpriv --reuid=54321 --regid=54321 --clear-groups --inh-caps="-all,$caps" --ambient-caps="-all,$caps" \
		--bounding-set="-all,$caps" env XDG_CACHE_HOME="$OTHER/cache" \
		"$ASSAY_BUILD/assay" daemon --session-dir "$OTHER/d" -e cpu-clock --off-cpu --max-cpu 0
	wait_for has_samples 300 "$OTHER/d" event:off-cpu:sleep pid:"$napper" reason:sleep
	end_daemon
	rm -rf "$OTHER"
}
