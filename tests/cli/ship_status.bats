#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# How far `assay ship` is, in assay ctl status, assay doctor and the metrics.
# Each test has a process of its own.
# shellcheck disable=SC2030,SC2031

load helpers
load daemon

numbers() { # the file's numbers that are no times
	sed -n 's/^\(backlog\|refused\|expired\|failures\) //p' "$1" | tr '\n' ' '
}

@test "ship writes down its last success and its failures, and goes on with them" {
	export ASSAY_SHIP_STATUS=$PWD/status
	"$ASSAY_BUILD/bench/history" store 1 2000 400
	assay ship --to dir:fleet --once -q --host web1 --dry-run store
	[ ! -e status ]
	assay ship --to dir:fleet --once -q --host web1 store
	[ "$(numbers status)" = "0 0 0 0 " ]
	[ "$(stat -c %a status)" = 644 ]
	success=$(sed -n 's/^success_ns //p' status)
	[ $((success / 1000000000)) -ge $(($(date +%s) - DEADLINE)) ]
	# Nothing listens at this port.
	echo "$success" >token
	chmod 600 token
	for _ in 1 2; do
		run -1 assay ship --to http://127.0.0.1:1 --token-file token --state state --once -q --host web1 store
	done
	[ "$(numbers status)" = "6 0 0 2 " ] # it looks at the history all the same
	[ "$(sed -n 's/^success_ns //p' status)" = "$success" ]
	# Nothing waits any longer: all blocks have keys.
	cp fleet/web1/.keys state/127.0.0.1_1/web1/.keys
	run -1 assay ship --to http://127.0.0.1:1 --token-file token --state state --once -q --host web1 store
	[ "$(numbers status)" = "0 0 0 3 " ]
	assay ship --to dir:fleet --once -q --host web1 store
	[ "$(numbers status)" = "0 0 0 0 " ]
	# As a service, the file is in the folder that systemd makes.
	unset ASSAY_SHIP_STATUS
	mkdir run
	RUNTIME_DIRECTORY=$PWD/run assay ship --to dir:fleet --once -q --host web1 store
	has '^round_ns [0-9]*$' run/status
}

@test "status, metrics and doctor show what ship wrote, and nothing of a file that is none" {
	need_daemon
	export ASSAY_SHIP_STATUS=$PWD/status
	all='.ship_round, .ship_success, .ship_backlog, .ship_refused, .ship_expired, .ship_failures'
	none=$(printf 'null\nnull\n0\n0\n0\n0')
	# The daemon must not wait for a writer.
	mkfifo status
	run_daemon assay daemon --session-dir d -e cpu-clock -F 19 --max-cpu 0
	[ "$(status_of d "$all")" = "$none" ]
	ask d status >before
	not grep -q "^ship " before
	[ "$(doctor_finding ship)" = "ok no assay ship runs as a service" ]
	rm status
	printf 'round_ns 1795294801000000000\nsuccess_ns 1795294800000000000\nbacklog 1234\nrefused 5\nexpired 67\nfailures 8\n' >status
	wait_for shows_ship
	[ "$(status_of d "$all")" = "$(printf '2026-11-21T21:00:01Z\n2026-11-21T21:00:00Z\n1234\n5\n67\n8')" ]
	ask d status >text
	has '^ship  *1,234 blocks wait; last success 2026-11-21 21:00:00 UTC, 8 failed rounds since; 5 blocks refused, 67 samples expired$' text
	ask d metrics >metrics.txt
	has '^assay_ship_backlog_blocks 1234$' metrics.txt
	has '^assay_ship_refused_blocks_total 5$' metrics.txt
	has '^assay_ship_expired_samples_total 67$' metrics.txt
	has '^assay_ship_failures 8$' metrics.txt
	has '^assay_ship_success_time_seconds 1795294800.000$' metrics.txt
	[[ "$(doctor_finding ship)" == "limited 1234 blocks wait, 5 refused; 67 samples expired; 8 failed rounds"* ]]
	sed -i 's/backlog 1234/backlog x/' status
	wait_for shows_no_ship
}

shows_ship() {
	[ "$(status_of d .ship_backlog)" = 1234 ]
}

shows_no_ship() {
	[ "$(status_of d "$all")" = "$none" ]
}

has_rate() {
	[ "$(status_of d .rate_hz)" = "$1" ]
}

@test "the daemon samples less often if the fleet asks for it, and never more than its settings" {
	need_daemon
	export ASSAY_SHIP_STATUS=$PWD/status ASSAY_DAEMON_PACE=retry=1,fleet=1
	echo "rate_hz 7" >status
	run_daemon assay daemon --session-dir d -e cpu-clock -F 49 --max-cpu 0 --fleet-rate
	wait_for has_rate 7
	[ "$(status_of d .wanted_hz)" = 49 ]
	wait_for has 'the fleet asks for it: sampling at 7 Hz instead of 49' daemon.log
	# The newest part says so, too.
	wait_for eval 'assay report -i "$(ls -d d/samples/current/2* | tail -1)" | grep -q "sampling at 7 Hz instead of 49, as the fleet asks"'
	echo "rate_hz 30" >status
	wait_for has_rate 30
	echo "rate_hz 90000" >status
	wait_for has_rate 49
	echo "rate_hz 5" >status
	wait_for has_rate 5
	rm status
	wait_for has_rate 49
	(($(status_of d .rate_changes) >= 5))
	has 'the fleet asks for no less: sampling at 49 Hz instead of 5, as requested' daemon.log
	end_daemon
	[[ "$(assay report -i d)" == *"the rate went up again"* ]]
	echo "rate_hz 7" >status
	run_daemon assay daemon --session-dir e -e cpu-clock -F 49 --max-cpu 0
	sleep 3
	[ "$(status_of e .rate_hz)" = 49 ]
}

@test "a gateway that alternates between rates changes the daemon's once in ten minutes" {
	need_daemon
	export ASSAY_SHIP_STATUS=$PWD/status ASSAY_DAEMON_PACE=retry=1
	echo "rate_hz 7" >status
	run_daemon assay daemon --session-dir d -e cpu-clock -F 49 --max-cpu 0 --fleet-rate
	wait_for has_rate 7
	for rate in 5 30 5; do
		echo "rate_hz $rate" >status
		sleep 2
		[ "$(status_of d '[.rate_hz, .rate_changes] | @csv')" = 7,1 ]
	done
}
