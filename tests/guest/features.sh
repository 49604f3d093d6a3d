#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# AArch64 with the features of newer processors: signed return addresses, scalable vectors; and programs of 32 bits.
. /tests/checks.sh

need_feature() {
	grep -qw "$1" /proc/cpuinfo || skip "this emulator has no $1"
}

# samples_in CHAIN SESSION: a pattern of names with semicolons between them
samples_in() {
	assay export -i "$2" -o s.folded >/dev/null 2>&1
	awk -v chain="$1" '$0 ~ chain { n += $NF } END { print n + 0 }' s.folded
}

# A sample in the first instructions of a function may lack a caller: at most one in 50.
most_have() { # CHAIN FUNCTION
	all=$(samples_in ";$2 " s) whole=$(samples_in "$1;$2 " s)
	between 30 "$all" 1000000 "samples in $2()"
	[ $(((all - whole) * 50)) -le "$all" ] || { cat s.folded; assay info s; fail "$whole of $all samples have their callers"; }
}

# All 59 calls of level() are there. The walk by frame pointers knows no caller of a function without a frame.
signed_addresses() { # CALLS OPTIONS…
	need_feature paca
	calls=$1
	shift
	record_until "has_samples bottom s 30" -e cycles -c 20000003 "$@" -- /programs/deep-signed 100000s
	most_have "main;level;(level;)*level" bottom
	same "$calls" "$(awk '/;bottom / { n = gsub(/;level/, ""); most = n > most ? n : most } END { print most }' s.folded)" "calls of level()"
}

vectors_on_the_stack() { # CHAIN OPTIONS…
	need_feature sve
	chain=$1
	shift
	record_until "has_samples leaf s 30" -e cycles -c 20000003 "$@" -- /programs/scalable 100000s
	most_have "$chain" leaf
}

# Such a program has its sampled functions, and by frame pointers the callers.
a_program_of_32_bits() { # CUT OPTIONS…
	cut=$1
	shift
	/programs/arm32 &
	pid=$!
	sleep 0.5
	kill -0 $pid || skip "this emulator runs no program of 32 bits"
	kill $pid
	record_until "has_samples spin s 30" -e cycles -c 20000003 "$@" -- /programs/arm32
	assay info s
	[ "${1-}" = -a ] || same 0 "$(fact unmapped s)" "samples without a mapping"
	[ "$cut" = no ] || between 30 "$(fact stack-unsupported s)" 1000000 "stacks that are cut"
	[ "$cut" = yes ] || same 0 "$(fact stack-unsupported s)" "stacks that are cut"
}

traces_that_assay_does_not_record() {
	refused 1 log assay record -e cs_etm// -o s -- true
	has "assay does not record Arm CoreSight ETM" log
	refused 1 log assay record -e arm_spe_0/ts_enable=1/ -o s -- true
	has "assay does not record Arm SPE" log
	refused 1 log assay record -e intel_pt// -o s -- true
	has "no Intel PT here" log
}

check "signed return addresses, copied stacks" signed_addresses 59
check "signed return addresses, frame pointers" signed_addresses 58 --call-graph fp
check "signed return addresses, in the kernel" signed_addresses 59 -a --collector bpf
check "frames with scalable vectors, copied stacks" vectors_on_the_stack "main;outer;with_vectors"
check "frames with scalable vectors, frame pointers" vectors_on_the_stack "main;outer" --call-graph fp
check "frames with scalable vectors, in the kernel" vectors_on_the_stack "main;outer;with_vectors" -a --collector bpf
check "a program of 32 bits, copied stacks" a_program_of_32_bits yes
check "a program of 32 bits, frame pointers" a_program_of_32_bits no --call-graph fp
check "a program of 32 bits, in the kernel" a_program_of_32_bits yes -a --collector bpf
check "ETM and SPE are refused by name" traces_that_assay_does_not_record
