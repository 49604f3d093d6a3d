#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Faults while blocks go through a fleet: a small number of those of make check-fleet.
load helpers
load clickhouse

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR TZ=UTC0 ASSAY=assay WORKLOAD=$PROGRAMS/split
}

faults() { # COUNT [URL]
	run python3 "$ROOT/tests/fleet/faults.py" work "$@"
	echo "$output"
}

@test "no sample is lost or doubled by faults of ship, connections and the gateway" {
	assay serve --help | grep -q -- --fleet || skip "built without libmicrohttpd"
	faults 6
	[ "$status" = 0 ]
	[[ "$output" == *"6 faults in "*" blocks, "*"0 samples lost, 0 doubled"* ]]
	# It says which faults were left out, and why.
	for name in clock kill_load cut_shard shard_down two_loads full_clickhouse zookeeper_down; do
		has "^skipped: $name: no " <(echo "$output")
	done
	[ "${lines[-1]}" = "0 samples lost, 0 doubled; 7 of 15 kinds of faults were skipped" ]
	faults 12 # goes on
	[ "$status" = 0 ]
	[[ "$output" == *"12 faults in "*" blocks, "*"0 samples lost, 0 doubled"* ]]
	# The audit sees a block that is gone.
	block=$(find work/1/fleet/host? -mindepth 1 -maxdepth 1 -type d | head -1)
	rm -r "$block"
	faults 12
	[ "$status" = 1 ]
	[[ "$output" == *"  missing "* ]]
}

@test "profiles that programs push are in the fleet once, however often their adopting is killed" {
	FAULT=kill_adopt faults 4
	[ "$status" = 0 ]
	[[ "$output" == "4 faults in "*": kill_adopt 4"*"0 samples lost, 0 doubled"* ]]
	[ "$(jq .pushes work/1/state.json)" -ge 4 ]
}

@test "clocks of hosts and of the gateway that are wrong by an hour lose and double nothing" {
	assay serve --help | grep -q -- --fleet || skip "built without libmicrohttpd"
	[ -e "$PROGRAMS/clock_shift.so" ] || skip "no library can be loaded into a program with sanitizers"
	export CLOCK_SHIFT_SO=$PROGRAMS/clock_shift.so FAULT=clock
	faults 4
	[ "$status" = 0 ]
	[[ "$output" == "4 faults in "*": clock 4"*"0 samples lost, 0 doubled; 0 of 15 kinds of faults were skipped" ]]
}

@test "no sample is lost or doubled by faults of loading ClickHouse" {
	[ -n "${ASSAY_CLICKHOUSE-}" ] || skip "no ClickHouse: set ASSAY_CLICKHOUSE to the URL of one (docs/testing.md)"
	faults 20 "$ASSAY_CLICKHOUSE"
	[ "$status" = 0 ]
	[[ "$output" == *"20 faults in "*" blocks, "*"0 samples lost, 0 doubled"* ]]
}
