#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# make check-hardware, where an instruction is a cycle and a nanosecond.
. /tests/checks.sh

is_passed() { # FEATURE: the row of the report
	grep "^$1 *passed" found || { cat found; fail "$1"; }
}

# The compiler is a copy of the program that was built outside.
each_feature_that_the_machine_has() {
	CC=/programs/cc python3 /tests/hardware_check.py /bin/assay hardware.json >found 2>&1 || { cat found; fail "a feature"; }
	for feature in "timer sampling" "call stacks" "hardware counters" "sampling by cycles"; do
		is_passed "$feature"
	done
	# QEMU's processor keeps no branches, and has no slots.
	grep -q "^branch stacks (LBR) *skipped" found
	grep -q "^top-down *skipped" found
	has '"architecture": "aarch64"' hardware.json
}

check "make check-hardware passes, and names the missing parts" each_feature_that_the_machine_has
