#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Intel PT: the branches that are decoded are those that were taken, and those that perf decodes.
load helpers
load pt

@test "recursion deeper than the stack of return addresses" {
	same_branches -- "$PROGRAMS/flow" recursion
}

@test "longjmp leaves returns that never come" {
	same_branches -- "$PROGRAMS/flow" longjmp
}

@test "signals and faults, and the code that their handlers return to" {
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
	head -c 300 "$ROOT/README.md" | gzip -1 >text.gz
	same_branches --tsc --mtc -- gzip -d -c text.gz
}

@test "kernel code comes from the copy of kcore, as the kernel changed it, with its own symbols" {
	local what
	for what in recursion indirect threads; do
		trace_of --kernel --tsc --mtc --interrupt 700 -- "$PROGRAMS/flow" $what
		assay script -i trace.data --itrace=be -F tid,ip,addr 2>decoder | by_thread >ours
		equal_files want ours
		# perf has threads of the same time in another order.
		[ $what = threads ] || as_perf --itrace=be -F tid,event,ip,addr,flags
		assay script -i trace.data --itrace=b -F ip,sym >names
		grep -q __libc_start_main names
		assay annotate -i trace.data --itrace=i1i -a _start >annotated
		grep -q 'call.*__libc_start_main' annotated
	done
}

@test "trace data in samples, that overlap or have gaps between them, is decoded as perf decodes it" {
	local each
	for each in 300 3000 20000; do
		trace_of --tsc --mtc --psb 700 --sample $each -- "$PROGRAMS/flow" indirect
		as_perf --itrace=be -F tid,event,ip,addr
		# Only taken branches; where samples are near each other, none is missing.
		awk '/branches/ { print $1, $3, $4, $5 }' ours | awk '$2 != 0 && $4 != 0' | sort -u >listed
		sort -u truth >taken
		[ "$(comm -23 listed taken)" = "" ]
	done
	as_perf --itrace=L16e -F tid,event,ip,brstack
	as_perf --itrace=i100ie -F tid,event,ip
	# A sample has the call chain that the trace tells.
	assay script -i trace.data --itrace=Ge >chains
	grep -q '_start+0x' chains
	assay report -i trace.data --tree >tree
	grep -q 'page-faults' tree
	assay inject -i trace.data -o injected --itrace=ie
	assay script -i injected --no-itrace -F event >events
	grep -q instructions events
	grep -q page-faults events
}

@test "each field of a trace is perf's" {
	same_branches --tsc --mtc --interrupt 500 --psb 2000 -- "$PROGRAMS/flow" signals
	local all=comm,tid,time,event,ip,dso
	as_perf --itrace=be -F $all,addr,flags
	as_perf --itrace=be -F ip,addr
	as_perf --itrace=be -F time,ip,addr --deltatime --ns
	as_perf --itrace=i1ie -F $all,flags,insn,period
	as_perf --itrace=i100ie -F $all,period
	as_perf --itrace=cre -F $all,addr,flags
	as_perf --itrace=i500il16e -F tid,ip,brstack
	as_perf --itrace=ps2e -F $all,synth
	as_perf --itrace=bs1000e -F $all,addr
	# Nothing was sampled: G and L have nothing to be added to.
	as_perf --itrace=Gi500ie -F ip,time
	as_perf --itrace=Li500ie -F ip,brstack
}

@test "instructions per cycle are perf's, by CYC packets and by MTCs" {
	same_branches --tsc --mtc --cyc -- "$PROGRAMS/flow" indirect
	ipc_as_perf --itrace=be -F ip,addr,ipc
	grep -q IPC: ours
	# What ran up to an interrupt has its cycles, too.
	same_branches --tsc --mtc --cyc --psb 300 --interrupt 200 -- "$PROGRAMS/flow" signals
	ipc_as_perf --itrace=be -F ip,addr,ipc
	ipc_as_perf --itrace=i1ie -F ip,ipc
	grep -q 'async.*IPC:' <(assay script -i trace.data --itrace=be -F flags,ip,addr,ipc)
}

@test "cycles that MTCs tell go on over PSBs, though each says the frequency again" {
	same_branches --tsc --mtc --psb 300 -- "$PROGRAMS/flow" indirect
	cycles_as_perf --itrace=be -F ip,addr,ipc
}

