#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# libopagent: compilers that name their code by OProfile's interface, and the programs around it.

load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR
	LIBRARY=$ASSAY_BUILD/src/oprofile/agent
	export JITDUMPDIR=$PWD/dumps
	mkdir dumps
	[ -x "$PROGRAMS/agent" ] || skip "built without OProfile"
	"$PROGRAMS/agent" 1 || skip "tests/programs/agent.c is not written for this processor"
	rm dumps/*
}

# Samples of each function of the dumps: "agent_hot made.up:11 12" a line. The library has functions of such names, too.
agent_rows() {
	assay report -i "$1" --by symbol,line --format csv | awk -F, '$2 ~ /^agent_/ && $3 !~ /opagent\.c/ { print $2, $3, $6 }' | sort
}

@test "functions and lines that a compiler named, at the times at which they were there" {
	need_recording
	for collector in perf best; do
		rm -rf s
		assay record -q --collector "$collector" -o s -- "$PROGRAMS/agent" 1500
		agent_rows s >rows
		cat rows
		[ "$(cut -d' ' -f1 rows | sort -u | xargs)" = "agent_again agent_child agent_cold agent_hot" ]
		[ "$(cut -d' ' -f1,2 rows | grep -v ':[0-9]*0$' | xargs)" = \
			"agent_again made.up:31 agent_child made.up:51 agent_cold made.up:21 agent_hot made.up:11" ]
		awk '{ n[$1] += $3 } END { exit !(n["agent_hot"] > 1.8 * n["agent_cold"] && n["agent_hot"] < 5.5 * n["agent_cold"]) }' rows
	done
	[ "$(find dumps -name 'jit-*.dump' -perm 600 | wc -l)" = 4 ]
}

@test "the library has OProfile's name, functions and versions" {
	readelf -d "$LIBRARY/libopagent.so.1" | grep -q 'SONAME.*\[libopagent.so.1\]'
	[ "$(nm -D --defined-only "$LIBRARY/libopagent.so.1" | awk '$2 == "T" { print $3 }' | xargs)" = "op_close_agent@@OPAGENT_1.0 op_major_version@@OPAGENT_1.0 op_minor_version@@OPAGENT_1.0 op_open_agent@@OPAGENT_1.0 op_unload_native_code@@OPAGENT_1.0 op_write_debug_line_info@@OPAGENT_1.0 op_write_native_code@@OPAGENT_1.0" ]
	run readelf -d "$LIBRARY/libopagent.so.1"
	[[ "$output" != *libassay* ]]
}

@test "a program that was linked against the original's library" {
	need_recording
	original=$(find "${ASSAY_OPROFILE:-/nonexistent}/lib" /usr/lib/oprofile /usr/lib/*/oprofile \
		-name libopagent.so.1 -print -quit 2>/dev/null) || true
	[ "$original" ] || skip "the original's libopagent.so.1 is not here"
	cc -O1 -I "$ROOT/include" -I "$ROOT/tests/programs" -o linked "$ROOT/tests/programs/agent.c" "$original" -lpthread
	LD_LIBRARY_PATH=$LIBRARY assay record -q -o s -- ./linked 2000
	[ "$(agent_rows s | cut -d' ' -f1 | sort -u | xargs)" = "agent_again agent_child agent_cold agent_hot" ]
}

@test "a dump is nobody else's file, and a folder without programs is passed over" {
	[ "$(id -u)" = 0 ] || skip "needs root: a file system is mounted"
	unshare -m true 2>/dev/null || skip "no mounts are permitted here"
	mkdir other
	TMPDIR=$PWD/other unshare -m sh -c 'mount -t tmpfs -o noexec none dumps && "$1" 1 && ls dumps' sh "$PROGRAMS/agent" >left
	[ ! -s left ]
	[ "$(find other -name 'jit-*.dump' | wc -l)" = 2 ]
	# a link in its place is not followed
	echo untouched >victim
	bash -c 'ln -s "$PWD/victim" "dumps/jit-$$.dump"; exec "$1" 1' bash "$PROGRAMS/agent"
	[ "$(cat victim)" = untouched ]
	[ "$(find dumps -type f -name 'jit-*.dump' | wc -l)" = 2 ]
}

