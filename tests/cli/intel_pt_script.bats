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

@test "lines of two addresses, and of their names, are the branches one by one, with the text between them" {
	same_branches --tsc --mtc --interrupt 300 --psb 700 -- "$PROGRAMS/flow" threads
	local each fields tid
	one_by_one() {
		assay script -i trace.data "$@" 2>err | sed -E 's/^ *[0-9]+ //'
	}
	for fields in ip,addr ip,sym,symoff,dso,addr; do
		for each in be bpwxe bes100 cre bei100ie bl16e; do
			assay script -i trace.data --itrace=$each -F $fields >rows 2>err
			[ "$(grep -c '=>' rows)" -gt 100 ]
			one_by_one --itrace=$each -F tid,$fields | cmp - rows
		done
	done
	# --tid leaves out the branches of other threads.
	tid=$(tail -n 1 truth | awk '{ print $1 }')
	assay script -i trace.data --itrace=b -F ip,addr --tid "$tid" >rows
	[ "$(wc -l <rows)" -gt 100 ]
	[ "$(wc -l <rows)" -lt "$(assay script -i trace.data --itrace=b -F ip,addr | wc -l)" ]
	one_by_one --itrace=b -F tid,ip,addr --tid "$tid" | cmp - rows
	assay script -i trace.data --itrace=b -F ip,addr --format json | jq -se 'length > 100' >out
}

# A static program of the assembly in NAME.s.
assemble() { # 32|64 NAME
	local format=elf_x86_64
	[ "$1" = 64 ] || format=elf_i386
	{ as "--$1" -o "$2.o" "$2.s" && ld -m $format -o "$2" "$2.o"; } 2>err || skip "no such program can be made here: $(cat err)"
}

# has_instructions PROGRAM FILE: its lines "ADDRESS insn: BYTES" are instructions of the program, by objdump.
has_instructions() {
	objdump -d -w "$1" | sed -nE 's/^ *([0-9a-f]+):\t([0-9a-f ]+).*/\1 insn: \2/p' | sed 's/ *$//' | sort >listed
	[ "$(sort -u "$2" | wc -l)" -gt 5 ]
	diff <(comm -23 <(sort -u "$2") listed) /dev/null
}

# Instructions whose sizes differ in 64-bit code.
narrow_code() {
	cat <<-'END'
		mov $400, %ecx
		1: inc %eax
		mov _start, %al
		mov $function, %edx
		call *%edx
		dec %ecx
		jnz 1b
	END
}

@test "32-bit code is followed and shown as such" {
	{
		printf '.globl _start\n_start:\n'
		narrow_code
		printf 'mov $1, %%eax\nxor %%ebx, %%ebx\nint $0x80\nfunction: pusha\npopa\nret\n'
	} >narrow.s
	assemble 32 narrow
	./narrow || skip "this kernel runs no 32-bit programs"
	same_branches --tsc --mtc --psb 300 --interrupt 777 -- ./narrow
	assay script -i trace.data --itrace=i1i -F ip,insn | without_blanks >ours
	[ "$(wc -l <ours)" -gt 3000 ]
	has_instructions narrow ours
	assay script -i trace.data --itrace=i100i -F ip,insn | without_blanks >ours
	has_instructions narrow ours
	same_lines --itrace=i1ie -F ip,insn
	assay script -i trace.data --itrace=i1i -F ip,disasm | grep -q 'dec %ecx$'
	ASSAY_PT_PARTS=300 assay script -i trace.data --itrace=i1i -F ip,insn | without_blanks | cmp - <(
		assay script -i trace.data --itrace=i1i -F ip,insn | without_blanks)
}

@test "instructions of plain samples are of the width of their file" {
	printf '.globl _start\n_start: mov $300000000, %%ecx\n1: inc %%eax\nmov _start, %%al\ndec %%ecx\njnz 1b\n' >busy.s
	printf 'mov $1, %%eax\nxor %%ebx, %%ebx\nint $0x80\n.fill 16, 1, 0x90\n' >>busy.s
	assemble 32 busy
	./busy || skip "this kernel runs no 32-bit programs"
	assay record -q --raw -e cpu-clock:u -o busy.data -- ./busy || skip "recording is not permitted here"
	assay script -i busy.data -F insn | without_blanks | grep 'insn: [0-9a-f]' | sort -u >ours
	[ -s ours ]
	objdump -d -w busy | sed -nE 's/^ *[0-9a-f]+:\t([0-9a-f ]+).*/insn: \1/p' | sed 's/ *$//' | sort >listed
	diff <(comm -23 ours listed) /dev/null
}

