#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Intel PT: the sources of a trace's code, and the messages if there is none.
load helpers
load pt

# is_whole FILE [OPTION…]: all branches that were taken are decoded of it.
is_whole() {
	local file=$1
	shift
	assay script -i "$file" "$@" --itrace=be -F tid,ip,addr 2>said | decoded | by_thread >ours
	equal_files want ours
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
	! command -v zstd >/dev/null || assay archive -i trace.data -o archive.tar.zst
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
	assay export -i archive --itrace=i1us -F sqlite -o calls.sqlite
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
	[[ $output == *"the kernel's code is missing and is not decoded"*"name one by --vmlinux"* ]]
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

@test "--vmlinux of another build than the recorded kernel gives a note, for samples, too" {
	need_root
	# Nearly all of its time is the kernel's: it clears 4 GB.
	perf_record -e cpu-clock:k -o kernel.data -- dd if=/dev/zero of=/dev/null bs=1M count=4096
	perf buildid-list -i kernel.data | grep -q kernel.kallsyms || skip "the kernel's build id was not recorded"
	local text="/bin/ls is another build than the recorded kernel, so it is not used"
	run assay script -i kernel.data -k /bin/ls -F ip,sym
	[ "$(grep -c "$text" <<<"$output")" = 1 ]
	run assay report -i kernel.data -k /bin/ls
	[ "$(grep -c "$text" <<<"$output")" = 1 ]
}

@test "a kernel module without a copy of kcore and without its file: which module is missing, and what that costs" {
	trace_of --kernel --vmlinux vmlinux --module main --tsc --mtc --psb 300 -- "$PROGRAMS/flow" indirect
	run ! is_whole trace.data -k vmlinux
	grep -q "the code of the kernel's module snd_probe is not decoded: its file was not found" said
	grep -q "[0-9]* errors in the code of the kernel's module snd_probe: .*perf record --kcore" said
	# The other decoded branches are right.
	grep -v -e error -e unverified ours | awk '$2 != 0 && $4 != 0' | sort -u >listed
	[ "$(wc -l <listed)" -gt 100 ]
	[ "$(comm -23 listed <(sort -u want))" = "" ]
}

@test "a kernel module of the recorded build whose code checks calls: the note says so" {
	local id
	id=0x$(printf '11%.0s' {1..20})
	mkdir -p files
	printf '%s\n' .text '.globl work' 'work: ret' '.section .cfi_sites, "a"' '.long 0' '.section .modinfo, "a"' \
		'.asciz "name=snd_probe"' '.section .gnu.linkonce.this_module, "aw"' '.zero 64' >probe.s
	as --64 -o probe.o probe.s
	ld -r --build-id="$id" -o files/snd-probe.ko probe.o
	trace_of --build-ids --kernel --vmlinux vmlinux --module main --tsc --mtc --psb 300 -- "$PROGRAMS/flow" indirect
	run ! is_whole trace.data -k vmlinux --image-path files
	grep -q "the code of the kernel's module snd_probe is not decoded: its file is not of x86-64, or its code checks calls (kCFI)" said
}

# none_is_untrue: each branch in `out` was taken; where a trace goes on, or ends, only one address is known.
none_is_untrue() {
	awk '/=>/ && $2 != 0 && $4 != 0 { print $1, $2, $3, $4 }' out | sort -u >listed
	sort -u truth >taken
	[ "$(wc -l <listed)" -gt "$1" ]
	[ "$(comm -23 listed taken)" = "" ]
}

@test "code that a program writes itself differs from the file: errors are reported, no branch is invented" {
	trace_of --tsc --psb 300 -- "$PROGRAMS/flow" rewrites
	within assay script -i trace.data --itrace=be -F tid,ip,addr >out 2>said
	none_is_untrue 300
	grep -q "the trace does not fit the code" out
	grep -q "errors in decoding the trace" said
	# It goes on at the next PSB where the code is the file's again: all that is left is as it was.
	grep -v error out | awk '{ print $1, $2, $3, $4 }' | tail -200 | diff - <(tail -200 truth)
	# And at each PSB in between, as far as the code fits.
	[ "$(grep -c error out)" -ge 3 ]
	# The same in parts.
	ASSAY_PT_PARTS=700 assay script -i trace.data --itrace=be -F tid,ip,addr 2>/dev/null | cmp - out
}

@test "a file of another build is reported and not decoded; the trace continues in all others" {
	local id
	id=$(readelf -n "$PROGRAMS/counted" | sed -n 's/.*Build ID: //p')
	[ -n "$id" ] || skip "needs a compiler that writes build ids"
	cp "$PROGRAMS/counted" program
	trace_of --tsc --psb 500 --build-ids -- ./program
	is_whole trace.data
	cp "$PROGRAMS/flow" program
	within assay script -i trace.data --itrace=be -F tid,ip,addr >out 2>said
	grep -q "program is of another build than the one that was traced: its code is not decoded, which is [0-9]* errors" said
	none_is_untrue 1000
	grep -q "code could not be read" out
	# Of the right build, in perf's cache.
	mkdir -p "$HOME/.debug/.build-id/${id:0:2}/${id:2}"
	cp "$PROGRAMS/counted" "$HOME/.debug/.build-id/${id:0:2}/${id:2}/elf"
	is_whole trace.data
	[ ! -s said ]
}

@test "a recording of an Intel processor is decoded on a machine of another vendor" {
	grep -q AuthenticAMD /proc/cpuinfo || skip "this machine is of the vendor that has Intel PT"
	trace_of --tsc --mtc -- "$PROGRAMS/flow" indirect
	grep -aq 'GenuineIntel,6,94,3' trace.data
	is_whole trace.data
	[ ! -s said ]
}

@test "a trace of another kind is not decoded, and has its name" {
	generate_once --tsc --mtc --psb 300 -- "$PROGRAMS/flow" indirect
	python3 "$BATS_TEST_DIRNAME/trace_bytes.py" trace.data kind 3 >etm.data
	run assay import etm.data -o s
	[ "$status" = 0 ]
	[[ $output == *"bytes of AUX data (Arm CoreSight ETM) are not decoded"* ]]
	run assay script -i etm.data --itrace=b
	[[ $output == *"it has no Intel PT, but Arm CoreSight ETM, which assay does not decode: there is nothing to decode"* ]]
	# A number that perf has no kind for.
	python3 "$BATS_TEST_DIRNAME/trace_bytes.py" trace.data kind 99 >other.data
	run assay import other.data -o other
	[[ $output == *"bytes of AUX data (processor trace) are not decoded"* ]]
}

@test "no side band: the code is unknown, which is reported" {
	trace_of --tsc --no-side-band -- "$PROGRAMS/flow" longjmp
	run --separate-stderr within assay script -i trace.data --itrace=be -F tid,ip,addr
	[ "$status" -eq 0 ]
	[[ $output == *"code could not be read"* ]]
	[[ $stderr == *"errors in decoding the trace"* ]]
	echo "$output" >out
	none_is_untrue -1
	# What needs no code is there.
	[ "$(assay script -i trace.data --itrace=iq -F ip | wc -l)" -gt 50 ]
}

@test "a trace in perf's pipe format, through a pipe" {
	trace_of --tsc --mtc --pipe -- "$PROGRAMS/flow" longjmp
	# shellcheck disable=SC2002
	cat trace.data | within assay script -i - --itrace=be -F tid,ip,addr 2>said | decoded | by_thread >ours
	equal_files want ours
	[ ! -s said ]
	# shellcheck disable=SC2002
	cat trace.data | assay report -i - --itrace=i1i -l | grep -q longjmp
	command -v perf >/dev/null || return 0
	# shellcheck disable=SC2002
	cat trace.data | within perf script -i - --itrace=be -F tid,ip,addr 2>/dev/null | decoded | by_thread >theirs
	equal_files want theirs
}

@test "time that goes back is ignored, and the branches stay the same" {
	trace_of --tsc --psb 300 -- "$PROGRAMS/flow" longjmp
	# The TSC packet (0x19) of a PSB+ in the middle gets a time from before the trace.
	python3 - trace.data <<'PY' || skip "no python3"
import re, sys
data = bytearray(open(sys.argv[1], 'rb').read())
psb = bytes([2, 0x82]) * 8
at = [m.start() for m in re.finditer(re.escape(psb), bytes(data))]
tsc = data.index(0x19, at[len(at) // 2] + 16 + 4)
data[tsc + 1:tsc + 8] = (1).to_bytes(7, 'little')
open(sys.argv[1], 'wb').write(data)
PY
	is_whole trace.data
	assay script -i trace.data --itrace=b -F time --ns | tr -d ' :' >seconds
	[ -s seconds ]
	sort -s -n -c seconds
}

@test "a damaged time far ahead does not stop the times behind it" {
	command -v python3 >/dev/null || skip "no python3"
	local where as
	for as in --tsc "--tsc --mtc --cyc"; do
		# shellcheck disable=SC2086
		trace_of $as --psb 300 -- "$PROGRAMS/flow" longjmp
		assay script -i trace.data --itrace=b -F tid,time,ip,addr --ns >whole
		for where in first middle; do
			# A bit of the TSC packet of a PSB+ is turned: some days later.
			python3 - trace.data $where >damaged.data <<'PY'
import re, sys
data = bytearray(open(sys.argv[1], 'rb').read())
at = [m.start() for m in re.finditer(re.escape(bytes([2, 0x82]) * 8), bytes(data))]
psb = at[0 if sys.argv[2] == 'first' else len(at) // 2]
data[data.index(0x19, psb + 16) + 7] ^= 4
sys.stdout.buffer.write(data)
PY
			[ "$(cmp -l trace.data damaged.data | wc -l)" = 1 ]
			assay script -i damaged.data --itrace=b -F tid,time,ip,addr --ns >out
			# Behind the next PSB, all times are as they were.
			[ "$(diff whole out | grep -c '^>')" -lt $(($(wc -l <whole) / 2)) ]
			tail -n 100 whole | cmp - <(tail -n 100 out)
			# It is not known which bytes are damaged.
			assay script -i damaged.data --itrace=e | grep -c unverified
			ASSAY_PT_PARTS=700 assay script -i damaged.data --itrace=b -F tid,time,ip,addr --ns | cmp - out
		done
	done
}

@test "a clock that goes back for good does not stop the times behind it" {
	command -v python3 >/dev/null || skip "no python3"
	local as bytes
	for as in "--tsc --mtc" "--tsc --mtc --cyc"; do
		# shellcheck disable=SC2086
		trace_of $as --psb 300 -- "$PROGRAMS/flow" longjmp
		assay script -i trace.data --itrace=b -F time,ip,addr --ns | tr -d ':' >whole
		# Before the middle, all TSC packets (a TMA follows) have a time that is 18 minutes later.
		python3 - trace.data back.data <<'PY'
import re, sys
data = bytearray(open(sys.argv[1], 'rb').read())
all = [m.start() for m in re.finditer(rb'\x19....\0\0\0\x02\x73', bytes(data), re.S)]
psbs = [m.start() for m in re.finditer(re.escape(bytes([2, 0x82]) * 8), bytes(data))]
for tsc in all:
    if tsc < psbs[len(psbs) // 2]:
        data[tsc + 6] = 1
open(sys.argv[2], 'wb').write(data)
PY
		assay script -i back.data --itrace=b -F time,ip,addr --ns 2>said | tr -d ':' >out
		grep -q 'clock (TSC) goes back in the trace (1 times)' said
		run ! grep 'not verified' said
		awk '{ print $1 }' out | sort -s -n -c
		awk '{ print $2, $4 }' whole >want
		awk '{ print $2, $4 }' out >branches
		equal_files want branches
		# At first, all times are 2^40 ns later, and from the middle on a little less: by the time between two PSBs.
		paste -d' ' whole out | awk '{ printf "%.6f\n", $(NF / 2 + 1) - $1 }' | sort | uniq -c | sort -n >distances
		cat distances
		[ "$(tail -n 1 distances | awk '{ print $2 }')" = 1099.511628 ]
		[ -z "$(awk '$2 > 1099.511628 || $2 < 1099.5116' distances)" ]
		[ "$(awk '{ print $1 }' out | tail -n $(($(wc -l <out) / 3)) | uniq | wc -l)" -gt $(($(awk '{ print $1 }' whole | tail -n $(($(wc -l <out) / 3)) | uniq | wc -l) * 3 / 4)) ]
		for bytes in 300 700 3000; do
			ASSAY_PT_PARTS=$bytes assay script -i back.data --itrace=b -F time,ip,addr --ns 2>/dev/null | tr -d ':' | cmp out -
		done
	done
}

@test "a clock that goes back for some PSBs and returns moves no later time" {
	command -v python3 >/dev/null || skip "no python3"
	local n
	trace_of --tsc --mtc --psb 100 -- "$PROGRAMS/flow" longjmp
	for n in 2 3; do
		# All TSC packets have a later time in right.data. In back.data, those of some PSBs have an early one.
		python3 - trace.data right.data back.data $n <<'PY'
import re, sys
right = bytearray(open(sys.argv[1], 'rb').read())
psbs = [m.start() for m in re.finditer(re.escape(bytes([2, 0x82]) * 8), bytes(right))]
all = [m.start() for m in re.finditer(rb'\x19....\0\0\0\x02\x73', bytes(right), re.S)]
for tsc in all:
    right[tsc + 6] = 1
back = right[:]
k = len(psbs) // 2
for tsc in all:
    if psbs[k] < tsc < psbs[k + int(sys.argv[4])]:
        back[tsc + 6] = 0
if right == back:
    sys.exit("no TSC is early")
open(sys.argv[2], 'wb').write(right)
open(sys.argv[3], 'wb').write(back)
PY
		assay script -i right.data --itrace=b -F time,ip,addr --ns >right
		assay script -i back.data --itrace=b -F time,ip,addr --ns >back 2>said
		run ! grep 'goes back' said
		tr -d ':' <back | sort -s -n -c
		# From the first early PSB to the next right one, time stands still.
		[ "$(diff right back | grep -c '^>')" -lt $(($(wc -l <right) / 2)) ]
		cmp <(tail -n $(($(wc -l <right) / 3)) right) <(tail -n $(($(wc -l <right) / 3)) back)
		ASSAY_PT_PARTS=700 assay script -i back.data --itrace=b -F time,ip,addr --ns 2>/dev/null | cmp back -
	done
}

@test "a million PSBs that nothing follows cost no more than their bytes" {
	trace_of --tsc --psb 300 -- "$PROGRAMS/flow" longjmp
	command -v python3 >/dev/null || skip "no python3"
	python3 "$BATS_TEST_DIRNAME/trace_bytes.py" trace.data append 1000000 >psbs.data
	assay script -i trace.data --itrace=b >whole
	assay script -i psbs.data --itrace=b >out
	cmp whole out
	# Looking for a time behind each PSB up to the end of the trace would take an hour.
	assay script -i psbs.data --itrace=b --time 0.001,0.01 >out
	cmp whole out
}

@test "behind an error the trace goes on at the next address, and the doubtful instructions are counted" {
	# One PSB is all: nothing but an address can be where it goes on.
	trace_of --tsc --mtc --psb 100000 -- "$PROGRAMS/flow" indirect
	local goes_on=0 doubts=0 marks=0 place
	for place in {1..40}; do
		cp trace.data damaged.data
		# Wherever that is: eight bytes of "not taken".
		printf '\x80\x80\x80\x80\x80\x80\x80\x80' |
			dd of=damaged.data bs=1 seek=$(($(stat -c %s trace.data) * place / 42)) conv=notrunc status=none
		within assay script -i damaged.data --itrace=be -F tid,ip,addr >out 2>said || true
		ASSAY_PT_PARTS=700 assay script -i damaged.data --itrace=be -F tid,ip,addr 2>said.parts | cmp - out
		cmp said said.parts
		# Which error it is depends on the compiler's code.
		grep -q "instruction trace error" out || continue
		sed '1,/instruction trace error/d' out | grep -q '=>' && goes_on=$((goes_on + 1))
		grep -Eq '[1-9][0-9]* of [0-9]+ instructions are not verified \([0-9.]+ %\)' said && doubts=$((doubts + 1))
	done
	# A stretch that is marked has its place, and as many instructions as the note says.
	for place in 7 19 33; do
		cp trace.data damaged.data
		printf '\x02\x04\x05' | dd of=damaged.data bs=1 seek=$(($(stat -c %s trace.data) * place / 42)) conv=notrunc status=none
		assay script -i damaged.data --itrace=e >out 2>said
		grep -q "code 3: bytes that are no packet" out || continue
		marks=$((marks + 1))
		[ "$(sed -n 's/.* unverified from .* to .* instructions \([0-9]*\):.*/\1/p' out | awk '{ n += $1 } END { print n }')" = \
			"$(sed -n 's/.*[^0-9]\([0-9]*\) of [0-9]* instructions are not verified.*/\1/p' said)" ]
		ASSAY_PT_PARTS=700 assay script -i damaged.data --itrace=e 2>/dev/null | cmp - out
		assay script -i damaged.data --itrace=e --format json 2>/dev/null |
			jq -se 'map(select(.unverified_instructions)) | length > 0 and all(.from_ns <= .time_ns and has("is_confirmed"))'
	done
	[ "$marks" -ge 1 ]
	[ "$goes_on" -ge 1 ]
	[ "$doubts" -ge 1 ]
}
