#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Intel PT: packets and flow of libipt's test vectors. `tests/pt/vectors.py make` makes their folder.
load helpers

@test "packets and flow of libipt's vectors are as libipt has them, but for a list with reasons" {
	[ -n "${LIBIPT_VECTORS-}" ] || skip "LIBIPT_VECTORS=FOLDER names no folder of vectors (docs/intel-pt.md)"
	[ -x "$ASSAY_BUILD/tests/pt/pt_raw" ] || skip "no decoder of raw traces in this build"
	"$ROOT/tests/pt/vectors.py" "$ASSAY_BUILD" "$LIBIPT_VECTORS"
}

@test "instructions of libipt's vectors with perf's side band are as libipt has them, but for a list with reasons" {
	[ -n "${LIBIPT_PEVENT-}" ] || skip "LIBIPT_PEVENT=FOLDER names no folder of vectors (docs/intel-pt.md)"
	"$ROOT/tests/pt/pevent_vectors.py" assay "$LIBIPT_PEVENT"
}

@test "a recording that is not decoded is no expected difference of a vector with side band" {
	# pevent-warn has an expected difference, and this is none of those that libipt names.
	mkdir -p vectors/pevent-warn
	: >vectors/pevent-warn/pevent-warn-ptxed.exp
	printf 'code' >vectors/pevent-warn/pevent-warn.bin
	: >vectors/pevent-warn/pevent-warn.pt
	: >"vectors/pevent-warn/pevent-warn-pevent-primary,sample-type=0x4.sb"
	run "$ROOT/tests/pt/pevent_vectors.py" false vectors
	[ "$status" = 1 ]
}

@test "a decoder that fails is no expected difference of a vector" {
	local folder="$BATS_TEST_TMPDIR"
	mkdir -p "$folder/tests/pt" "$folder/vectors/bad_cpu"
	# bad_cpu has an expected difference.
	touch "$folder/vectors/bad_cpu/"{bad_cpu.pt,bad_cpu-ptxed.exp,org,opts}
	printf '#!/bin/sh\nexit 3\n' >"$folder/tests/pt/pt_raw"
	chmod +x "$folder/tests/pt/pt_raw"
	run "$ROOT/tests/pt/vectors.py" "$folder" "$folder/vectors" bad_cpu
	[ "$status" = 1 ]
	[[ $output == *"ptxed bad_cpu: exit 3"*"ptxed: 0 equal, 0 expected differences, 1 others"* ]]
}
