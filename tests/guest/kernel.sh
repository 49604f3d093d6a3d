#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel itself and its modules, on a kernel older than those that test elsewhere.
. /tests/checks.sh

the_whole_machine_by_bpf() {
	assay record -a -o s -- /programs/split 50 >log 2>&1
	has "in-kernel unwinding" log
	assay report -i s >report.txt
	has "split" report.txt
}

check "the in-kernel sampler loads and finds who ran" the_whole_machine_by_bpf
