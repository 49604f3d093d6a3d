#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# assay script on a trace: fields, views and JSON, as perf has them where perf has them.
load helpers
load pt

# script prints the same as perf, except for blanks, and for the names that assay gives without symbols (the
# PLT, the trampoline of signal handlers). If an address has several names, each of the two may take another
# one.
not_of_symbols() {
	sed -E 's/ (\.plt|<signal handler>)(\+0x[0-9a-f]+)?/ [unknown]/g'
}

same_lines() {
	command -v perf >/dev/null || skip "perf is not installed"
	assay script -i trace.data "$@" 2>err | not_of_symbols | without_blanks >ours
	perf script -i trace.data "$@" 2>err | without_blanks >theirs
	[ -s ours ]
	diff theirs ours | head -5
	cmp theirs ours
}

@test "fields that are added to the usual ones are shown as perf shows them" {
	objcopy --strip-all "$PROGRAMS/flow" program
	same_branches --tsc --mtc --cyc -- ./program signals
	same_lines --itrace=be -F +flags
	same_lines --itrace=ibxwpe -F+flags
	same_lines --itrace=i0nse -F +insn
	same_lines --itrace=be -F pid,cpu,time,event,ip,addr
	# What perf needs xed for: its lines of bytes with other ends.
	assay script -i trace.data --insn-trace=raw | not_of_symbols | without_blanks >ours
	perf script -i trace.data --insn-trace 2>err | without_blanks >theirs
	cmp theirs ours
	assay script -i trace.data --insn-trace --xed >disassembled
	[ "$(wc -l <disassembled)" -eq "$(wc -l <ours)" ]
	grep -q '	ret' disassembled
}

@test "lines of two addresses are the branches one by one, with the text between them" {
	same_branches --tsc --mtc --interrupt 300 --psb 700 -- "$PROGRAMS/flow" threads
	local each tid
	one_by_one() {
		assay script -i trace.data "$@" 2>err | sed -E 's/^ *[0-9]+ //'
	}
	for each in be bpwxe bes100 cre bei100ie bl16e; do
		assay script -i trace.data --itrace=$each -F ip,addr >rows 2>err
		[ "$(grep -c '=>' rows)" -gt 100 ]
		one_by_one --itrace=$each -F tid,ip,addr | cmp - rows
	done
	# --tid leaves out the branches of other threads.
	tid=$(tail -n 1 truth | awk '{ print $1 }')
	assay script -i trace.data --itrace=b -F ip,addr --tid "$tid" >rows
	[ "$(wc -l <rows)" -gt 100 ]
	[ "$(wc -l <rows)" -lt "$(assay script -i trace.data --itrace=b -F ip,addr | wc -l)" ]
	one_by_one --itrace=b -F tid,ip,addr --tid "$tid" | cmp - rows
	assay script -i trace.data --itrace=b -F ip,addr --format json | jq -se 'length > 100' >out
}

@test "a trace that is of no CPU says so when it is asked for one" {
	same_branches --tsc -- "$PROGRAMS/flow" longjmp
	run assay script -i trace.data --itrace=b -C 1
	refused 2 "the samples have no CPU"
	trace_of --tsc --mtc --cpus 2 -- "$PROGRAMS/flow" threads
	assay script -i trace.data --itrace=be -F tid,cpu,time,ip,addr | grep -F '[001]' >all
	assay script -i trace.data --itrace=be -F tid,cpu,time,ip,addr -C 1 >one
	[ "$(wc -l <one)" -gt 100 ]
	cmp all one
}

@test "a dump has the owner of each piece of trace, and the decoder's parameters" {
	same_branches --tsc --mtc -- "$PROGRAMS/flow" threads
	command -v perf >/dev/null || skip "perf is not installed"
	local words='(Time (Shift|Zero)|PMU Type|.* bit|MTC freq bits|TSC:CTC .*or|Max non-turbo ratio|Snapshot mode) '
	assay script -i trace.data -D | grep -a -oE "size: 0x.*  cpu: .*|^  $words .*" >ours
	perf script -i trace.data -D 2>/dev/null | grep -a -oE "size: 0x.*  cpu: .*|^  $words .*" >theirs
	[ "$(grep -c 'tid: ' ours)" -eq 4 ]
	diff theirs ours
}