@test "a program that changes between 64- and 32-bit code is followed" {
	{
		printf '.globl _start\n_start:\nmov $20, %%ebp\n2: ljmp *to_narrow\nback: dec %%ebp\njnz 2b\n'
		printf 'mov $60, %%eax\nxor %%edi, %%edi\nsyscall\nto_narrow: .long narrow, 0x23\n.lcomm stack, 4096\n.code32\nnarrow: mov $stack + 4096, %%esp\nmov $0x2b, %%eax\nmov %%eax, %%ds\n'
		narrow_code | sed 's/400/20/'
		printf 'ljmp $0x33, $back\nfunction: inc %%ebx\nret\n'
	} >both.s
	assemble 64 both
	./both || skip "this kernel runs no 32-bit code"
	trace_of --tsc --mtc --psb 300 -- ./both
	[ "$(wc -l <want)" -gt 1000 ]
	assay script -i trace.data --itrace=be -F tid,ip,addr | decoded | by_thread >ours
	equal_files want ours
	assay script -i trace.data --itrace=i1i -F ip,insn | without_blanks >ours
	# In parts, each of which finds out for itself.
	ASSAY_PT_PARTS=300 assay script -i trace.data --itrace=i1i -F ip,insn | without_blanks | cmp - ours
	grep -q ' insn: 40$' ours
	[ "$(grep -c ' insn: a0 .. .. .. 00$' ours)" -ge 400 ]
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
	jq -se 'map(select(.error)) | length > 0 and all(.time_ns and .trace_offset)' objects
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

# The rows of ./all, FIELDS behind the flags, whose awk CONDITION holds.
same_choice() { # FILTER CONDITION
	assay script -i trace.data --itrace=be -F flags,ip,sym,dso,addr --filter "$1" >ours
	awk "$2" all >wanted
	[ -s wanted ]
	equal_files wanted ours
}

@test "--filter takes the branches of some functions, files, addresses, kinds and threads" {
	same_branches --tsc --mtc --interrupt 300 -- "$PROGRAMS/flow" signals
	assay script -i trace.data --itrace=be -F flags,ip,sym,dso,addr >all
	# "FLAGS IP SYM (DSO) => ADDR SYM (DSO)"
	same_choice 'from-symbol:main' '/ main .* => /'
	same_choice 'to-symbol:main' '/ => .* main /'
	same_choice 'symbol:main,_start' '/ (main|_start) /'
	same_choice 'from-image:flow to-image-exclude:flow' '/\/flow\) =>/ && !/=> .*\/flow\)/'
	same_choice "image:$PROGRAMS/flow" '/\/flow\)/'
	same_choice 'flags:call,syscall' '/^ *(tr end +)?(call|syscall) /'
	same_choice 'flags-exclude:jcc,jmp' '!/^ *(tr end +)?(jcc|jmp) /'
	same_choice 'flags:async' '/ (async|hw int) /'
	local first last
	awk '/ main .*=>/ { for (i = 1; $(i + 1) != "main"; i++) ; print $i }' all | sort -u >places
	first=$(head -1 places)
	last=$(tail -1 places)
	assay script -i trace.data --itrace=be -F ip --filter "from:$first-$last" | sort -u >ours
	tr -d ' ' <ours | cmp - places
	assay script -i trace.data --itrace=b -F ip --filter "from:$first+1" >ours
	[ "$(sort -u ours | tr -d ' ')" = "$first" ]
	# The fast path, skipping, and threads.
	assay script -i trace.data --itrace=b -F ip,addr --filter 'symbol:main' >ours
	assay script -i trace.data --itrace=be -F ip,addr --filter 'comm:flow* symbol:main' | grep '=>' | cmp - ours
	assay script -i trace.data --itrace=bs2 -F ip,addr --filter 'symbol:main' | cmp - <(tail -n +3 ours)
	[ "$(assay script -i trace.data --itrace=b --filter 'tid:1 comm-exclude:flow*')" = "" ]
}

@test "what --filter leaves out counts in the cycles of the next branch, and in the depth of calls" {
	same_branches --tsc --mtc --cyc -- "$PROGRAMS/flow" indirect
	sum() { grep -o 'IPC: .*' | sed -E 's/.*\(([0-9]+)\/([0-9]+)\).*/\1 \2/' | awk '{ a += $1; b += $2 } END { print a, b }'; }
	assay script -i trace.data --itrace=b -F ip,addr,ipc >all
	# Up to the last branch that is shown with cycles.
	assay script -i trace.data --itrace=b -F ip,addr,ipc --filter 'flags:return,call' >some
	[ "$(wc -l <some)" -lt "$(wc -l <all)" ]
	local place
	place=$(grep IPC some | tail -1 | sed 's/ *IPC.*//')
	[ "$(sum <some)" = "$(tac all | awk -v p="$place" 'f || index($0, p) { f = 1; print }' | sum)" ]
	assay script -i trace.data --call-trace -F callindent --filter 'to-symbol:main' | sed 's/ *$//' | grep . >ours
	assay script -i trace.data --call-trace -F callindent | sed 's/ *$//' | grep ' main$' | cmp - ours
}

@test "--filter in reports, exports and inject, and its mistakes" {
	same_branches --tsc --mtc -- "$PROGRAMS/flow" indirect
	local n
	n=$(assay script -i trace.data --itrace=b -F ip --filter from-symbol:main | wc -l)
	[ "$n" -gt 10 ]
	assay report -i trace.data --filter from-symbol:main -l --format csv >listed
	[ "$(awk -F, 'NR > 1 { n += $5 } END { print n }' listed)" = "$n" ]
	assay inject -i trace.data -o injected --itrace=b --filter from-symbol:main
	[ "$(assay script -i injected -F ip | wc -l)" = "$n" ]
	refused() { # MESSAGE ARGUMENT…
		run assay script -i trace.data "${@:2}"
		[ "$status" -eq 2 ]
		[[ $output == *"$1"* ]]
	}
	refused "'symbols' is no tag" --filter symbols:main
	refused "'main' has no tag" --filter main
	refused "no kind of branch" --filter flags:calls
	refused "no hexadecimal address" --filter from:main
	refused "no hexadecimal address" --filter from:20-10
	refused "no number" --filter tid:-1
	refused "empty value" --filter symbol:main,
	refused "none are made" --itrace=i --filter symbol:main
	refused "leaves no branches" --no-itrace --filter symbol:main
	# An input without a trace has no branches, whatever it has.
	assay script -i trace.data --itrace=i100i >text
	assay import -o session.data trace.data >/dev/null
	local command
	for command in script report; do
		run assay $command -i session.data --filter symbol:main
		[ "$status" -eq 1 ]
		[[ $output == *"no Intel PT, so --filter has no"* ]]
	done
	run assay report -i text --filter symbol:main
	[ "$status" -eq 1 ]
	run assay report -i trace.data --no-itrace --filter symbol:main
	[ "$status" -eq 2 ]
}
