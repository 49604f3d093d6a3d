#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Damaged stacks, and programs that change while they are recorded.

load helpers

# record_stacks COMMAND…: copied stacks of it, in the session s.
record_stacks() {
	run within assay record --call-graph dwarf -e cpu-clock -o s -- "$@"
	echo "$output"
	[ "$status" = 0 ]
	[ "$(fact s .samples)" -gt 0 ]
}

# Of a session that is being recorded, too.
has_samples() {
	[ "$(fact "$1" .samples 2>/dev/null || echo 0)" -gt 0 ]
}

# The samples of a function, without its callees.
samples_in() { # SESSION FUNCTION
	assay report -i "$1" -l -t 0 --format json | jq "[.rows[] | select(.symbol == \"$2\") | .samples] | add // 0"
}

# The percentage of a function, with its callees.
total_of() {
	assay report -i "$1" -l -t 0 --format json |
		jq "[.rows[] | select(.symbol == \"$2\") | .total_percent] | add // 0 | floor"
}

# Writes over the .eh_frame of an ELF file, in place: from a part of its length on, with bytes of a kind.
spoil_frames() { # FILE zeros|ones|noise FROM_PERCENT
	python3 - "$@" <<-'END'
		import struct, sys
		path, kind, percent = sys.argv[1], sys.argv[2], int(sys.argv[3])
		with open(path, "r+b") as f:
		    elf = f.read()
		    off, = struct.unpack_from("<Q", elf, 0x28)
		    size, n, names = struct.unpack_from("<HHH", elf, 0x3a)
		    section = lambda i: struct.unpack_from("<IIQQQQ", elf, off + i * size)
		    text = section(names)[4]
		    for i in range(n):
		        name, _, _, _, at, length = section(i)
		        if elf[text + name:].startswith(b".eh_frame\0"):
		            skip = length * percent // 100
		            noise = bytes((k * k * 31 + k * 7 + 13) % 251 for k in range(length - skip))
		            f.seek(at + skip)
		            f.write({"zeros": bytes(len(noise)), "ones": b"\xff" * len(noise), "noise": noise}[kind])
	END
}

@test "a stack that was written over ends where the garbage begins" {
	need_recording
	record_stacks "$PROGRAMS/scribbles" 5000
	[ "$(total_of s scribble)" -ge 90 ]
	# Whatever the reason, it is counted as one that stacks end for.
	[[ "$(assay info s)" == *"stacks "* || "$(assay info s)" == *"no mapping covers"* ]]
}

@test "an address that nothing covers ends a copied stack, and is counted once" {
	need_recording
	[ "$(uname -m)" = x86_64 ] || skip "the program is for x86-64"
	cat >away.c <<-'END'
		void away(void);
		__asm__(".globl away\n.type away, @function\naway: .cfi_startproc\n"
			"mov $0x10000000, %ecx\n1: dec %ecx\njnz 1b\nret\n.cfi_endproc\n.size away, .-away\n"
			".globl liar\n.type liar, @function\nliar: .cfi_startproc\n" /* its frame is one word more */
			"pushq $0x12345\ncall away\nadd $8, %rsp\nret\n.cfi_endproc\n.size liar, .-liar\n");
		void liar(void);
		int main(void) { liar(); }
	END
	gcc -o away away.c
	record_stacks ./away
	[ "$(total_of s away)" -ge 90 ]
	unmapped=$(assay info --format json s | jq '.losses["frame-unmapped"]')
	[ "$unmapped" -gt 0 ]
	[ "$unmapped" -le "$(fact s .samples)" ]
}

# A session's stacks through a function begin in _start or hang below [cut], and some are cut. A stack that is whole
# may be missing: then [cut] is a root.
hangs_below_cut() { # SESSION FUNCTION
	assay report -i "$1" --tree -t 0 --format json >tree.json
	[ "$(jq '[.rows[] | select(.depth <= 1 and .symbol == "[cut]") | .total] | add > 0' tree.json)" = true ]
	[ "$(jq --arg f "$2" '[.rows[] | select(.depth == 0 and .symbol == $f)] | length' tree.json)" = 0 ]
	[ "$(jq '[.rows[] | select(.symbol == "[cut]") | .samples] | add' tree.json)" = 0 ]
	assay export -i "$1" -F folded -o folded
	grep -qE "^[^;]*;(_start;)?\[cut\];$2;" folded
	[ "$(assay script -i "$1" | grep -cF '[cut]')" = 0 ]
}

