#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Each call that changes a file fails once, or ends the process: parts stay readable, and sums stay exact.
#
# tests/programs/fail_at.c counts the calls. CRASH_STEP=1 takes every call, and CRASH_KILLS is the number of kills at
# random points (make check-long). Without them, a test takes every seventh call, and 20 kills.
load helpers

STEP=${CRASH_STEP:-7}
KILLS=${CRASH_KILLS:-20}
WAYS=(kill half ENOSPC EIO short)

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR
	"$PROGRAMS/fail_at" 0 kill "$PWD" log true || [ $? -ne 77 ] || skip "this kernel does not pass on system calls (seccomp)"
}

total_of() {
	assay report -i "$1" --by comm --format json 2>report.err | jq -s '[.[].rows[].samples] | add // 0'
}

make_history() {
	rm -rf history
	mkdir -p history/samples/current
	for name in 20231114T221320.000Z 20231114T221320.000Z-2 20231114T221320.000Z-3; do
		"$PROGRAMS/make_session" "history/samples/current/$name" lossy 1500 60 6
	done
}

# Whether the call was reached: later calls are not there.
has_failed() {
	grep -qx failed log
}

# Runs the checks for each STEP-th call of each way: every_call PREPARE CHECK COMMAND…
every_call() {
	local prepare=$1 check=$2 way n
	shift 2
	trap - DEBUG
	for way in "${WAYS[@]}"; do
		for ((n = 1;; n += STEP)); do
			"$prepare"
			"$PROGRAMS/fail_at" "$n" "$way" "$PWD/history" log "$@" >said 2>&1 || true
			has_failed || break
			"$check" "$way" "$n" || { echo "after $way at call $n: $(grep -B1 -x failed log | head -1)"; cat said; return 1; }
		done
		((n > 1)) || { echo "no call"; return 1; }
	done
}

@test "retention may fail or end at any call: no sample is lost or counted twice" {
	make_history
	all=$(total_of history)
	[ "$all" = 4500 ]
	is_whole() {
		[ "$(total_of history)" = "$all" ] || { echo "now $(total_of history) of $all"; return 1; }
		! grep -q damaged report.err || { cat report.err; return 1; }
		# The next run continues.
		assay retain -q history --tier minutes=1s --tier hours=never || return 1
		[ "$(total_of history)" = "$all" ] || { echo "then $(total_of history) of $all"; return 1; }
		[ "$(find history/samples/current -mindepth 1 -maxdepth 1 | wc -l)" = 1 ] || { ls -a history/samples/current; return 1; }
	}
	(every_call make_history is_whole assay retain -q history --tier minutes=1s --tier hours=never)
}

@test "a recording may fail or end at any call: what was written is readable" {
	need_recording
	clean() {
		rm -rf history
		mkdir history
	}
	# Either nothing was begun, or each part of the report has the same sum.
	is_readable() {
		local by sum
		[ -e history/r/samples/current/0000.segment ] || return 0
		sum=$(total_of history/r)
		for by in symbol thread image; do
			[ "$(assay report -i history/r --by "$by" --format json 2>report.err |
				jq -s '[.[].rows[].samples] | add // 0')" = "$sum" ] || { cat report.err; return 1; }
		done
		[ "$1" = kill ] || [ "$1" = half ] || grep -q "assay: " said
	}
	STEP=$((STEP > 1 ? 3 : 1))
	(every_call clean is_readable assay record -o history/r -e cpu-clock -F "$(at_most 997)" -- "$PROGRAMS/split")
}

# One history is killed again and again until it is merged. Then a new one begins.
@test "kills at random points of packing, merging and removing: sums stay exact" {
	make_history
	all=$(total_of history)
	kill_often() {
		trap - DEBUG
		RANDOM=${CRASH_SEED:-1}
		for ((i = 0; i < KILLS; i++)); do
			"$PROGRAMS/fail_at" $((1 + RANDOM % 60)) kill "$PWD/history" log \
				assay retain -q history --tier minutes=1s --tier hours=never >said 2>&1 || true
			[ "$(total_of history)" = "$all" ] || { echo "kill $i: $(total_of history) of $all"; return 1; }
			! grep -q damaged report.err || { cat report.err; return 1; }
			has_failed || make_history
		done
	}
	(kill_often)
}

# A recorder that is killed loses its last block at most: all that is there adds up.
@test "kills at random moments of a recording leave a readable session" {
	need_recording
	background "$PROGRAMS/split" 100000s >/dev/null
	busy=$pid
	kill_recorders() {
		local i recorder by sum
		trap - DEBUG
		RANDOM=${CRASH_SEED:-1}
		for ((i = 0; i < KILLS / 4; i++)); do
			rm -rf r
			assay record -q -o r -e cpu-clock -F "$(at_most 997)" -p "$busy" >/dev/null 2>&1 3>&- &
			recorder=$!
			# The random part is the number of samples that there are.
			wait_for has_samples $((1 + RANDOM % 300)) r || return 1
			kill -9 "$recorder"
			wait "$recorder" 2>/dev/null || true
			sum=$(total_of r)
			[ "$sum" -gt 0 ] || { echo "no samples"; return 1; }
			for by in symbol thread; do
				[ "$(assay report -i r --by "$by" --format json 2>/dev/null |
					jq -s '[.[].rows[].samples] | add // 0')" = "$sum" ] || return 1
			done
		done
	}
	(kill_recorders)
}

@test "two mergers at once: one waits for the other, and sums stay" {
	make_history
	all=$(total_of history)
	for _ in 1 2 3; do
		make_history
		assay retain -q history --tier minutes=1s --tier hours=never 2>first &
		one=$!
		assay retain -q history --tier minutes=1s --tier hours=never 2>second &
		two=$!
		wait "$one" || has "another process" first
		wait "$two" || has "another process" second
		[ "$(total_of history)" = "$all" ]
		[ "$(find history/samples/current -mindepth 1 -maxdepth 1 | wc -l)" = 1 ]
	done
}
