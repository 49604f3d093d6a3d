#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Node.js of Debian for AArch64: the stacks of a program whose paths are known. Its start takes some 2,000 samples.
. /tests/checks.sh

has_compiled() {
	grep -q "optimizing.*spin" compilations
}

# stacks_of CONDITION COLLECTOR FLAG…: the program works for ever beside the recorder, from the condition on.
stacks_of() {
	state=$1 collector=$2
	shift 2
	node "$@" --trace-opt /programs/golden.js >compilations &
	program=$!
	wait_for "$state"
	record_until "has_any_samples 6000" -a --collector "$collector" -e cycles -c 10000019 || failed=1
	kill -9 $program
	assay info s
	[ -z "${failed-}" ] || fail "no recording"
	same 0 "$(fact javascript-version s)" "virtual machines that are not read"
	assay export -i s --format speedscope -o s.json
	python3 /tests/language_stacks.py s.json js
}

check "JavaScript's interpreted functions, in the kernel" stacks_of true bpf --no-opt
check "JavaScript's compiled functions, in the kernel" stacks_of has_compiled bpf --no-turbo-inlining
check "JavaScript's functions, in copied stacks" stacks_of has_compiled perf
