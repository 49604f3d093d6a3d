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

@test "a function that a perf map gets while it is recorded has its name, in earlier samples too" {
	need_recording
	run_jit
	cold=$(grep jit_cold "$map")
	sed -i /jit_cold/d "$map"
	chown --reference=/proc/"$jit" "$map"
	background assay record -q -o s -p "$jit" -e cpu-clock
	recorder=$pid
	wait_for has_samples 100 s
	echo "$cold" >>"$map"
	wait_for has_samples 200 s
	kill "$recorder"
	wait "$recorder"
	rm -f "$map"
	[ "$(jit_names)" = 2 ]
	assay report -i s --by image,symbol -t 0 --format json |
		jq -e '[.rows[] | select(.image | startswith("[anon]"))] |
			([.[] | select(.symbol | startswith("jit_") | not) | .samples] | add // 0) * 50 < ([.[].samples] | add)'
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
	[[ "$(assay why -i s '*anon*')" == *"jcmd PID Compiler.perfmap"*"node --perf-basic-prof"*"python3 -X perf"* ]]
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

# Records with a parser process that dies of the map, or hangs on it.
@test "a perf map that the parser dies of gives no names, with the reason" {
	need_recording
	[ -e "$PROGRAMS/parser_trouble.so" ] || skip "no module for sanitizers' builds"
	run_jit
	truncate -s 654321 "$map"
	for trouble in none die; do
		rm -rf s
		PARSER_TROUBLE=$trouble PARSER_BYTES=654321 LD_PRELOAD=$PROGRAMS/parser_trouble.so \
			record_samples 50 s "" -p "$jit" -e cpu-clock
		run jit_names
		[ "$trouble" = die ] || [ "$output" -ge 1 ]
	done
	rm -f "$map"
	[ "$output" = 0 ]
	[ "$(fact s '.losses."file-unparsed"')" = 1 ]
}

@test "the report says that the parser died of a jitdump" {
	need_recording
	[ -e "$PROGRAMS/parser_trouble.so" ] || skip "no module for sanitizers' builds"
	run_jitdump
	record_samples 50 s "" -p "$jit" -e cpu-clock
	kill "$jit"
	PARSER_BYTES=$(stat -c %s "$dump")
	for trouble in none die; do
		PARSER_TROUBLE=$trouble PARSER_BYTES=$PARSER_BYTES LD_PRELOAD=$PROGRAMS/parser_trouble.so \
			assay report -i s --lines -t 0 >"said-$trouble" 2>&1
	done
	run ! grep -F "were not read" said-none
	grep -F "$dump: its lines were not read: the parser died" said-die
}

# Runs jitdump and sets $jit and $dump; its dump has the first function then.
run_jitdump() {
	"$PROGRAMS/jitdump" 1 >/dev/null || skip "tests/programs/jitdump.c is not written for this processor"
	rm -f jit-*.dump
	background "$PROGRAMS/jitdump" 100000s >/dev/null
	jit=$pid
	dump=jit-$jit.dump
	wait_for grep -aq dump_cold "$dump"
}

dump_names() {
	assay report -i s --by symbol -t 0 --format json | jq -r '.rows[].symbol' | grep -c '^dump_'
}

@test "a jitdump that the parser dies of while it is recorded gives no names, with the reason" {
	need_recording
	[ -e "$PROGRAMS/parser_trouble.so" ] || skip "no module for sanitizers' builds"
	run_jitdump
	PARSER_BYTES=$(stat -c %s "$dump")
	for trouble in none die; do
		rm -rf s
		PARSER_TROUBLE=$trouble PARSER_BYTES=$PARSER_BYTES LD_PRELOAD=$PROGRAMS/parser_trouble.so \
			record_samples 50 s "" -p "$jit" -e cpu-clock
		run dump_names
		[ "$trouble" = die ] || [ "$output" -ge 1 ]
	done
	[ "$output" = 0 ]
	[ "$(fact s '.losses."file-unparsed"')" = 1 ]
}

@test "a jitdump whose function moves 20,000 times costs little memory" {
	need_recording
	run_jitdump
	python3 - "$dump" <<-'END'
		import struct, sys, time
		size, now = 4 << 20, time.clock_gettime_ns(time.CLOCK_MONOTONIC)
		with open(sys.argv[1], "ab") as dump:
		    code = struct.pack("<IIQQQQ", 1, 1, 1 << 40, 1 << 40, size, 99) + b"giant\0" + bytes(size)
		    dump.write(struct.pack("<IIQ", 0, 16 + len(code), now) + code)
		    for i in range(20000):
		        dump.write(struct.pack("<IIQIIQQQQQ", 1, 64, now, 1, 1, 0, 0, (1 << 40) + i, size, 99))
	END
	record_samples 50 s "" -p "$jit" -e cpu-clock
	[ "$(dump_names)" -ge 1 ]
	[ "$(fact s '.losses."jit-dump-large" // 0')" = 0 ]
	[ "$(fact s .end.own_peak_bytes)" -lt 60000000 ]
}

@test "a jitdump with a record of 48 MiB gives no names, with the reason" {
	need_recording
	run_jitdump
	python3 - "$dump" <<-'END'
		import os, struct, sys
		with open(sys.argv[1], "ab") as dump:
		    dump.write(struct.pack("<IIQ", 0, 48 << 20, 1))
		    dump.truncate(dump.tell() + (48 << 20))
	END
	record_samples 50 s "" -p "$jit" -e cpu-clock
	run dump_names
	[ "$output" = 0 ]
	[ "$(fact s '.losses."jit-dump-large"')" = 1 ]
	assay report -i s >out
	grep -q 'their records need too much memory' out
}
