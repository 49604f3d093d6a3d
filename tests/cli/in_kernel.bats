#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Counting in the kernel by a BPF program.

load helpers

need_bpf() {
	need_root
	run assay record -a --collector bpf --duration 0.1 -e cpu-clock -o probe.assay
	[[ "$output" != *"through rings instead"* ]] || skip "$output"
	[ "$status" = 0 ] || { echo "$output"; false; }
}

@test "a whole machine is counted in the kernel, with stacks, and nothing is lost" {
	need_bpf
	run assay record -a --collector bpf -e cpu-clock -F 997 -o s -- "$PROGRAMS/deep" 3s
	[ "$status" = 0 ]
	[[ "$output" == *" 0 lost,"* ]]
	[[ "$(assay info s)" == *"BPF, stacks: in-kernel unwinding"* ]]
	# The busy CPU's ticks at least: an idle one's are throttled where it has no timer tick.
	seconds=$(fact s '.duration_s' | cut -d. -f1)
	[ "$seconds" -ge 2 ]
	[ "$(fact s '.samples')" -ge $((997 * seconds / 2)) ]
	# 60 calls of one function below each other, and main above them.
	assay report -i s --tree -t 0 --format json app:"$PROGRAMS/deep" |
		jq -e '[.rows[] | select(.symbol == "level")] | length >= 50' >/dev/null
	assay report -i s -l --format json app:"$PROGRAMS/deep" |
		jq -e '[.rows[] | select(.symbol == "main")][0].total_percent > 50' >/dev/null
}

@test "a known split is found in the kernel's counts" {
	need_bpf
	assay record -a --collector bpf -e cpu-clock -F 997 -o s -- "$PROGRAMS/split" 3s
	assay report -i s -l --format json comm:split app:"$PROGRAMS/split" |
		jq -e '[.rows[] | {(.symbol // ""): .percent}] | add
			| .forty > 28 and .forty < 52 and .thirty > 20 and .thirty < 40' >/dev/null
}

@test "the whole machine is counted in the kernel by default, with whole stacks" {
	need_bpf
	run assay record -a -e cpu-clock -o s -- "$PROGRAMS/deep-nofp" 2s
	[ "$status" = 0 ]
	[[ "$output" == *"stacks: in-kernel unwinding"* ]]
	[ "$(fact s .collector)" = BPF ]
	run assay record -a --collector perf -e cpu-clock --duration 0.2 -o s
	[[ "$output" == *"stacks: copied stacks"* ]]
	[ "$(fact s .collector)" = "perf rings" ]
}

@test "flat counts have no callers" {
	need_bpf
	assay record -a --collector bpf --call-graph none -e cpu-clock -o s -- "$PROGRAMS/deep" 1s
	[ "$(assay report -i s --tree -t 0 --format json | jq '[.rows[].depth] | max')" = 0 ]
}

# The share, in whole percent, of a program's samples whose stack begins in _start.
from_start() {
	assay report -i "$1" --tree -t 0 --format json app:"$2" |
		jq '[.rows[] | select(.depth == 0)] | (map(select(.symbol == "_start") | .total) | add // 0) * 100
			/ (map(.total) | add) | floor'
}

# How much is counted under a loss; 0: none.
loss() {
	fact "$1" '.losses["'"$2"'"] // 0'
}

@test "a program without frame pointers has whole stacks" {
	need_bpf
	run assay record -a --collector bpf -e cpu-clock -F 997 -o s -- "$PROGRAMS/deep-nofp" 2s
	[ "$status" = 0 ]
	[[ "$output" == *"stacks: in-kernel unwinding"* ]]
	[ "$(from_start s "$PROGRAMS/deep-nofp")" -ge 70 ]
	assay report -i s --tree -t 0 --format json app:"$PROGRAMS/deep-nofp" |
		jq -e '[.rows[] | select(.symbol == "level")] | length >= 50' >/dev/null
}

@test "a stack through libraries and the kernel is one, down to _start" {
	need_bpf
	assay record -a --collector bpf -e cpu-clock -F 997 -o s -- \
		dd if=/dev/zero of=/dev/null bs=4M count=2000 2>/dev/null
	assay report -i s --tree -t 0 --format json comm:dd |
		jq -e '[.rows[] | select(.symbol == "__libc_start_main" or .symbol == "__libc_start_call_main")]
			| length > 0' >/dev/null
	assay report -i s --tree -t 0 --format json comm:dd |
		jq -e '[.rows[] | select(.image == "[kernel]" and .depth > 3)] | length > 0' >/dev/null
}

