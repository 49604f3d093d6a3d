#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Counting in the kernel by a BPF program.

load helpers

setup_file() {
	assay record -a --collector bpf --duration 0.1 -e cpu-clock -o "$BATS_FILE_TMPDIR/probe" \
		>"$BATS_FILE_TMPDIR/probe.log" 2>&1 || echo "it failed" >>"$BATS_FILE_TMPDIR/probe.log"
}

need_bpf() {
	local log=$BATS_FILE_TMPDIR/probe.log
	need_root
	! grep -q "through rings instead" "$log" || skip "$(grep "through rings instead" "$log")"
	! grep -q "it failed" "$log" || need_recording
	! grep "it failed" -B 100 "$log"
}

# count PROGRAM N ARGUMENTS…: counts the whole machine in the kernel into s, until it has N samples
# of a program, which works for ever. The program is a copy: other tests run the same one.
count() {
	local program=$1 n=$2
	shift 2
	cp "$PROGRAMS/$program" .
	record_samples "$n" s "app:$PWD/$program" -a --collector bpf -e cpu-clock -F "$(at_most 997)" "$@"
}

# The rows of a program's call tree in s that jq selects.
tree_rows() { # PROGRAM FILTER
	assay report -i s --tree -t 0 --format json "app:$PWD/$1" | jq "[.rows[] | select($2)] | length"
}

# The share, in whole percent, of a program's samples whose stack begins in _start.
from_start() {
	assay report -i s --tree -t 0 --format json "app:$PWD/$1" |
		jq '[.rows[] | select(.depth == 0)] | (map(select(.symbol == "_start") | .total) | add // 0) * 100
			/ (map(.total) | add) | floor'
}

# How much is counted under a loss of s; 0: none.
loss() {
	fact s '.losses["'"$1"'"] // 0'
}

has_lost() {
	local name
	for name; do
		[[ $(loss "$name" 2>/dev/null) -gt 0 ]] || return
	done
}

# Many functions, and many stacks.
PYTHON='
import json
while True:
	json.dumps(list(range(1000)))'

@test "a whole machine is counted in the kernel, with stacks, and nothing is lost" {
	need_bpf
	count deep 300 -- ./deep 100000s
	[[ "$output" == *" 0 lost,"* ]]
	[[ "$(assay info s)" == *"BPF, stacks: in-kernel unwinding"* ]]
	# No CPU has more samples than its clock ticked.
	ticks=$(fact s '.duration_s * 997 * '"$(getconf _NPROCESSORS_ONLN)"' * 1.01 + 100 | floor')
	[ "$(fact s .samples)" -ge "$(samples_of s "app:$PWD/deep")" ]
	[ "$(fact s .samples)" -le "$ticks" ]
	# 60 calls of one function below each other, and main above them.
	[ "$(tree_rows deep '.symbol == "level"')" -ge 50 ]
	[ "$(assay report -i s -l --format json "app:$PWD/deep" |
		jq '[.rows[] | select(.symbol == "main")][0].total_percent > 50')" = true ]
}

# Each round of the program has its shares exactly, so they scatter less than random ones.
@test "a known split is found in the kernel's counts" {
	need_bpf
	count split 1000 -- ./split 100000s
	assay report -i s -l -t 0 --format json "app:$PWD/split" >split.json
	of() {
		jq "[.rows[] | select(.symbol | IN($1)) | .samples] | add // 0" split.json
	}
	all=$(of '"forty", "thirty", "twenty", "ten"')
	share_is "$(of '"forty"')" "$all" 0.4
	share_is "$(of '"thirty"')" "$all" 0.3
}

@test "the whole machine is counted in the kernel by default, with whole stacks" {
	need_bpf
	run assay record -a -e cpu-clock -o s -- true
	[ "$status" = 0 ]
	[[ "$output" == *"stacks: in-kernel unwinding"* ]]
	[ "$(fact s .collector)" = BPF ]
	run assay record -a --collector perf -e cpu-clock --duration 0.2 -o s
	[[ "$output" == *"stacks: copied stacks"* ]]
	[ "$(fact s .collector)" = "perf rings" ]
}

@test "flat counts have no callers" {
	need_bpf
	count deep 20 --call-graph none -- ./deep 100000s
	[ "$(assay report -i s --tree -t 0 --format json | jq '[.rows[].depth] | max')" = 0 ]
}

@test "a program without frame pointers has whole stacks" {
	need_bpf
	count deep-nofp 300 -- ./deep-nofp 100000s
	[[ "$output" == *"stacks: in-kernel unwinding"* ]]
	[ "$(from_start deep-nofp)" -ge 70 ]
	[ "$(tree_rows deep-nofp '.symbol == "level"')" -ge 50 ]
}

