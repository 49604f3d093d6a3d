#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Counting in the kernel by a BPF program.

load helpers

# count PROGRAM N ARGUMENTS…: counts the whole machine in the kernel into s, until it has N samples
# of a program, which works for ever. The program is a copy: other tests run the same one. With ALSO, until that
# command succeeds, too: samples before the sampler has a file's unwind table have cut stacks.
count() {
	local program=$1 n=$2
	shift 2
	rm -rf s
	cp "$PROGRAMS/$program" .
	# shellcheck disable=SC2317,SC2329 # record_until calls it
	is_counted() { has_samples "$n" s "app:$PWD/$program" && ${ALSO-true}; }
	record_until is_counted -o s -a --collector bpf -e cpu-clock -F "$(at_most 997)" "$@"
}

# The rows of a program's call tree in s that jq selects.
tree_rows() { # PROGRAM FILTER
	assay report -i s --tree -t 0 --format json "app:$PWD/$1" | jq "[.rows[] | select($2)] | length"
}

# The share, in whole percent, of a program's samples whose stack begins in _start.
from_start() {
	assay report -i s --tree -t 0 --format json "app:$PWD/$1" |
		jq '([.rows[] | select(.depth == 1 and .symbol == "[cut]") | .total] | add // 0) as $cut | [.rows[] | select(.depth == 0)] |
			((map(select(.symbol == "_start") | .total) | add // 0) - $cut) * 100 / (map(.total) | add) | floor'
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
	need_sampler
	main_percent() {
		assay report -i s -l --format json "app:$PWD/deep" | jq '[.rows[] | select(.symbol == "main")][0].total_percent // 0'
	}
	has_whole_stacks() { jq -en "$(main_percent) > 50" >/dev/null; }
	ALSO=has_whole_stacks count deep 300 -- ./deep 100000s
	[[ "$output" == *" 0 lost,"* ]]
	[[ "$(assay info s)" == *"BPF, stacks: in-kernel unwinding"* ]]
	# No CPU has more samples than its clock ticked.
	ticks=$(fact s '.duration_s * 997 * '"$(getconf _NPROCESSORS_ONLN)"' * 1.01 + 100 | floor')
	[ "$(fact s .samples)" -ge "$(samples_of s "app:$PWD/deep")" ]
	[ "$(fact s .samples)" -le "$ticks" ]
	# 60 calls of one function below each other, and main above them.
	[ "$(tree_rows deep '.symbol == "level"')" -ge 50 ]
	has_whole_stacks
}

# Each round of the program has its shares exactly, so they scatter less than random ones.
@test "a known split is found in the kernel's counts" {
	need_sampler
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
	need_sampler
	run assay record -a -e cpu-clock -o s -- true
	[ "$status" = 0 ]
	[[ "$output" == *"stacks: in-kernel unwinding"* ]]
	[ "$(fact s .collector)" = BPF ]
	run assay record -a --collector perf -e cpu-clock --duration 0.2 -o s
	[[ "$output" == *"stacks: copied stacks"* ]]
	[ "$(fact s .collector)" = "perf rings" ]
}

@test "flat counts have no callers" {
	need_sampler
	count deep 20 --call-graph none -- ./deep 100000s
	[ "$(assay report -i s --tree -t 0 --format json | jq '[.rows[].depth] | max')" = 0 ]
}

@test "a program without frame pointers has whole stacks" {
	need_sampler
	mostly_whole() { [ "$(from_start deep-nofp)" -ge 70 ]; }
	ALSO=mostly_whole count deep-nofp 300 -- ./deep-nofp 100000s
	[[ "$output" == *"stacks: in-kernel unwinding"* ]]
	assay report -i s --tree "app:$PWD/deep-nofp" | head -40
	[ "$(from_start deep-nofp)" -ge 70 ]
	[ "$(tree_rows deep-nofp '.symbol == "level"')" -ge 50 ]
}

@test "a stack through libraries and the kernel is one, down to _start" {
	need_sampler
	cp "$(command -v dd)" .
	from_libc() { [ "$(tree_rows dd '.symbol == "__libc_start_main" or .symbol == "__libc_start_call_main"')" -gt 0 ]; }
	is_whole() { has_samples 100 s "app:$PWD/dd" && from_libc; }
	record_until is_whole -o s -a --collector bpf -e cpu-clock -F "$(at_most 997)" -- \
		./dd if=/dev/zero of=/dev/null bs=4M
	[ "$(tree_rows dd '.symbol == "__libc_start_main" or .symbol == "__libc_start_call_main"')" -gt 0 ]
	[ "$(tree_rows dd '.image == "[kernel]" and .depth > 3')" -gt 0 ]
}

@test "recursion without end is cut at the depth limit, and counted" {
	need_sampler
	is_deep() { [ "$(tree_rows deep-nofp '.depth >= 512')" -gt 0 ]; }
	ALSO=is_deep count deep-nofp 100 -- ./deep-nofp 100000s 100000
	[ "$(loss chain-cut)" -gt 0 ]
	assay report -i s --tree -t 0 --format json "app:$PWD/deep-nofp" >tree.json
	[ "$(jq '[.rows[].depth] | max' tree.json)" -ge 512 ]
	[ "$(jq '[.rows[] | select(.depth <= 1 and .symbol == "[cut]") | .total] | add > 0' tree.json)" = true ]
	[ "$(jq '[.rows[] | select(.depth == 0 and .symbol == "level")] | length' tree.json)" = 0 ]
}

@test "without bpf_loop stacks go by frame pointer, with a note" {
	need_sampler
	ASSAY_SAMPLER_LIMITS=loop=0 count deep 100 -- ./deep 100000s
	[[ "$output" == *"bpf_loop()"*"5.17"*"by frame pointer"* ]]
	[[ "$(assay info s)" == *"BPF, stacks: frame pointers"* ]]
	[ "$(tree_rows deep '.symbol == "level"')" -ge 50 ]
}

@test "a full map of counts loses samples, and counts them" {
	need_sampler
	lost_one() { has_lost ring-full; }
	ASSAY_SAMPLER_LIMITS=counts=2,times=4096 record_until lost_one -a --collector bpf -e cpu-clock \
		-F "$(at_most 997)" -o s -- python3 -c "$PYTHON"
	[[ "$output" != *" 0 lost,"* ]]
}

# No raw stack fits such a ring: those are cut until the tables are there.
@test "a full ring of messages loses samples, and counts them" {
	need_sampler
	lost_both() { has_lost ring-full stack-no-table; }
	ASSAY_SAMPLER_LIMITS=messages=4096 record_until lost_both -a --collector bpf -e cpu-clock \
		-F "$(at_most 997)" -o s -- python3 -c "$PYTHON"
	[[ "$output" != *" 0 lost,"* ]]
}

@test "stacks are sent again in each generation" {
	need_sampler
	cp "$PROGRAMS/quarters" .
	# The counts are read each second at least.
	three_readings() { has_samples 200 s "app:$PWD/quarters" && [ "$(fact s '.last_sample_s > 3')" = true ]; }
	ASSAY_SAMPLER_LIMITS=stacks=1 record_until three_readings -a --collector bpf -e cpu-clock \
		-F "$(at_most 997)" -o s -- ./quarters 100000s
	# A busy machine reads some too late. Were they told once, two readings of three would be lost.
	[ $(($(loss ring-full) * 2)) -le "$(fact s .samples)" ]
	[ "$(assay report -i s --format json "app:$PWD/quarters" | jq ".rows[0].samples")" -gt 100 ]
}

@test "tables without room give a note, and their stacks go by frame pointer" {
	need_sampler
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
	need_sampler
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

@test "without permission the rings are used, with a note" {
	need_root
	need_recording
	run unprivileged assay record -a --collector bpf -e cpu-clock:u --duration 0.2 -o s
	[[ "$output" == *"through rings instead"* ]]
}

# The verifier itself refuses a program that has a fault.
@test "a program that the verifier refuses is explained by doctor and by record, and the rings do it" {
	need_sampler
	export ASSAY_SAMPLER_LIMITS=refuse=1
	[[ "$(doctor_finding BPF)" == "missing assay's program does not load" ]]
	[[ "$(doctor_finding BPF '\(.meaning)')" == *"its verifier says"*"invalid bpf_context access"*"report it"* ]]
	run assay record -a -e cpu-clock -o s -- true
	refused 0 "warning: the kernel refuses assay's BPF program (" "'sample'" "invalid bpf_context access" \
		"collecting through rings instead"
	[ "$(fact s .collector)" = "perf rings" ]
	run ! need_sampler
	[[ "$output" == *"its verifier says"* ]]
}

@test "a policy that refuses bpf(2) is named by doctor, record and off-CPU time alike" {
	need_sampler
	[[ "$("$PROGRAMS/refuse" bpf assay doctor --format json |
		jq -r '.checks[] | select(.name == "BPF").finding')" == "bpf(2) is refused"*"seccomp"* ]]
	run "$PROGRAMS/refuse" bpf assay record -a -e cpu-clock -o s -- true
	refused 0 "bpf(2) is refused" "through rings instead"
	run "$PROGRAMS/refuse" bpf assay record -a --off-cpu -e cpu-clock -o s -- true
	refused 1 "bpf(2) is refused" "--off-cpu needs a BPF program"
	[[ "$output" != *"through rings instead"* ]]
}

# in_mount_namespace COMMANDS: with private mounts, which no other process sees.
in_mount_namespace() {
	unshare -m --propagation private true 2>/dev/null || skip "needs mount namespaces (unshare -m)"
	unshare -m --propagation private bash -euc "$1"
}

@test "a kernel without BTF, or with another kernel's BTF, gives a note" {
	need_sampler
	in_mount_namespace '
		mount -t tmpfs none /sys/kernel/btf
		assay doctor --format json | jq -r ".checks[] | select(.name == \"BPF\").finding" >none
		assay record -a -e cpu-clock -o s -- true >none.log 2>&1
		cp '"$PROGRAMS"'/refuse /sys/kernel/btf/vmlinux
		assay doctor --format json | jq -r ".checks[] | select(.name == \"BPF\").finding" >other
		assay record -a -e cpu-clock -o s -- true >other.log 2>&1'
	[ "$(<none)" = "the kernel has no BTF (/sys/kernel/btf/vmlinux)" ]
	has "no BTF.*: collecting through rings instead" none.log
	[[ "$(<other)" == *"belongs to another kernel"* ]]
	has "belongs to another kernel: collecting through rings instead" other.log
}

@test "what does not go with counting in the kernel" {
	run assay record -a --collector bpf --call-graph dwarf -- true
	refused 2 "--call-graph=dwarf"
}

# The kernel lists no program of classic BPF.
@test "a filter of system calls is code that the kernel does not list, by the kernel's counts and by rings" {
	local source
	# shellcheck disable=SC2317,SC2329 # record_until calls it
	has_filter() { has_samples 100 s "app:$PROGRAMS/filtered"; }
	"$PROGRAMS/refuse" perf true || skip "no filters of system calls here"
	[ "$(cat /proc/sys/net/core/bpf_jit_enable 2>/dev/null || echo 1)" != 0 ] || skip "this kernel does not compile filters"
	for source in perf bpf; do
		[ "$source" = perf ] || need_sampler
		rm -rf s
		record_until has_filter -o s -a --collector "$source" -e cpu-clock -F "$(at_most 997)" -- "$PROGRAMS/filtered"
		assay report -i s -t 0 --by app,image,symbol "app:$PROGRAMS/filtered" --format json >rows
		[ "$(jq '[.rows[] | select(.image == "[kernel.unlisted]" and .symbol == "[code in no list of the kernel]").samples] | add // 0' rows)" -gt 50 ]
		[ "$(jq '[.rows[] | select(.image == "[unknown]")] | length' rows)" = 0 ]
	done
	run assay why -i s "[code in no list of the kernel]"
	refused 0 "mostly a filter of system calls (seccomp)"
}

# Most of its threads begin while the kernel loads the program.
@test "threads of a process that begin before the samples do are sampled" {
	need_sampler
	background "$PROGRAMS/begins" 20
	process=$pid
	is_running "$process" begins
	ASSAY_SAMPLER_LIMITS=load_ms=2000 record_until all_are_sampled -q --collector bpf -e cpu-clock -p "$process" -o s
}

all_are_sampled() {
	[ "$(assay report -i s --by tid -t 0 --format json symbol:work 2>/dev/null | jq '.rows | length')" = 20 ]
}
