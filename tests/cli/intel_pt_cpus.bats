#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Intel PT of whole CPUs: each branch is of the thread that took it.
load helpers
load pt

@test "threads that take turns on a CPU are distinguished by PERF_RECORD_SWITCH_CPU_WIDE" {
	same_branches --tsc --mtc --cpus 1 --turn 50 -- "$PROGRAMS/flow" threads
	[ "$(awk '{ print $1 }' want | sort -u | wc -l)" -eq 4 ]
	same_branches --tsc --mtc --cpus 2 --turn 37 --psb 400 --interrupt 333 -- "$PROGRAMS/flow" fork
}

@test "threads that take turns on CPUs are distinguished by PERF_RECORD_SWITCH" {
	same_branches --tsc --mtc --cpus 2 --turn 20 --switch -- "$PROGRAMS/flow" threads
}

@test "threads that take turns on CPUs are distinguished by sched_switch" {
	same_branches --tsc --mtc --cpus 2 --turn 37 --tracepoint -- "$PROGRAMS/flow" threads
	same_branches --tsc --mtc --cpus 1 --turn 37 --tracepoint -- "$PROGRAMS/flow" fork
	as_perf --itrace=be -F tid,cpu,event,ip,addr
}

@test "a thread of a traced kernel continues where the trace passes __switch_to" {
	local how
	for how in --mtc "--mtc --cyc" "--mtc --tracepoint" "--mtc --cpus 2" "--mtc --stall 50000" "--mtc --cpus 2 --stall 30000"; do
		# shellcheck disable=SC2086
		trace_of --kernel --tsc --cpus 1 --turn 300 $how -- "$PROGRAMS/flow" switches
		assay script -i trace.data --itrace=be -F tid,ip,addr 2>decoder | decoded | by_thread >ours
		equal_files want ours
		# Calls alone are of the same threads, though the way there is none.
		assay script -i trace.data --itrace=cre -F tid,ip,addr | decoded >calls
		assay script -i trace.data --itrace=be -F tid,flags,ip,addr |
			grep -E ' (call|return|tr strt|tr end) ' | sed 's/ \(call\|return\|tr [a-z]* *[a-z]*\) / /' >all
		diff -wq <(awk '{ print $1, $2, $4 }' calls) <(awk '{ print $1, $2, $4 }' all)
	done
}

@test "kernel code comes from a vmlinux, by its build id, at any address of the kernel" {
	trace_of --kernel --vmlinux vmlinux --tsc --mtc --interrupt 700 -- "$PROGRAMS/flow" indirect
	run assay script -i trace.data --itrace=be -F tid,ip,addr
	[[ $output == *"the kernel's code is missing and is not decoded"*"vmlinux of its build"* ]]
	local id
	id=$(readelf -n vmlinux | sed -n 's/.*Build ID: //p')
	mkdir -p "$HOME/.debug/.build-id/${id:0:2}/${id:2}"
	cp vmlinux "$HOME/.debug/.build-id/${id:0:2}/${id:2}/elf"
	assay script -i trace.data --itrace=be -F tid,ip,addr 2>decoder | by_thread >ours
	equal_files want ours
}
