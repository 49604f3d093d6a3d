#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Intel PT: the branches that are decoded are those that were taken, and those that perf decodes.
load helpers

PT=$ASSAY_BUILD/tests/pt

# Branches by thread, in the order of time: perf interleaves threads.
by_thread() {
	awk '{ print $1, $2, $3, $4 }' | sort -s -n -k1,1
}

# as_perf [OPTION…]: what script prints of the trace is what perf prints, but for blanks between fields.
as_perf() {
	command -v perf >/dev/null || skip "perf is not installed"
	timeout 60 assay script -i trace.data "$@" 2>ours.err | tr -s ' \t' ' ' >ours
	timeout 100 perf script -i trace.data "$@" 2>perf.err | tr -s ' \t' ' ' >theirs
	[ -s ours ]
	diff -u theirs ours | head -20
	cmp theirs ours
}

# same_branches [OPTION…] -- PROGRAM [ARG…]: generator, decoder and perf agree, line for line.
same_branches() {
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
	[ "$(wc -l <want)" -gt 1000 ]
	timeout 60 assay script -i trace.data --itrace=be -F tid,ip,addr 2>decoder | by_thread >ours
	diff -u want ours | head -20
	cmp want ours
	command -v perf >/dev/null || return 0
	timeout 100 perf script -i trace.data --itrace=be -F tid,ip,addr 2>perf.err | by_thread >theirs
	diff -u want theirs | head -20
	cmp want theirs
}

@test "recursion deeper than the stack of return addresses" {
	same_branches -- "$PROGRAMS/flow" recursion
}

@test "longjmp leaves returns that never come" {
	same_branches -- "$PROGRAMS/flow" longjmp
}

@test "signals and faults, and what their handlers return to" {
	same_branches --tsc -- "$PROGRAMS/flow" signals
}

@test "threads have a trace each" {
	same_branches --tsc --mtc -- "$PROGRAMS/flow" threads
}

@test "a forked process has its parent's code" {
	same_branches --tsc -- "$PROGRAMS/flow" fork
}

@test "indirect calls, jump tables and string instructions, with all time packets" {
	same_branches --tsc --mtc --cyc -- "$PROGRAMS/flow" indirect
}

@test "deferred TIPs and long TNTs, interrupts and many PSBs" {
	same_branches --defer --long --interrupt 777 --psb 300 -- "$PROGRAMS/flow" indirect
}

@test "returns that are not compressed" {
	same_branches --no-retcomp --defer -- "$PROGRAMS/flow" recursion
}

@test "gzip, and the dynamic linker before it" {
	head -c 300 "$ROOT/README.md" >text
	same_branches --tsc --mtc -- gzip -1 -c text
}

@test "each field of a trace is perf's" {
	same_branches --tsc --mtc --interrupt 500 --psb 2000 -- "$PROGRAMS/flow" signals
	local all=comm,tid,time,event,ip,dso
	as_perf --itrace=be -F $all,addr,flags
	as_perf --itrace=i1ie -F $all,flags,insn,period
	as_perf --itrace=i100ie -F $all,period
	as_perf --itrace=cre -F $all,addr,flags
	as_perf --itrace=i500il16e -F tid,ip,brstack
	as_perf --itrace=ps2e -F $all,synth
	as_perf --itrace=bs1000e -F $all,addr
}

@test "instructions per cycle are perf's, by CYC packets and by MTCs" {
	same_branches --tsc --mtc --cyc -- "$PROGRAMS/flow" indirect
	as_perf --itrace=be -F ip,addr,ipc
	grep -q IPC: ours
}

@test "what works on samples works on a trace: report, annotate, diff, exports" {
	same_branches --tsc --mtc -- "$PROGRAMS/flow" indirect
	assay script -i trace.data --itrace=i1i -F ip,sym >instructions
	local n
	n=$(wc -l <instructions)
	assay report -i trace.data --itrace=i1i -l --format csv >listed
	[ "$(awk -F, 'NR > 1 { n += $5 } END { print n }' listed)" = "$n" ]
	# A function has as many samples as instructions were run in it.
	local main
	main=$(grep -c ' main$' instructions)
	[ "$main" -gt 0 ]
	grep ",main,.*,$main," listed
	# Periods add up to the same, however few samples there are.
	assay export -i trace.data --itrace=i50i -F folded --weight events -o folded
	[ "$(awk '{ n += $NF } END { print n }' folded)" -gt $((n - 50)) ]
	[ "$(awk '{ n += $NF } END { print n }' folded)" -le "$n" ]
	# Call chains come from calls and returns.
	assay export -i trace.data --itrace=i1ig -F folded -o folded
	grep -q 'main;.*' folded
	assay annotate -i trace.data --itrace=i1i -a main >annotated
	grep -q main annotated
	assay diff trace.data trace.data --itrace=i1i >same
	run assay report -i trace.data --no-itrace
	[[ $output == *"no samples"* ]]
}

@test "nonsense in --itrace is refused: which letter, and what is allowed" {
	same_branches --tsc -- "$PROGRAMS/flow" longjmp
	run assay script -i trace.data --itrace=bz
	[ "$status" -eq 2 ]
	[[ $output == *"'z' is no letter of --itrace; there are i b x w p o c r e d g G l L s q"* ]]
	run assay report -i trace.data --itrace=i10xs
	[ "$status" -eq 2 ]
	[[ $output == *"'x', which is no unit; there are i (instructions), t (ticks), ns, us and ms"* ]]
	run assay script -i trace.data --itrace=g2000
	[ "$status" -eq 2 ]
	[[ $output == *"the size of 'g' is from 1 to 1024, not 2000"* ]]
	run assay export -i trace.data --itrace=e-q -F folded
	[ "$status" -eq 2 ]
	[[ $output == *"there are o (overflows) and l (lost data)"* ]]
	run assay script -i trace.data --itrace=bs
	[ "$status" -eq 2 ]
	[[ $output == *"'s' needs a number"* ]]
	run assay script -i trace.data --insn-trace --call-trace
	[ "$status" -eq 2 ]
}
