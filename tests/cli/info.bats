#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# tests/data/session-format-1 is the example of docs/formats.md: it has to stay readable for ever.

load helpers

EXAMPLE=$BATS_TEST_DIRNAME/../data/session-format-1

example() {
	cp -r "$EXAMPLE" example.assay
	chmod -R u+w example.assay
	segment=example.assay/samples/current/0000.segment
}

@test "info shows the content of a session" {
	example
	golden info.txt assay info example.assay
}

@test "info says the same as JSON" {
	example
	golden info.json assay info --format json -i example.assay
}

@test "a path that is not there is no session" {
	run assay info absent.assay
	refused 1 "no session 'absent.assay'"
	run assay info
	refused 1 "no session 'assay.data'"
}

@test "a file, a perf.data file and a directory without segments are refused, each by its name" {
	echo hello >file
	run assay info file
	refused 1 "'file' is a file, not a session directory"
	printf 'PERFILE2%100s' '' >perf.data
	run assay info perf.data
	refused 1 "perf.data: " "header's size"
	mkdir empty
	run assay info empty
	refused 1 "'empty' is not an assay session"
}

@test "two sessions at once are a usage error" {
	run assay info -i a b
	refused 2 "more than one session"
}

@test "a torn tail is a warning, and the rest is there" {
	example
	truncate -s -5 "$segment"
	run assay info example.assay
	refused 0 "3 samples" "ended       no" "the last" "are left out"
}

@test "a flipped byte in the counts is a loss of so many samples" {
	example
	printf '\xff' | dd of="$segment" bs=1 seek=320 conv=notrunc status=none
	run assay info example.assay
	refused 0 "cpu-clock at 997 Hz: 0 samples" "3: stored in a damaged part" "the counts of 3 samples are damaged"
}

@test "a session is described while it is recorded" {
	need_recording
	background assay record -q -o live.assay -- sleep 100000
	wait_for assay info live.assay >/dev/null 2>&1
	run assay info live.assay
	refused 0 "command     sleep 100000" "ended       no: still recording"
	kill "$pid"
	wait "$pid" || true
	run assay info live.assay
	refused 0 "own cost"
}
