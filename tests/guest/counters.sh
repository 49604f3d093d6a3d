#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Hardware counters where an instruction is a cycle and a nanosecond: figures are exact.
. /tests/checks.sh

cycles_are_the_default() {
	assay record -o s -- /programs/split 30 >log 2>&1
	assay report -i s >report.txt
	has "event     cycles," report.txt
	assay doctor >doctor.txt
	has "hardware counters  ok" doctor.txt
}

check "the default event is cycles" cycles_are_the_default