@test "JSON has the fields of a trace: kinds and targets of branches, instructions, errors" {
	same_branches --tsc --mtc --cyc -- "$PROGRAMS/flow" recursion
	assay script -i trace.data --itrace=bpi1i --format json -F +insn,+disasm,+callindent >objects
	jq -se 'map(select(.event == "branches:u" and .flags == "call" and .target.symbol == "deep")) | length > 3' objects
	jq -se 'map(select(.event == "branches:u" and .flags == "tr strt")) | length > 0' objects
	jq -se 'map(.depth // 0) | max > 5' objects
	jq -se 'map(select(.cycles)) | all(.instructions > 0)' objects
	jq -se 'map(select(.event == "cbr")) | all(.synth == "cbr: 20 freq: 1000 MHz (100%)")' objects
	jq -se 'map(select(.insn == "c3")) | length > 100 and all(.disasm | startswith("ret"))' objects
	printf '\x05\x05\x05\x05' | dd of=trace.data bs=1 seek=$(($(stat -c %s trace.data) / 2)) conv=notrunc status=none
	assay script -i trace.data --itrace=e --format json 2>err >objects
	jq -se 'length > 0 and all(.error and .time_ns and .trace_offset)' objects
}

# Decoding begins and ends at PSBs near the window: in it, nothing differs from the whole trace.
same_windows() {
	local window at
	assay script -i trace.data --itrace=be --ns -F tid,time,ip,addr 2>err >whole
	for at in 0.2 0.5 0.9; do
		# of two lines
		window=$(awk -v at=$at '{ t[NR] = $2 } END {
			printf "%.9f,%.9f", t[int(NR * at)], t[int(NR * (at + 0.03))] }' whole)
		awk -v from="${window%,*}" -v to="${window#*,}" '$2 + 0 >= from && $2 + 0 <= to' whole >want
		assay script -i trace.data --itrace=be --ns -F tid,time,ip,addr --time "$window" 2>err >ours
		[ -s ours ]
		equal_files want ours
		ASSAY_PT_PARTS=1000 assay script -i trace.data --itrace=be --ns -F tid,time,ip,addr --time "$window" 2>err |
			cmp want -
	done
}

@test "a window has the branches that the whole trace has at that time" {
	local how
	for how in "" "--mtc" "--mtc --cyc" "--mtc --cpus 2 --turn 40" "--mtc --defer --long"; do
		# shellcheck disable=SC2086
		same_branches --tsc --psb 300 $how -- "$PROGRAMS/flow" threads
		same_windows
	done
}

@test "several windows are decoded, and nothing between them" {
	same_branches --tsc --mtc --psb 300 -- "$PROGRAMS/flow" threads
	assay script -i trace.data --itrace=be --time "10%-15%,60%-62%" >ours 2>err
	{
		assay script -i trace.data --itrace=be --time "10%-15%"
		assay script -i trace.data --itrace=be --time "60%-62%"
	} >want 2>err
	[ -s want ]
	equal_files want ours
	# A PSB has its offset in the whole trace.
	assay script -i trace.data --itrace=p -F time,event,synth --time "30%-50%,60%-90%" | grep psb >ours
	[ "$(wc -l <ours)" -gt 3 ]
	assay script -i trace.data --itrace=p -F time,event,synth | grep psb | grep -xFf ours | cmp - ours
	[ "$(assay script -i trace.data --itrace=b --time "0,0.000000001" | wc -l)" = 0 ]
}

@test "with --exact-depth, calls in a window are as deep as in the whole trace" {
	same_branches --tsc --mtc --psb 300 -- "$PROGRAMS/flow" longjmp
	local window
	assay script -i trace.data --call-trace -F time,callindent --ns 2>err >whole
	window=$(awk '{ t[NR] = $1 } END { printf "%.9f,%.9f", t[int(NR / 2)], t[int(NR * 0.6)] }' whole)
	awk -v from="${window%,*}" -v to="${window#*,}" '$1 + 0 >= from && $1 + 0 <= to' whole >want
	assay script -i trace.data --call-trace -F time,callindent --ns --time "$window" --exact-depth 2>err >ours
	[ -s ours ]
	diff <(sed 's/ *$//' want) <(sed 's/ *$//' ours)
	run assay script -i trace.data --call-trace -F time,callindent --ns --time "$window"
	[[ "$output" == *"the depth of calls counts from the begin of the window; with --exact-depth"* ]]
	grep -v "the depth of calls" <<<"$output" >from_window
	# The same calls, less deep.
	diff <(sed 's/ //g' want) <(sed 's/ //g' from_window)
	[ "$(head -n 1 from_window | sed 's/ *$//' | wc -c)" -lt "$(head -n 1 want | sed 's/ *$//' | wc -c)" ]
}
