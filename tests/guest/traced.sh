# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
# Intel PT of a whole machine, made by a plugin of the emulator that runs it (tests/pt/qemu_system.c). This script
# runs beside the emulator: the guest has one program, which works between two marks.

# check TITLE COMMAND…
check() {
	local title=$1
	shift
	if "$@" >check.out 2>&1; then
		echo "ok - $title"
	else
		echo "not ok - $title"
		sed 's/^/# /' check.out | head -20
	fi
}

# The recording, its truth, and the kernel's code are in ./trace.
record_trace() {
	local plugin=$build/tests/pt/libpt_qemu_system.so program=$build/tests/programs/guest_work
	[ -f "$plugin" ] || cannot "no generator of traces in this build"
	"$emulator" -help | grep -q -e '^-plugin' || cannot "this emulator takes no plugins"
	put_module loop
	cp "$program" "$guest/init"
	mv "$guest/modules/loop.ko" "$guest"
	emulation+=(-debugcon "file:$work/symbols"
		-plugin "$plugin,out=$work/trace,program=$program,symbols=$work/symbols${plugin_options-}")
	write_initramfs
	emulate stdio timeout --foreground -k 10 "$((5 * deadline_s))" </dev/null >console 2>emulator.err
	[ -s trace/data ] || { cat console emulator.err; return 1; }
}

taken() {
	awk '{ print $2, $3, $4 }' "$@"
}

branches_are_those_taken() {
	"$build/assay" script -i trace --itrace=be -F tid,ip,addr 2>decoder | awk '{ print $1, $2, $3, $4 }' >ours
	cmp ours trace/truth || { diff trace/truth ours | head -10; cat decoder; return 1; }
}

# The trace has threads, a module, system calls with programs on the other side, and interrupts.
trace_has_all() {
	[ "$(awk '{ print $1 }' trace/truth | sort -u | wc -l)" -ge 8 ]
	[ "$(wc -l <trace/truth)" -gt 500000 ]
	grep -q '^loop ' trace/kcore_dir/modules
	[ "$(grep -c ' ffffffffc0' trace/truth)" -gt 50 ]
	[ "$(grep -c ' => 4[0-9a-f]\{5\}$' trace/truth)" -gt 10000 ]
	"$build/assay" script -i trace --itrace=b -F flags,ip,sym | awk '/hw int/ { n++ } /sysret|iret/ { r++ } END { exit !(n > 20 && r > 100) }'
}

# The same recording without the module in the copy of memory: its code comes from loop.ko.
module_from_its_file() {
	local recording
	mkdir -p bare/kcore_dir files
	cp trace/data bare
	cp trace/kcore_dir/{kallsyms,modules,kcore} bare/kcore_dir
	cp "$guest/loop.ko" files
	# One program header: the kernel itself.
	printf '\1\0' | dd of=bare/kcore_dir/kcore bs=1 seek=56 conv=notrunc status=none
	"$build/assay" script -i bare --image-path files --itrace=be -F tid,ip,addr 2>decoder | awk '{ print $1, $2, $3, $4 }' >ours
	cmp ours trace/truth || { diff trace/truth ours | head -10; cat decoder; return 1; }
	grep -q "module loop comes from its file" decoder || return 1
	# No bytes but those that ran.
	for recording in bare trace; do
		"$build/assay" script -i "$recording" --image-path files --itrace=i1i -F ip,insn 2>/dev/null |
			awk '$1 ~ /^ffffffffc0/ && NF > 2' | sort -u >"$recording.bytes"
	done
	[ "$(wc -l <bare.bytes)" -gt 30 ] || return 1
	[ -z "$(comm -23 bare.bytes trace.bytes)" ] || return 1
	"$build/assay" script -i bare --itrace=be >ours 2>decoder
	grep -q "module loop is not decoded: its file was not found" decoder
}

parts_are_the_same() {
	local bytes
	for bytes in 3000 50000; do
		ASSAY_PT_PARTS=$bytes "$build/assay" script -i trace --itrace=be -F tid,ip,addr 2>decoder | awk '{ print $1, $2, $3, $4 }' >ours
		cmp ours trace/truth || return 1
	done
}

one_report() {
	"$build/assay" report -i trace --itrace=i1000i --by image >report.out
	cat report.out
	grep -q ' guest_work$' report.out && grep -q '\[kernel\]' report.out
}

# perf has some branches of a switch with the thread before it, so threads are left out.
as_perf() {
	perf script -i trace --itrace=be -F tid,ip,addr 2>perf.err | awk 'NF { print $2, $3, $4 }' >theirs
	taken trace/truth | cmp - theirs || { taken trace/truth | diff - theirs | head -10; return 1; }
}

run_traced() {
	cd "$work" || return
	set -e
	record_trace
	set +e
	check "the trace has threads, a module, programs and interrupts" trace_has_all
	check "each branch of a whole machine is the one that was taken, of the thread that took it" branches_are_those_taken
	check "a module that the copy of memory lacks is decoded from its file" module_from_its_file
	check "parts that threads decode equal the whole" parts_are_the_same
	check "one report has the kernel and the programs" one_report
	if perf --version >perf.version 2>/dev/null; then
		check "perf decodes the same branches" as_perf
	else
		echo "ok - perf decodes the same branches # SKIP no perf"
	fi
}