@test "times between two packets with times are perf's, and so are samples by time" {
	local how
	for how in "--mtc" "--mtc --interrupt 100" "--mtc --cyc" "--mtc --cyc --cbr 10" ""; do
		# shellcheck disable=SC2086
		same_branches --tsc $how -- "$PROGRAMS/flow" indirect
		as_perf --itrace=be -F tid,time,ip,addr --ns
		samples_as_perf --itrace=i1us -F tid,time,ip,period --ns
		samples_as_perf --itrace=i100ns -F tid,time,ip,period --ns
		# Between these samples, branches are left out.
		samples_as_perf --itrace=i5us -F tid,time,ip,period --ns
		samples_as_perf --itrace=i20us -F tid,time,ip,period --ns
		# Beside branches, none is left out: also not where tracing ends, for a system call.
		for each in 2 5 20 50; do
			assay script -i trace.data --itrace=bi${each}us -F tid,event,time,ip,period --ns 2>err | grep -v branches >beside
			assay script -i trace.data --itrace=i${each}us -F tid,event,time,ip,period --ns 2>err | awk '{ $3 = $3; print }' >alone
			[ -s alone ]
			awk '{ $3 = $3; print }' beside | equal_files - alone
		done
		samples_as_perf --itrace=i1000t -F tid,time,ip,period --ns
		quick_as_perf --itrace=iqbe -F tid,time,event,ip --ns
	done
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
	[[ $output == *"no samples: "*"AUX data (processor trace) are not decoded"* ]]
	run assay report -i trace.data --itrace=i100msge
	[[ $output == *"no samples: its trace is shorter than a period of --itrace"*"i1us"* ]]
}

