#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Intel PT: what a trace has beside branches, letter by letter of --itrace, and traces with less in them.
load helpers
load pt

@test "values of ptwrite, transactions and power events are perf's: the letters w, x and p" {
	same_branches --tsc --mtc --psb 2000 --packets 50 -- "$PROGRAMS/flow" longjmp
	as_perf --itrace=w -F tid,time,event,ip,synth --ns
	[ "$(grep -c 'ptwrite: .*IP: 1 payload: 0x' ours)" -gt 10 ]
	[ "$(grep -c 'ptwrite: .*IP: 0 payload: 0x' ours)" -gt 10 ]
	as_perf --itrace=x -F tid,time,event,ip,flags --ns
	[ "$(grep -c transactions ours)" -gt 40 ]
	# Without addresses: perf gives MWAIT and PWRE that of the EXSTOP behind them.
	as_perf --itrace=p -F tid,time,event,synth --ns
	local kind
	for kind in mwait pwre exstop pwrx cbr psb; do
		grep -q "$kind:" ours
	done
	as_perf --itrace=bxwe -F tid,event,ip,synth
	as_perf --itrace=be -F tid,event,ip,addr,flags
	[ "$(grep -c 'tx abrt' ours)" -gt 10 ]
	# In parts, too.
	assay script -i trace.data --itrace=bxwpe -F tid,time,event,ip,addr,flags,synth --ns >one
	ASSAY_PT_PARTS=700 assay script -i trace.data --itrace=bxwpe -F tid,time,event,ip,addr,flags,synth --ns | cmp one -
	# A profile, and the samples that inject writes.
	assay report -i trace.data --itrace=x -l >listed
	grep -q flow listed
	assay inject -i trace.data --itrace=xwp -o injected
	assay script -i injected --no-itrace -F event,ip,synth >injected.lines
	assay script -i trace.data --itrace=xwp -F event,ip,synth | cmp - injected.lines
}

@test "a trace without TNT packets has the places that it tells, as perf decodes it" {
	trace_of --tsc --mtc --no-retcomp --no-tnt --interrupt 500 -- "$PROGRAMS/flow" indirect
	quick_as_perf --itrace=ibe -F tid,time,event,ip --ns
	[ "$(wc -l <ours)" -gt 500 ]
	run ! grep error ours
	run --separate-stderr assay script -i trace.data --itrace=ie -F ip
	[[ $stderr == *"the trace has no directions of branches (notnt)"* ]]
}

@test "samples of cycles have the cycles since the last one, and add up: the letter y" {
	trace_of --tsc --mtc --cyc -- "$PROGRAMS/flow" indirect
	assay script -i trace.data --itrace=yi1i -F event,ip,period,ipc >both
	# At each instruction with cycles, a sample of these.
	[ "$(grep -c cycles: both)" -gt 100 ]
	grep cycles: both | awk '{ n += $1 } END { print n }' >cycles
	assay script -i trace.data --itrace=i1i -F ip,ipc | sed -n 's/.*IPC: .*\/\([0-9]*\)).*/\1/p' | awk '{ n += $1 } END { print n }' | cmp - cycles
	# perf has them since 6.2.
	case $(perf --version 2>/dev/null) in "" | "perf version 6.1."*) ;; *) as_perf --itrace=yi1ie -F event,ip,period ;; esac
	assay report -i trace.data --itrace=yi100i -l --format csv >listed
	grep -q cycles listed
}