@test "recursion without end is cut at the depth limit, and counted" {
	need_bpf
	assay record -a --collector bpf -e cpu-clock -F 997 -o s -- "$PROGRAMS/deep-nofp" 1s 100000
	[ "$(loss s chain-cut)" -gt 0 ]
	[ "$(assay report -i s --tree -t 0 --format json app:"$PROGRAMS/deep-nofp" |
		jq '[.rows[].depth] | max')" -ge 511 ]
}

@test "without bpf_loop stacks go by frame pointer, and that is said" {
	need_bpf
	ASSAY_SAMPLER_LIMITS=loop=0 run assay record -a --collector bpf -e cpu-clock -o s -- "$PROGRAMS/deep" 1s
	[ "$status" = 0 ]
	[[ "$output" == *"before Linux 5.17"*"by frame pointer"* ]]
	[[ "$(assay info s)" == *"BPF, stacks: frame pointers"* ]]
	assay report -i s --tree -t 0 --format json app:"$PROGRAMS/deep" |
		jq -e '[.rows[] | select(.symbol == "level")] | length >= 50' >/dev/null
}

@test "a full map of counts loses samples, and counts them" {
	need_bpf
	ASSAY_SAMPLER_LIMITS=counts=2 run assay record -a --collector bpf -e cpu-clock -F 997 -o s -- \
		python3 -c 'import json; [json.dumps(list(range(1000))) for _ in range(4000)]'
	[ "$status" = 0 ]
	[ "$(loss s ring-full)" -gt 0 ]
	[[ "$output" != *" 0 lost,"* ]]
}

@test "a full ring of messages loses samples, and counts them" {
	need_bpf
	ASSAY_SAMPLER_LIMITS=messages=4096 run assay record -a --collector bpf -e cpu-clock -F 997 -o s -- \
		python3 -c 'import json; [json.dumps(list(range(1000))) for _ in range(4000)]'
	[ "$status" = 0 ]
	[ "$(loss s ring-full)" -gt 0 ]
	# No raw stack fits such a ring: those are cut until the tables are there.
	[ "$(loss s stack-no-table)" -gt 0 ]
}

@test "stacks are told anew in each generation" {
	need_bpf
	ASSAY_SAMPLER_LIMITS=stacks=1 run assay record -a --collector bpf -e cpu-clock -F 997 -o s -- \
		"$PROGRAMS/quarters" 4s
	[ "$(loss s ring-full)" = 0 ]
	[ "$(assay report -i s --format json app:"$PROGRAMS/quarters" | jq ".rows[0].samples")" -gt 100 ]
}

@test "tables that find no room are told, and their stacks go by frame pointer" {
	need_bpf
	ASSAY_SAMPLER_LIMITS=chunks=1 run assay record -a --collector bpf -e cpu-clock -F 997 -o s -- \
		python3 -c 'import json; [json.dumps(list(range(1000))) for _ in range(4000)]'
	[ "$status" = 0 ]
	[[ "$output" == *" samples, "* ]]
	[ "$(loss s tables-full)" -gt 0 ]
}

@test "a killed recorder leaves no program behind" {
	need_bpf
	bpftool=$(PATH=$PATH:/usr/sbin command -v bpftool) || skip "bpftool is not installed"
	assay record -a --collector bpf -e cpu-clock -o s 2>/dev/null &
	pid=$!
	# Its own: others may record on this machine, too.
	for _ in $(seq 100); do
		progs=$(cat /proc/$pid/fdinfo/* 2>/dev/null | awk '$1 == "prog_id:" { print $2 }' | sort -u)
		[ -z "$progs" ] || break
		sleep 0.1
	done
	maps=$(cat /proc/$pid/fdinfo/* | awk '$1 == "map_id:" { print $2 }' | sort -u)
	[ -n "$progs" ] && [ -n "$maps" ]
	kill -9 $pid
	wait $pid || true
	for _ in $(seq 50); do
		left=0
		for id in $progs; do "$bpftool" prog show id "$id" >/dev/null 2>&1 && left=$((left + 1)); done
		for id in $maps; do "$bpftool" map show id "$id" >/dev/null 2>&1 && left=$((left + 1)); done
		[ $left -gt 0 ] || break
		sleep 0.1
	done
	[ "$left" = 0 ]
	assay info s >/dev/null
}

@test "without permission the rings do it, and that is said" {
	need_root
	need_recording
	mkdir -m 777 theirs
	run runuser -u nobody -- "$ASSAY_BUILD/assay" record -a --collector bpf -e cpu-clock:u \
		--duration 0.2 -o theirs/s
	[[ "$output" == *"through rings instead"* ]]
}

@test "what does not go with counting in the kernel" {
	run assay record --collector bpf -- true
	refused 2 "--collector=bpf is for the whole machine"
	run assay record -a --collector bpf --call-graph dwarf -- true
	refused 2 "--call-graph=dwarf"
}
