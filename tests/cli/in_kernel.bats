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
	seconds=$(fact s '.duration_seconds' | cut -d. -f1)
	[ "$(fact s '.samples')" -ge $((997 * seconds * 9 / 10)) ]
	# 60 calls of one function below each other, and main above them.
	assay report -i s --tree -t 0 --format json app:"$PROGRAMS/deep" |
		jq -e '[.rows[] | select(.symbol == "level")] | length >= 50' >/dev/null
	assay report -i s -l --format json app:"$PROGRAMS/deep" |
		jq -e '[.rows[] | select(.symbol == "main")][0].total_percent > 80' >/dev/null
}

@test "a known split is found in the kernel's counts" {
	need_bpf
	assay record -a --collector bpf -e cpu-clock -F 997 -o s -- "$PROGRAMS/split" 3s
	assay report -i s -l --format json comm:split app:"$PROGRAMS/split" |
		jq -e '[.rows[] | {(.symbol // ""): .percent}] | add
			| .forty > 33 and .forty < 47 and .thirty > 24 and .thirty < 36' >/dev/null
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

@test "a killed recorder leaves no program behind" {
	need_bpf
	bpftool=$(PATH=$PATH:/usr/sbin command -v bpftool) || skip "bpftool is not installed"
	assay record -a --collector bpf -e cpu-clock -o s 2>/dev/null &
	pid=$!
	sleep 1
	"$bpftool" prog list pids 2>/dev/null | grep -q . || true
	kill -9 $pid
	wait $pid || true
	sleep 0.5
	run "$bpftool" prog list
	[[ "$output" != *"perf_event  name sample "* ]]
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