@test "a stack through libraries and the kernel is one, down to _start" {
	need_bpf
	cp "$(command -v dd)" .
	record_samples 100 s "app:$PWD/dd" -a --collector bpf -e cpu-clock -F "$(at_most 997)" -- \
		./dd if=/dev/zero of=/dev/null bs=4M
	[ "$(tree_rows dd '.symbol == "__libc_start_main" or .symbol == "__libc_start_call_main"')" -gt 0 ]
	[ "$(tree_rows dd '.image == "[kernel]" and .depth > 3')" -gt 0 ]
}

@test "recursion without end is cut at the depth limit, and counted" {
	need_bpf
	count deep-nofp 100 -- ./deep-nofp 100000s 100000
	[ "$(loss chain-cut)" -gt 0 ]
	[ "$(assay report -i s --tree -t 0 --format json "app:$PWD/deep-nofp" | jq '[.rows[].depth] | max')" -ge 511 ]
}

@test "without bpf_loop stacks go by frame pointer, and that is said" {
	need_bpf
	ASSAY_SAMPLER_LIMITS=loop=0 count deep 100 -- ./deep 100000s
	[[ "$output" == *"before Linux 5.17"*"by frame pointer"* ]]
	[[ "$(assay info s)" == *"BPF, stacks: frame pointers"* ]]
	[ "$(tree_rows deep '.symbol == "level"')" -ge 50 ]
}

@test "a full map of counts loses samples, and counts them" {
	need_bpf
	lost_one() { has_lost ring-full; }
	ASSAY_SAMPLER_LIMITS=counts=2 record_until lost_one -a --collector bpf -e cpu-clock \
		-F "$(at_most 997)" -o s -- python3 -c "$PYTHON"
	[[ "$output" != *" 0 lost,"* ]]
}

# No raw stack fits such a ring: those are cut until the tables are there.
@test "a full ring of messages loses samples, and counts them" {
	need_bpf
	lost_both() { has_lost ring-full stack-no-table; }
	ASSAY_SAMPLER_LIMITS=messages=4096 record_until lost_both -a --collector bpf -e cpu-clock \
		-F "$(at_most 997)" -o s -- python3 -c "$PYTHON"
	[[ "$output" != *" 0 lost,"* ]]
}

@test "stacks are told anew in each generation" {
	need_bpf
	cp "$PROGRAMS/quarters" .
	# The counts are read each second at least.
	three_readings() { has_samples 200 s "app:$PWD/quarters" && [ "$(fact s '.last_sample_s > 3')" = true ]; }
	ASSAY_SAMPLER_LIMITS=stacks=1 record_until three_readings -a --collector bpf -e cpu-clock \
		-F "$(at_most 997)" -o s -- ./quarters 100000s
	[ "$(loss ring-full)" = 0 ]
	[ "$(assay report -i s --format json "app:$PWD/quarters" | jq ".rows[0].samples")" -gt 100 ]
}

@test "tables that find no room are told, and their stacks go by frame pointer" {
	need_bpf
	lost_tables() { has_lost tables-full; }
	ASSAY_SAMPLER_LIMITS=chunks=1 record_until lost_tables -a --collector bpf -e cpu-clock \
		-F "$(at_most 997)" -o s -- python3 -c "$PYTHON"
	[[ "$output" == *" samples, "* ]]
}

# Identifiers of the recorder's own programs (prog_id) or maps (map_id): others may record, too.
ids() {
	cat "/proc/$pid/fdinfo/"* 2>/dev/null | awk -v key="$1:" '$1 == key { print $2 }' | sort -u
}

has_program() {
	[ -n "$(ids prog_id)" ]
}

is_left() { # prog|map ID
	"$bpftool" "$1" show id "$2" >/dev/null 2>&1
}

@test "a killed recorder leaves no program behind" {
	need_bpf
	bpftool=$(PATH=$PATH:/usr/sbin command -v bpftool) || skip "bpftool is not installed"
	background assay record -a --collector bpf -e cpu-clock -o s 2>/dev/null
	started() { has_program && [ -n "$(fact s .samples 2>/dev/null)" ]; }
	wait_for started
	progs=$(ids prog_id)
	maps=$(ids map_id)
	[ -n "$maps" ]
	kill -9 "$pid"
	wait "$pid" || true
	for id in $progs; do wait_for not is_left prog "$id"; done
	for id in $maps; do wait_for not is_left map "$id"; done
	assay info s >/dev/null
}

@test "without permission the rings do it, and that is said" {
	need_root
	need_recording
	run unprivileged assay record -a --collector bpf -e cpu-clock:u --duration 0.2 -o s
	[[ "$output" == *"through rings instead"* ]]
}

@test "what does not go with counting in the kernel" {
	run assay record --collector bpf -- true
	refused 2 "--collector=bpf is for the whole machine"
	run assay record -a --collector bpf --call-graph dwarf -- true
	refused 2 "--call-graph=dwarf"
}
