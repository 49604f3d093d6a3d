#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Interpreters of Debian for AArch64: the stacks of programs whose paths are known.
. /tests/checks.sh

# stacks_of LANGUAGE COMMAND…: the program works for ever beside the recorder.
stacks_of() {
	language=$1
	shift
	"$@" "/programs/golden.$language" &
	program=$!
	# The kernel reads the thread pointer of a program's first thread when the thread leaves its CPU.
	sleep 1
	record_until "has_any_samples ${samples-2000}" -a --collector bpf -e cycles -c 10000019 || failed=1
	kill $program
	assay info s
	[ -z "${failed-}" ] || fail "no recording"
	same 0 "$(fact "$reason-version" s)" "interpreters that are not read"
	assay export -i s --format speedscope -o s.json
	python3 /tests/language_stacks.py s.json "$language"
}

reason=python
check "Python's functions, in the kernel" stacks_of py python3
reason=perl
check "Perl's functions, in the kernel" stacks_of pl perl
reason=php
check "PHP's functions, in the kernel" stacks_of php php
reason=ruby
check "Ruby's functions, in the kernel" stacks_of rb ruby --disable-gems