@test "a wrong letter in --itrace is an error with the allowed letters" {
	same_branches --tsc -- "$PROGRAMS/flow" longjmp
	run assay script -i trace.data --itrace=bz
	[ "$status" -eq 2 ]
	[[ $output == *"'z' is no letter of --itrace; there are i y b x w p o I c r e d g G l L s q"* ]]
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

# Debian's qemu-user takes no plugins since it is linked statically (13).
# as_perf_of NAME PROGRAM [ARG…]: the first two million instructions under qemu.
as_perf_of() {
	local name=$1
	shift
	within qemu-x86_64 -plugin "$PT/libpt_qemu.so,out=$name.data,truth=$name.truth,limit=2000000" "$@" \
		>/dev/null 2>&1 </dev/null || [ -s "$name.data" ]
	within assay script -i "$name.data" --itrace=be -F tid,ip,addr,flags 2>err | without_blanks >ours
	within perf script -i "$name.data" --itrace=be -F tid,ip,addr,flags 2>perf.err | without_blanks >theirs
	[ "$(wc -l <ours)" -gt 1000 ]
	awk '{ for (i = 2; i < NF; i++) if ($i == "=>") print $1, $(i - 1), $i, $(i + 1) }' ours | cmp "$name.truth" -
	cmp theirs ours || {
		echo "$name"
		diff theirs ours | head -5
		return 1
	}
}

@test "programs as they come: our branches are those that were taken, and perf's, line for line" {
	need_qemu_plugin
	command -v perf >/dev/null || skip "perf is not installed"
	head -c 20000 "$ROOT/README.md" "$ROOT"/docs/*.md >text 2>/dev/null
	as_perf_of ls /bin/ls -l /
	as_perf_of sort /usr/bin/sort text
	as_perf_of sha256sum /usr/bin/sha256sum text
	as_perf_of gzip /bin/gzip -9 -c text
	as_perf_of bash /bin/bash -c 'for i in 1 2 3; do echo $((i * i)); done'
	as_perf_of awk /usr/bin/awk '{ n[$1]++ } END { for (w in n) print w, n[w] }' text
	as_perf_of sed /bin/sed 's/\([a-z]*\) \([a-z]*\)/\2 \1/g' text
	local program
	for program in python3 perl sqlite3; do
		[ -x /usr/bin/$program ] || continue
		case $program in
		python3) as_perf_of python3 /usr/bin/python3 -S -E -c 'import ctypes' ;; # dlopen
		perl) as_perf_of perl /usr/bin/perl -e 'print join(",", sort map { $_ * 7 % 31 } 1 .. 200)' ;;
		sqlite3) as_perf_of sqlite3 /usr/bin/sqlite3 :memory: 'select sum(1 + 2 * 3)' ;;
		esac
	done
}

@test "profiles of a trace have whole stacks, unless a size is given" {
	need_qemu_plugin
	# A shell's function that calls itself takes several calls of the shell's own each time.
	within qemu-x86_64 -plugin "$PT/libpt_qemu.so,out=trace.data" \
		/bin/sh -c 'f() { [ $1 = 0 ] || f $(($1 - 1)); }; f 9' </dev/null
	assay export -i trace.data --itrace=i1000ig -F folded -o whole
	assay export -i trace.data --itrace=i1000ig8 -F folded -o cut
	[ "$(awk -F';' 'NF > n { n = NF } END { print n }' whole)" -ge 40 ]
	[ "$(awk -F';' 'NF > n { n = NF } END { print n }' cut)" -le 9 ] # with the process
	# perf's are cut: what called is missing.
	[ "$(grep -c '__libc_start_main;' whole)" -gt "$(grep -c '__libc_start_main;' cut)" ]
}

@test "code that a jitdump tells of is followed" {
	trace_of -- "$PROGRAMS/jitdump-static" 2 100
	within assay script -i trace.data --itrace=be -F tid,ip,addr 2>decoder | by_thread >ours
	equal_files want ours
	assay report -i trace.data --itrace=i1i -l >listed
	grep -q dump_again listed
	grep -q dump_cold listed
}

@test "quick decoding, which needs no code, has the samples of perf" {
	local recording=$FIXTURES/perf.data.intel_pt-4.14 how
	[ -f "$recording" ] || skip "the recording is not here"
	command -v perf >/dev/null || skip "perf is not installed"
	[[ "$(perf --version)" == *version\ [1-6].* ]] || skip "perf 7.2 gives other threads to samples near a switch"
	for how in qie qbe qqie qqbe; do
		assay script -i "$recording" --itrace=$how -F tid,event,ip 2>err | tr -s ' ' | sort >ours
		perf script -i "$recording" --itrace=$how -F tid,event,ip 2>/dev/null | tr -s ' ' | sort >theirs
		cmp theirs ours
	done
}

@test "a dump has each packet of a real recording as perf prints it" {
	local recording=$FIXTURES/perf.data.intel_pt-4.14
	[ -f "$recording" ] || skip "the recording is not here"
	command -v perf >/dev/null || skip "perf is not installed"
	assay script -i "$recording" -D | grep -a '^\.  [0-9a-f]*:  ' >ours
	perf script -i "$recording" -D 2>/dev/null | grep -a '^\.  [0-9a-f]\{8\}:  ' >theirs
	[ "$(wc -l <ours)" -gt 80000 ]
	cmp theirs ours
	assay script -i "$recording" -D --no-itrace | { ! grep -q 'PSB$'; }
	cp "$recording" trace.data
	quick_as_perf --itrace=iqe -F tid,time,event,ip --ns
}

# branches FILE: the number of decoded branches; `said` has the messages.
branches() {
	within assay script -i "$1" --itrace=be -F ip,addr 2>said >out || true
	grep -c '=>' out || true
}

@test "missing images, other builds and no trace at all give notes; the rest is decoded" {
	cp "$PROGRAMS/flow" program
	same_branches --tsc -- ./program longjmp
	local all
	all=$(branches trace.data)
	mv program gone
	[ "$(branches trace.data)" -lt "$all" ]
	grep -q "program can't be read: its code is not decoded" said
	grep -q "errors in decoding the trace" said
	grep -q "code 5: code could not be read" out
	# Another file under its name: a message reports it, and nothing crashes.
	cp /bin/ls program
	branches trace.data >/dev/null
	grep -q "errors in decoding the trace" said
	# Code of another build nearly fits: no instruction comes twice, and decoding ends.
	local how n
	cp "$PROGRAMS/flow" program
	same_branches --tsc --mtc --psb 300 -- ./program indirect
	n=$(assay script -i trace.data --itrace=i1i -F ip | wc -l)
	dd if="$PROGRAMS/flow" of=program bs=1 skip=65536 seek=65552 count=150000 conv=notrunc status=none
	for how in i1i i100i i1us i100ns; do
		within assay script -i trace.data --itrace=$how -F ip,period 2>said >out
		[ "$(awk '{ sum += $1 } END { print sum + 0 }' out)" -le "$n" ]
	done
	# A recording without a trace.
	assay record --raw -o plain.data -- true 2>/dev/null || skip "recording is not permitted here"
	run assay script -i plain.data --itrace=b
	[[ $output == *"has no Intel PT: there is nothing to decode"* ]]
	# Its samples are no calls and no instructions.
	for how in --call-trace --call-ret-trace --insn-trace; do
		run assay script -i plain.data $how
		refused 1 "plain.data has no Intel PT, so $how has nothing to show"
	done
}

@test "cut anywhere, or with garbage in it: whole parts are decoded, and the rest is reported" {
	same_branches --tsc --mtc --psb 300 -- "$PROGRAMS/flow" longjmp
	local size all n at
	size=$(stat -c %s trace.data)
	all=$(branches trace.data)
	for at in 100 700 2000 $((size / 2)) $((size - 9)); do
		head -c "$at" trace.data >cut.data
		run within assay script -i cut.data --itrace=be
		[ "$status" -le 1 ]
	done
	# A message names the missing part, though there is no trace left to decode.
	for at in 40 1000; do
		head -c $at trace.data >cut.data
		run assay script -i cut.data --itrace=be -F ip,addr
		refused 1 "the file is cut" " $at"
	done
	run assay report -i cut.data --latency
	refused 1 "the file is cut"
	for at in 1300 1700 2500 $((size / 2)); do
		cp trace.data bad.data
		printf '\002\004\005\377\002\377\377' | dd of=bad.data bs=1 seek="$at" conv=notrunc 2>/dev/null
		n=$(branches bad.data)
		[ "$n" -le $((all + 100)) ]
	done
	# From a pipe.
	assay script -i - --itrace=be -F ip,addr <trace.data 2>/dev/null | grep -c '=>' >piped
	[ "$(cat piped)" = "$all" ]
}

@test "cut within a PSB: the branches are those up to the PSB" {
	command -v python3 >/dev/null || skip "no python3"
	trace_of --cyc --no-retcomp --psb 100 -- "$PROGRAMS/flow" indirect
	local place cut
	for place in 3 10 20; do
		for cut in 0 2 3 8 15 16; do
			python3 "$BATS_TEST_DIRNAME/trace_bytes.py" trace.data cut $place $cut >cut.data
			assay script -i cut.data --itrace=b -F tid,ip,addr 2>/dev/null | decoded | by_thread >cut.$cut
			[ -s cut.$cut ]
			cmp cut.0 cut.$cut
			# The branches behind the last packet are in no trace.
			head -n "$(wc -l <cut.$cut)" want | cmp - cut.$cut
		done
	done
}

@test "without time, without side band" {
	same_branches -- "$PROGRAMS/flow" longjmp
	assay report -i trace.data --itrace=i1i -l >listed
	grep -q longjmp listed
	run assay script -i trace.data --itrace=i1us
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -gt 3 ]
	# The log has packets, their meaning, and the recording's events.
	assay script -i trace.data --itrace=bd -F ip >out
	grep -q ' PSBEND$' intel_pt.log
	grep -q 'branch 0x0 => 0x' intel_pt.log
	grep -q ' exit' intel_pt.log
}

@test "parts that threads decode equal the result of one decoder" {
	# A part may end with directions that are left behind a deferred TIP.
	ASSAY_PT_PARTS=300 same_branches --defer --long --interrupt 777 --psb 300 -- "$PROGRAMS/flow" indirect
	for how in indirect threads signals longjmp; do
		trace_of --tsc --mtc --cyc --psb 300 --interrupt 777 -- "$PROGRAMS/flow" $how
		assay script -i trace.data --itrace=bei100ns -F tid,time,ip,addr,flags,ipc --ns >one
		[ "$(wc -l <one)" -gt 1000 ]
		for bytes in 300 1000 5000; do
			ASSAY_PT_PARTS=$bytes assay script -i trace.data --itrace=bei100ns -F tid,time,ip,addr,flags,ipc --ns >many
			equal_files one many
		done
	done
	# Errors alone are decoded without branches.
	size=$(stat -c %s trace.data)
	for share in 3 5 7 8; do
		printf '\x05\x05\x05\x05' | dd of=trace.data bs=1 seek=$((size * share / 9)) conv=notrunc status=none
	done
	assay script -i trace.data --itrace=bei1000i -F tid,time,ip,addr,flags | grep 'instruction trace' >one
	[ -s one ]
	assay script -i trace.data --itrace=e >many
	cmp one many
	for bytes in 300 1000 5000; do
		ASSAY_PT_PARTS=$bytes assay script -i trace.data --itrace=e >many
		cmp one many
	done
}

@test "PEBS records in the trace are samples of their event, with all that perf makes of them" {
	same_branches --tsc --mtc --pebs 301 -- "$PROGRAMS/flow" longjmp
	local fields=comm,tid,time,event,period,ip,addr,weight,iregs,brstack
	as_perf --itrace=o --ns -F $fields
	[ "$(grep -c 'cycles:.*XMM15' ours)" -gt 20 ]
	cp ours made
	as_perf --itrace=oe -F ip,iregs
	# A code of XABORT is of AX; perf 6.1 has no text for it.
	assay script -i trace.data --itrace=o -F ip,transaction | grep -q 'transaction=0x4$'
	assay script -i trace.data --itrace=o --format json | head -1 | grep -q XMM3_high
	# They are an event among others: profiles have them, inject writes them.
	assay report -i trace.data --itrace=o -l --format csv | grep -q __tunables_init
	assay inject -i trace.data --itrace=o -o injected
	assay script -i injected --no-itrace -F hw:$fields --ns | without_blanks | cmp - made
	# If the kernel's record has no time, the sample has the time of the trace.
	same_branches --pebs 301 -- "$PROGRAMS/flow" longjmp
	as_perf --itrace=o -F event,ip,addr,weight
}

# Debian's perf 6.1 gives evt a wrong type, and so prints no text for it. perf 7.2 has no name for it, and
# prints () for each (D), (t) and (Dt), also where others have no parentheses.
without_evt() {
	if grep -q ' () ' theirs; then
		sed 's/ ([Dt]*) / () /; s/: \(D\|t\|Dt\) /: () /' "$1"
	else
		cat "$1"
	fi | grep -v -e evt: -e 'unknown attr type' -e 'unknown event'
}

@test "event trace: interrupts with their vector and data, and changes of the interrupt flag" {
	same_branches --tsc --mtc --events 180 -- "$PROGRAMS/flow" longjmp
	local how
	for how in "-F tid,time,event,ip,synth --itrace=Ipw" "-F tid,time,event,ip,addr,flags,synth --itrace=bIpw" \
		"-F tid,time,event,ip,addr,flags,synth --itrace=i1ibI"; do
		# shellcheck disable=SC2086
		both_script $how --ns
		[ "$(wc -l <ours)" = "$(wc -l <theirs)" ]
		diff <(without_evt theirs) <(without_evt ours)
	done
	grep -q 'iflag: .*(Dt) IFLAG: 0->1 via branch' ours
	grep -q 'iflag: t IFLAG: 1->0 non branch' ours
	assay script -i trace.data --itrace=Ie -F event,synth | tr -s ' ' >ours
	local n
	n=$(grep -c 'evt: cfe: IRET IP: 0 vector: 0' ours)
	[ "$n" -gt 50 ]
	[ "$(grep -c 'evt: cfe: INTR IP: 1 vector: ' ours)" = "$n" ]
	# Each second is a fault, whose address an EVD tells: but for those while nothing was traced.
	grep -o 'INTR IP: 1 vector: 14 PFA: 0x7f00000.*' ours >faults
	[ $(($(wc -l <faults) * 9)) -gt $((n * 4)) ]
	[ $(($(wc -l <faults) * 9)) -lt $((n * 5)) ]
	run ! grep '[02468ace] *$' faults
	[ "$(grep -c PFA ours)" = "$(wc -l <faults)" ]
	grep -q 'evt: cfe: INTR IP: 1 vector: 2 ' ours
	# Parts that threads decode tell the same.
	assay script -i trace.data --itrace=bI -F tid,time,event,ip,addr,flags,synth --ns >one
	ASSAY_PT_PARTS=700 assay script -i trace.data --itrace=bI -F tid,time,event,ip,addr,flags,synth --ns >many
	cmp one many
	assay inject -i trace.data --itrace=I -o injected
	assay script -i injected --no-itrace -F event,synth | tr -s ' ' | cmp - ours
	# A processor without event trace says nothing of interrupts, whatever its MODE.Exec packets have there.
	same_branches --tsc -- "$PROGRAMS/flow" longjmp
	[ -z "$(assay script -i trace.data --itrace=I)" ]
	run ! grep -q '(D)' <(assay script -i trace.data --itrace=b -F flags,ip,addr)
}
