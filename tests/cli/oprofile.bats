#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# OProfile's sample files: written by --store=oprofile, read by every command.
load helpers
load opdemo

# The counts of all sample files that are no arcs, added up by mkopfile. An ordinary user's event is
# cpu-clock:u.
flat_total() {
	find "$1" -name 'cpu-clock*' -not -path '*{cg}*' -print0 |
		xargs -0 python3 "$MKOPFILE" dump | awk '/^  0x/ { n += $2 } END { print n + 0 }'
}

@test "sample files have the counted samples" {
	need_recording
	assay record -q -e cpu-clock --store=oprofile -o s -- "$PROGRAMS/split" 300 >/dev/null
	[ -s s/abi ]
	total=$(jq .samples s/samples/current/assay.json)
	[ "$total" -gt 0 ]
	[ "$(flat_total s)" = "$total" ]
	run assay import s -o n
	[ "$status" = 0 ]
	[ "$(fact n .samples)" = "$total" ]
}

@test "sample files lie below application and image, as the separation says" {
	need_recording
	split=$(readlink -f "$PROGRAMS/split")
	assay record -q -e cpu-clock --call-graph=none --store=oprofile --separate=thread,lib,cpu -o s -- "$PROGRAMS/split" 300 >/dev/null
	run find "s/samples/current/{root}$split/{dep}/{root}$split" -regex '.*/cpu-clock[:u]*\.0\.0\.[0-9]+\.[0-9]+\.[0-9]+'
	[ -n "$output" ]
	assay record -q -e cpu-clock --call-graph=none --store=oprofile --separate=none -o s -- "$PROGRAMS/split" 300 >/dev/null
	run find "s/samples/current/{root}$split/{dep}/{root}$split" -name 'cpu-clock*.0.0.all.all.all'
	[ "${#lines[@]}" = 1 ]
	run find s -path '*split/{dep}/{root}/*lib*'
	[ -z "$output" ]
}

@test "the native store shows a smaller separation, too" {
	need_recording
	assay record -q --separate=process -o s -- "$PROGRAMS/threads" 1000 >/dev/null
	run assay report -i s --by cpu
	[ "$status" = 0 ]
	[[ "$output" == *"cpu all"* ]]
}

@test "a separation that does not exist is refused with those that do" {
	run assay record --separate=lib,bogus -- true
	[ "$status" = 2 ]
	[[ "$output" == *"'bogus' is none of none, lib, kernel"* ]]
}

@test "a session of OProfile gives the symbols and counts that opreport gives" {
	demo
	run assay report -i demo -l
	[ "$status" = 0 ]
	[[ "$output" =~ 1000\ +49\.75\ +libdemo.so\ +lib_work ]]
	[[ "$output" =~ 800\ +39\.80\ +app\ +leaf ]]
	[[ "$output" =~ 150\ +7\.46\ +app\ +mid ]]
	[[ "$output" =~ 10\ +0\.50\ +ls ]]
	[[ "$output" == *"a sample every 100000 events"* ]]
}

@test "sample files of a 32-bit machine are read" {
	python3 "$MKOPFILE" --layout i386 --app /usr/bin/app flat old /bin/sh 0x1000=41 0x2000=1 >/dev/null
	run assay report -i old --format csv
	[ "$status" = 0 ]
	[[ "$output" == *42* ]]
}

@test "kernel, modules and anonymous memory by their names" {
	python3 "$MKOPFILE" --app /usr/bin/app --kernel flat k ext4 0x10=5 >/dev/null
	python3 "$MKOPFILE" --app /usr/bin/app --anon anon --start 0x7f0000000000 flat k 12.0x7f0000000000.0x7f0000000fff 0x20=7 >/dev/null
	run assay report -i k -l
	[ "$status" = 0 ]
	[[ "$output" =~ 7\ +58\.33 ]]
	[[ "$output" =~ 5\ +41\.67\ +\[ext4\] ]]
}

@test "a sample file that is damaged is named, and the rest is there" {
	demo
	victim=$(find demo -path '*libdemo*' -name 'CPU*' -not -path '*{cg}*')
	truncate -s -20 "$victim"
	run assay import demo -o n
	[ "$status" = 1 ]
	[[ "$output" == *libdemo.so*"cut off"* ]]
	[ "$(fact n .samples)" = 1010 ]
	mv "$victim" "$(dirname "$victim")/CPU.nonsense"
	run assay report -i demo
	[ "$status" = 1 ]
	[[ "$output" == *"'CPU.nonsense' is not EVENT.COUNT.UNITMASK.TGID.TID.CPU"* ]]
	[[ "$output" == *1010* ]]
}

