#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Java of Debian for AArch64: the stacks of a program whose paths are known.
. /tests/checks.sh

# Loops have polls, which are the places of the methods in them.
flags="-Xmx64m -XX:+UseSerialGC -XX:+UseCountedLoopSafepoints -XX:ReservedCodeCacheSize=64m"

has_thread() {
	grep -qs "^Thread-0" /proc/"$program"/task/*/comm
}

has_compiled() {
	grep -q " 4  *golden::spin " compilations
}

# stacks_of CONDITION COLLECTOR FLAG…: the program works for ever beside the recorder, from the condition on.
stacks_of() {
	state=$1 collector=$2
	shift 2
	# shellcheck disable=SC2086 # words
	java $flags "$@" -XX:+PrintCompilation -cp /programs golden >compilations &
	program=$!
	wait_for "$state"
	record_until "has_any_samples 1500" -a --collector "$collector" -e cycles -c 10000019 || failed=1
	kill -9 $program
	assay info s
	[ -z "${failed-}" ] || fail "no recording"
	same 0 "$(fact java-version s)" "virtual machines that are not read"
	assay export -i s --format speedscope -o s.json
	python3 /tests/language_stacks.py s.json java
}

check "Java's interpreted functions, in the kernel" stacks_of has_thread bpf -Xint
check "Java's compiled functions, in the kernel" stacks_of has_compiled bpf
check "Java's functions, in copied stacks" stacks_of has_compiled perf