@test "a recursion of 100,000 calls is cut, and a note has the remedy" {
	need_recording
	run assay record --call-graph dwarf --stack-size 4k -e cpu-clock -o s -- "$PROGRAMS/deep-nofp" 500 100000
	[ "$status" = 0 ]
	[ "$(total_of s level)" -ge 90 ]
	[[ "$(assay info s)" == *"stacks deeper than the copied bytes (more are copied with record --stack-size)"* ]]
	hangs_below_cut s level
}

@test "a stack deeper than the frames that are kept is cut at the limit" {
	need_recording
	run assay record --call-graph dwarf --stack-size 65528 -e cpu-clock -o s -- "$PROGRAMS/deep-nofp" 500 100000
	[ "$status" = 0 ]
	[ "$(assay report -i s --tree -t 0 --format json | jq '[.rows[].depth] | max')" -ge 500 ]
	[[ "$(assay info s)" == *"call chains cut at the depth limit"* ]]
	hangs_below_cut s level
}

# Half of the samples are deep, and as many in each thread.
deep_threads() {
	cat >deep.c <<-'END'
		#include <pthread.h>
		#include <stddef.h>
		volatile unsigned long sink;
		__attribute__((noinline)) void spin(unsigned long n) { while (n--) sink += n; }
		__attribute__((noinline)) void rec(int n) { if (n) rec(n - 1); spin(200); }
		static void *run(void *unused) { for (;;) { spin(4000000); rec(20000); } return unused; }
		int main(void)
		{
			pthread_t other;
			pthread_create(&other, NULL, run, NULL);
			run(NULL);
		}
	END
	gcc -O2 -fno-optimize-sibling-calls -pthread -o deep deep.c
}

@test "[cut] hangs below the root of whole stacks, of first threads and of others, in all views" {
	need_recording
	deep_threads
	cut_below() { grep -cE "^deep;$1;\[cut\];rec;" folded; }
	# shellcheck disable=SC2317,SC2329 # record_until calls it
	has_both() {
		assay export -i s -F folded -o folded app:deep && [ "$(cut_below _start)" -gt 0 ] && [ "$(cut_below '_*clone3?')" -gt 0 ] &&
			grep -qE '^deep;_start;.*;spin ' folded && grep -qE '^deep;_*clone3?;.*;spin ' folded
	}
	record_until has_both -o s --call-graph dwarf -e cpu-clock:u -F "$(at_most 997)" -- ./deep
	assay export -i s -F folded -o folded app:deep
	[ "$(grep -cE '^[^;]*;\[cut\]' folded)" = 0 ]
	# The views agree: samples below [cut] of a tree, of callers, and of exports.
	cut=$(awk '/;\[cut\];/ { n += $NF } END { print n }' folded)
	assay report -i s --tree -t 0 --format json app:deep >tree.json
	[ "$(jq '[.rows[] | select(.symbol == "[cut]" and .depth == 1) | .total] | add' tree.json)" = "$cut" ]
	[ "$(jq '[.rows[] | select(.symbol == "[cut]" and .depth == 0)] | length' tree.json)" = 0 ]
	[ "$(jq '[.rows[] | select(.depth == 0) | .total] | add' tree.json)" = "$(awk '{ n += $NF } END { print n }' folded)" ]
	assay export -i s -F speedscope -o speed.json app:deep
	[ "$(jq '[.shared.frames[].name] as $f | [.profiles[] | .weights as $w | .samples | to_entries[] |
		select($f[.value[1]] == "[cut]") | .value[0] | $f[.]] | unique | length' speed.json)" -ge 2 ]
	assay export -i s -F firefox -o fox.json.gz app:deep
	gunzip fox.json.gz
	[ "$(jq '.shared | .stringArray as $s | .funcTable.name as $n | .frameTable.func as $f | .stackTable as $t | [$t.frame | to_entries[] |
		select($s[$n[$f[.value]]] == "[cut]") | $t.prefix[.key]] | (length > 0) and all(. != null)' fox.json)" = true ]
	# What lies between is not known: no function but the roots has more samples in all.
	assay report -i s -l -t 0 --format json app:deep >flat.json
	whole=$(grep -E ';main;' folded | awk '{ n += $NF } END { print n }')
	[ "$(jq '[.rows[] | select(.symbol == "main") | .total] | add' flat.json)" = "$whole" ]
}

