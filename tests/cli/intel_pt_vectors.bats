#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Intel PT: packets and flow of libipt's test vectors. `tests/pt/vectors.py make` makes their folder.
load helpers

@test "packets and flow of libipt's vectors are as libipt has them, but for a list with reasons" {
	[ -n "${LIBIPT_VECTORS-}" ] || skip "LIBIPT_VECTORS=FOLDER names no folder of vectors (docs/intel-pt.md)"
	[ -x "$ASSAY_BUILD/tests/pt/pt_raw" ] || skip "no decoder of raw traces in this build"
	"$ROOT/tests/pt/vectors.py" "$ASSAY_BUILD" "$LIBIPT_VECTORS"
}
