#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# opreport against the original, if that is installed: below $ASSAY_OPROFILE, or in /usr.
load helpers

@test "random option sets over all kinds of sessions differ from the original as docs/oprofile.md lists" {
	original=${ASSAY_OPROFILE:-/usr}/bin/opreport
	{ [ -x "$original" ] && ! "$original" --version | grep -q assay; } ||
		skip "OProfile's own opreport is not installed; ASSAY_OPROFILE can name its prefix"
	python3 "$ROOT/tests/compare_oprofile.py" -n "${ASSAY_OPROFILE_CASES:-60}" --seed "${ASSAY_OPROFILE_SEED:-1}" "$ASSAY_BUILD" "$original"
}

@test "every kind of session and its options can be made without the original" {
	for kind in demo events masks threads processes cpus cxx many anonymous modules huge sessions archive diff xml; do
		options=$(OPSESSIONS_BIN=$BATS_FILE_TMPDIR/bin python3 "$TOOLS/opsessions.py" "$kind" 1 "$PWD/made")
		[ "$(OPSESSIONS_BIN=$BATS_FILE_TMPDIR/bin python3 "$TOOLS/opsessions.py" "$kind" 1 "$PWD/again")" = "${options//made/again}" ]
		n=$(find made/oprofile_data -name '*.[0-9]*.*.*' -type f | wc -l)
		[ "$n" -gt 0 ]
		[ "$n" = "$(find again/oprofile_data -name '*.[0-9]*.*.*' -type f | wc -l)" ]
	done
}
