#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Intel PT: where the code of a trace is taken from, and what is said where it is not to be had.
load helpers
load pt

# trace_of OPTION… -- PROGRAM…: trace.data, and its truth.
trace_of() {
	[ -x "$PT/pt_trace" ] || skip "the generator is for x86-64"
	local options=()
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	timeout 100 "$PT/pt_trace" "${options[@]}" trace.data truth "$@" >out 2>err </dev/null ||
		{ grep -q "not permitted" err && skip "ptrace is not permitted here"; cat err; return 1; }
	by_thread <truth >want
}

# is_whole FILE [OPTION…]: all branches that were taken are decoded of it.
is_whole() {
	local file=$1
	shift
	assay script -i "$file" "$@" --itrace=be -F tid,ip,addr 2>said | decoded | by_thread >ours
	cmp want ours
}

@test "a trace's archive has all code that it ran through: each command decodes it elsewhere" {
	cp "$PROGRAMS/flow" program
	trace_of --tsc --mtc -- ./program longjmp
	assay report -i trace.data --itrace=i1ig -l >listed
	assay report -i trace.data --latency >latency
	assay script -i trace.data --itrace=b -F ip,sym >names
	assay export -i trace.data --itrace=i1ig -F folded -o folded
	assay annotate -i trace.data --itrace=i1i -a main >annotated
	assay archive -i trace.data -o archive
	cmp trace.data archive/data
	cmp program "archive/files$PWD/program"
	command -v zstd >/dev/null && assay archive -i trace.data -o archive.tar.zst
	# Something else is there now, as on another machine.
	cp /bin/true program
	run ! is_whole trace.data
	local from
	for from in archive archive.tar.zst; do
		[ -e $from ] || continue
		is_whole $from
		[ ! -s said ]
		assay report -i $from --itrace=i1ig -l | tail -n +4 | diff - <(tail -n +4 listed)
		assay report -i $from --latency | diff - latency
		assay script -i $from --itrace=b -F ip,sym | cmp - names
		assay export -i $from --itrace=i1ig -F folded -o - | cmp - folded
		assay annotate -i $from --itrace=i1i -a main | cmp - annotated
		assay inject -i $from -o injected --itrace=b
		[ "$(assay script -i injected --no-itrace -F ip | wc -l)" = "$(wc -l <names)" ]
		rm -rf imported
		assay import -q $from -o imported --itrace=i1ig
		assay report -i imported --symfs archive/files -l | tail -n +4 | diff - <(tail -n +4 listed)
	done
	assay export -i archive -F sqlite -o calls.sqlite
}

@test "--symfs names the folder that the recorded machine's files are in" {
	cp "$PROGRAMS/flow" program
	trace_of --tsc -- ./program recursion
	mkdir -p "copies$PWD"
	mv program "copies$PWD/program"
	run ! is_whole trace.data
	is_whole trace.data --symfs copies
	assay script -i trace.data --symfs copies --itrace=b -F ip,sym | grep -q main
	assay report -i trace.data --symfs copies --itrace=i1i -l | grep -q main
	run assay report -i trace.data --symfs nowhere
	refused 1 "--symfs: nowhere: No such file or directory"
}

@test "--vmlinux names the kernel's file, which must be of the recorded build" {
	trace_of --kernel --vmlinux vmlinux --tsc --mtc --interrupt 700 -- "$PROGRAMS/flow" indirect
	run assay script -i trace.data --itrace=be -F tid,ip,addr
	[[ $output == *"the kernel's code is not to be had"*"--vmlinux names one"* ]]
	is_whole trace.data -k vmlinux
	[ ! -s said ]
	assay report -i trace.data --vmlinux vmlinux --itrace=i1i -l | grep -q main
	assay annotate -i trace.data --vmlinux vmlinux --itrace=i1i -a main | grep -q main
	assay inject -i trace.data -k vmlinux -o injected --itrace=b
	[ "$(assay script -i injected --no-itrace -F ip | wc -l)" = "$(grep -c '=>' ours)" ]
	run assay script -i trace.data -k /bin/ls --itrace=be
	[[ $output == *"/bin/ls is of another build than the kernel that was traced: it is not used"* ]]
	run assay report -i trace.data -k "$ROOT/README.md"
	refused 1 "--vmlinux: $ROOT/README.md" "not an ELF file"
	run assay report -i trace.data -k nothing
	refused 1 "--vmlinux: nothing: No such file or directory"
}

@test "a kernel module's code is in a copy of kcore alone: which module is missing, and what that costs" {
	trace_of --kernel --vmlinux vmlinux --module main --tsc --mtc --psb 300 -- "$PROGRAMS/flow" indirect
	is_whole trace.data -k vmlinux && return 1
	grep -q "the code of the kernel's module snd_probe is not decoded, which is [0-9]* errors: .*perf record --kcore" said
	# What is decoded in spite of that is true.
	grep -v error ours | awk '$2 != 0 && $4 != 0' | sort -u >listed
	[ "$(wc -l <listed)" -gt 100 ]
	[ "$(comm -23 listed <(sort -u want) | wc -l)" -eq 0 ]
}
