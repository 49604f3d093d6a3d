#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Names of JIT code come from files that anybody can write. They cost assay little, and another user's are not believed.

load helpers

setup_file() {
	[ "$(id -u)" = 0 ] || skip "needs root, to give files to another user"
}

# Runs jit, which writes its perf map, and sets $jit and $map.
run_jit() {
	background "$PROGRAMS/jit" 100000s >/dev/null
	jit=$pid
	map=/tmp/perf-$jit.map
	wait_for test -s "$map"
}

jit_names() {
	assay report -i s --by symbol -t 0 --format json | jq -r '.rows[].symbol' | grep -c '^jit_'
}

@test "a perf map of its process's user gives names" {
	need_recording
	run_jit
	record_samples 50 s "" -p "$jit" -e cpu-clock
	rm -f "$map"
	[ "$(jit_names)" -ge 1 ]
	[ "$(fact s '.losses."jit-map-foreign" // 0')" = 0 ]
}

@test "a perf map that another user owns gives no names, with the reason" {
	need_recording
	run_jit
	chown 65534 "$map"
	record_samples 50 s "" -p "$jit" -e cpu-clock
	rm -f "$map"
	run jit_names
	[ "$output" = 0 ]
	[ "$(fact s '.losses."jit-map-foreign"')" = 1 ]
	assay report -i s >out
	grep -q 'another user owns their perf map' out
}

@test "a perf map that is too large gives no names, with the reason" {
	need_recording
	run_jit
	truncate -s 17M "$map"
	record_samples 50 s "" -p "$jit" -e cpu-clock
	[ "$(fact s '.losses."jit-map-large"')" = 1 ]
	rm -rf s
	awk 'BEGIN { for (i = 0; i <= 400000; i++) print "1 1 a" }' >"$map"
	record_samples 50 s "" -p "$jit" -e cpu-clock
	rm -f "$map"
	[ "$(fact s '.losses."jit-map-large"')" = 1 ]
	run jit_names
	[ "$output" = 0 ]
}