@test "spoilt unwind tables cost stacks and nothing else" {
	need_recording
	for how in "zeros 0" "ones 0" "noise 0" "ones 50" "noise 10" "noise 90"; do
		cp -f "$PROGRAMS/deep-nofp" spoilt
		# shellcheck disable=SC2086 # two words
		spoil_frames spoilt $how
		rm -rf .cache s
		record_stacks ./spoilt 3000
		[ "$(assay report -i s -l -t 0 --format json | jq '[.rows[] | select(.symbol == "bottom")] | length')" = 1 ]
	done
}

@test "a program that was replaced while it runs is unwound and named by the running file" {
	need_recording
	cp "$PROGRAMS/deep-nofp" prog
	background ./prog 100000s >/dev/null
	program=$pid
	is_running "$program" prog
	cp "$PROGRAMS/split" other
	mv -f other prog
	background assay record --call-graph dwarf -e cpu-clock -p "$program" -o s 2>said
	wait_for test -e s
	wait_for has_run "$program" $(($(ticks "$program") + 50))
	kill -INT "$pid"
	wait "$pid" || { cat said; false; }
	[ "$(total_of s bottom)" -ge 80 ]
	[ "$(total_of s main)" -ge 80 ]
}

@test "a library that is written over in place while it runs" {
	need_recording
	cp "$PROGRAMS/libplugin.so" lib.so
	spoils() { while [ ! -e stop ]; do spoil_frames lib.so noise 0; done; }
	background spoils
	run assay record --call-graph dwarf -e cpu-clock -o s -- "$PROGRAMS/loads" 200 ./lib.so
	touch stop
	wait "$pid"
	echo "$output"
	[ "$status" = 0 ]
	[ "$(total_of s plugin_work)" -ge 80 ]
}

@test "a library that is cut while it runs ends the program, not the recording" {
	need_recording
	cp "$PROGRAMS/libplugin.so" lib.so
	background assay record --call-graph dwarf -e cpu-clock -o s -- "$PROGRAMS/loads" 100000s ./lib.so >said 2>&1
	wait_for has_samples s
	truncate -s 4096 lib.so
	status=0
	wait_for not kill -0 "$pid"
	wait "$pid" || status=$?
	[ "$status" != 0 ]
	grep " samples, " said
	[ "$(fact s .samples)" -gt 0 ]
	assay report -i s >/dev/null
}

@test "libraries that come and go at one place are distinguished" {
	need_recording
	# Each library gets 150 rounds of the same work.
	run within assay record --call-graph dwarf -e cpu-clock -o s -- "$PROGRAMS/loads" 300 "$PROGRAMS/libleft.so" "$PROGRAMS/libright.so"
	echo "$output"
	[ "$status" = 0 ]
	[[ "$output" != *"moved"* ]] || skip "needs a loader that maps a library where the one before was"
	for side in left right; do
		assay report -i s -l -t 0 --format json | jq -r ".rows[] | select(.symbol == \"${side}_inner\") | .image" >images
		grep "/lib$side\.so$" images
		[ "$(wc -l <images)" = 1 ]
	done
	left=$(samples_in s left_inner) right=$(samples_in s right_inner)
	share_is "$left" $((left + right)) 0.5
	[ "$(total_of s plugin_work)" -ge 90 ]
	[ "$(total_of s main)" -ge 90 ]
}
