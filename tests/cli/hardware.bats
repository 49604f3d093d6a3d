#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# make check-hardware: each feature of the processor, and the file that users send in.
load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

@test "it tries what the machine has, and its file has no private data" {
	need_recording
	command -v cc >/dev/null || skip "no compiler here"
	run python3 "$ROOT/tests/hardware_check.py" "$(command -v assay)" found.json
	echo "$output"
	[ "$status" = 0 ]
	[ "$(jq -r '.features[] | select(.name == "timer sampling" or .name == "call stacks") | .result' found.json | sort -u)" = passed ]
	# Each one that did not run has a reason.
	[ "$(jq '[.features[] | select(.said == "")] | length' found.json)" = 0 ]
	run grep -iE "$(hostname)|$HOME/|$PWD|/tmp" found.json
	[ "$status" = 1 ]
}

@test "a feature that gives wrong numbers fails" {
	need_recording
	command -v cc >/dev/null || skip "no compiler here"
	# Its reports name another function.
	printf '#!/bin/sh\n%s "$@" | sed s/known_loop/other/g\n' "$(command -v assay)" >wrong
	chmod 755 wrong
	run python3 "$ROOT/tests/hardware_check.py" ./wrong found.json
	[ "$status" = 1 ]
	[[ "$output" == *"timer sampling          FAILED    0 of "* ]]
	[[ "$output" == *"call stacks             FAILED"* ]]
	[ "$(jq -r '.features[0].result' found.json)" = failed ]
	# Without doctor, nobody knows whether the machine has a feature.
	printf '#!/bin/sh\n[ "$1" != doctor ] || exit 1\nexec %s "$@"\n' "$(command -v assay)" >wrong
	run python3 "$ROOT/tests/hardware_check.py" ./wrong found.json
	[ "$status" = 1 ]
	[[ "$output" == *"hardware counters       FAILED    assay doctor gave no list of checks"* ]]
}