@test "what OProfile lost is in the header" {
	demo
	mkdir demo/samples/current/stats
	printf 17 >demo/samples/current/stats/lost_records_by_kernel
	run assay report -i demo
	[ "$status" = 0 ]
	[[ "$output" == *"17"*"lost by the tool that recorded"* ]]
}

@test "JIT code keeps its names in sample files" {
	need_recording
	assay record -q -e cpu-clock --call-graph=none --store=oprofile -o s -- "$PROGRAMS/jit" 2000 >map
	rm -f "$(cat map)"
	run assay report -i s -l
	[ "$status" = 0 ]
	[[ "$output" == *jit_hot* ]]
	# OProfile's tools find them in an ELF file beside the samples, and so do we
	jo=$(find s -name '*.jo')
	[[ "$jo" == *"{dep}/{anon:anon}/"* ]]
	nm -S "$jo" >names
	has ' T jit_hot$' names
	readelf -lhSW "$jo" >/dev/null 2>warnings
	[ ! -s warnings ]
	rm s/samples/current/assay.json
	run assay report -i s -l
	[ "$status" = 0 ]
	[[ "$output" == *jit_hot* ]]
}

@test "arcs of sample files are callers and callees, from the files and from a session made of them" {
	demo
	assay import -q demo -o n
	[ "$(fact n .samples)" = 2010 ]
	for session in demo n; do
		run assay report -i "$session" -c --symbol-cache ""
		[ "$status" = 0 ]
		[[ "$output" =~ \ 150\ +7\.46\ +app\ +main ]]
		[[ "$output" =~ 1950\ +97\.01\ +150\ +7\.46\ +app\ +mid ]]
		[[ "$output" =~ 1000\ +49\.75\ +libdemo.so\ +lib_work ]]
		[[ "$output" =~ 800\ +39\.80\ +app\ +leaf ]]
	done
	# each is there as often as mkopfile dumps it
	[ "$(assay report -i n -c --symbol-cache "" --format csv | awk -F, '$2 == "caller" && $5 != "" { n += $10 } END { print n }')" = 1950 ]
	command -v gprof >/dev/null || return 0
	assay export -q -i n -F gmon --image app -o x.gmon
	gprof -b -q bin/app x.gmon >graph
	awk '/^\[.*mid/ { seen = 1 } seen && /800\/800 +leaf/ { found = 1 } END { exit !found }' graph || { cat graph; return 1; }
}

@test "totals of symbols are those of a slow reading of the files with nm" {
	demo
	run python3 "$ROOT/tests/compare_samples.py" "$MKOPFILE" demo
	[ "$status" = 0 ]
	[ "$output" = "4 2000" ]
	need_recording
	assay record -q -e cpu-clock --store=oprofile -o s -- "$PROGRAMS/split" 300 >/dev/null
	run python3 "$ROOT/tests/compare_samples.py" "$MKOPFILE" s "$(readlink -f "$PROGRAMS/split")"
	echo "$output"
	[ "$status" = 0 ]
}

@test "anonymous memory that parent and child run is named by the process that ran it" {
	need_recording
	[ "$(uname -m)" = x86_64 ] || skip "the code is of x86-64"
	cat >fork.py <<-'END'
		import ctypes, mmap, os
		code = mmap.mmap(-1, 4096, prot=7)
		code.write(b"\xff\xc7\x75\xfc\xc3")  # counts edi up to 0
		run = ctypes.CFUNCTYPE(None, ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
		child = os.fork()
		run(1)
		print(os.getpid(), flush=True)
		if child:
		    os.wait()
	END
	assay record -q -e cpu-clock --call-graph=none --store=oprofile -o s -- python3 fork.py >pids
	[ "$(find s -path '*{anon:anon}*' -name 'cpu-clock*' | grep -o '/[0-9]*\.0x' | tr -dc '0-9x\n' | sed 's/0x$//' | sort -n)" = "$(sort -n pids)" ]
}

@test "opreport reads the same of JIT code as the original: the last function, too" {
	need_recording
	assay record -q -e cpu-clock --call-graph=none --store=oprofile -o s -- "$PROGRAMS/jit" 1500 >map
	rm -f "$(cat map)"
	jo=$(find s -name '*.jo')
	# OProfile takes a function to end at the next symbol: there is one behind the last
	[ "$(nm -n "$jo" | tail -n 1 | cut -d ' ' -f 3)" = "[end]" ]
	original=${ASSAY_OPROFILE:-/usr}/bin/opreport
	{ [ -x "$original" ] && ! "$original" --version | grep -q assay; } || return 0
	diff <("$original" -n -l --session-dir=s lib-image:'*.jo' 2>/dev/null) <(opreport -n -l --session-dir=s lib-image:'*.jo' 2>/dev/null)
}