@test "a full disk is an error of the call, and the dump stays whole" {
	[ "$(id -u)" = 0 ] || skip "needs root: a file system is mounted"
	unshare -m true 2>/dev/null || skip "no mounts are permitted here"
	unshare -m sh -c 'mount -t tmpfs -o size=16k none dumps; "$1" 1; echo "status $?"; cp dumps/jit-*.dump kept' sh "$PROGRAMS/agent" >log 2>&1
	grep -q 'No space left' log
	grep -q 'status 1' log
	python3 - kept <<-'END'
		import struct, sys
		data, at, n = open(sys.argv[1], "rb").read(), 40, 0
		while at < len(data):
		    at += struct.unpack_from("<II", data, at)[1]
		    n += 1
		assert at == len(data) and n > 10, (at, len(data), n)
	END
}

@test "opjitconv: names for anonymous samples of a session" {
	"$PROGRAMS/agent" 1
	pid=$(basename "$(find dumps -size +10k)" .dump)
	pid=${pid#jit-}
	folder="s/samples/current/{root}/usr/bin/app/{dep}/{anon:anon}"
	mkdir -p "$folder/$pid.0x1000000.0x2000000" "$folder/4000001.0x1.0x2"
	opjitconv --session-dir=s 0 "$(date -d '1 minute' +%s)"
	readelf -Ws "$folder/$pid.jo" >symbols
	grep -q 'unused_0_1$' symbols
	grep -q 'agent_again$' symbols
	[ ! -e "$folder/4000001.jo" ]
	# a newer file of names stays, an older one does not
	echo kept >"$folder/$pid.jo"
	opjitconv --session-dir=s 0 "$(date -d '1 minute' +%s)"
	[ "$(cat "$folder/$pid.jo")" = kept ]
	touch -d '2020-01-01' "$folder/$pid.jo"
	opjitconv -d --non-root --session-dir=s 0 "$(date -d '1 minute' +%s)" 2>log
	readelf -Ws "$folder/$pid.jo" | grep -q 'agent_again$'
	grep -q "$pid.dump: [0-9]* codes" log
	# code after the session's end is not in it
	touch -d '2020-01-01' "$folder/$pid.jo"
	opjitconv --session-dir=s 0 1
	run readelf -Ws "$folder/$pid.jo"
	[[ "$output" == *agent_again* ]]
	opjitconv --delete-jitdumps --session-dir=s 0 "$(date +%s)"
	[ "$(find dumps -type f | wc -l)" = 0 ]
}

@test "opjitconv: the original's exit statuses" {
	mkdir s
	opjitconv --session-dir=s 0 100
	opjitconv --session-dir=s a 100
	for args in "" "--session-dir=s" "--session-dir=s 0" "--session-dir=missing 0 100" "--session-dir=s 100 1" "-x"; do
		# shellcheck disable=SC2086
		run opjitconv $args
		[ "$status" = 1 ]
	done
}

@test "op-check-perfevents: the errno of the kernel's answer" {
	status=0
	op-check-perfevents -v 2>log || status=$?
	text=$(python3 -c 'import os, sys; n = int(sys.argv[1]); print(os.strerror(n) if n else "it works")' "$status")
	grep -q "perf_event_open: $text" log
	run op-check-perfevents
	[ "$status" != 255 ] && [ -z "$output" ]
	run op-check-perfevents --help
	[ "$status" = 0 ]
	run op-check-perfevents -x
	[ "$status" = 255 ]
	original=${ASSAY_OPROFILE:-/usr}/bin/op-check-perfevents
	[ -x "$original" ] || skip "the original is not here"
	run "$original"
	there=$status
	run op-check-perfevents
	[ "$status" = "$there" ]
}
