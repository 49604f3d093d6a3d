#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# record --alloc: allocations of programs with known sums.

load helpers

# What a function has of an event, with its callees: sum SESSION EVENT FUNCTION
sum() {
	assay report -i "$1" -l -t 0 --format json "event:$2" |
		jq -s "[.[].rows[] | select(.symbol == \"$3\") | .total_events] | add // 0"
}

# near VALUE EXPECTED PERCENT
near() {
	echo "$1, and $2 is expected"
	[ "$1" -ge $(($2 * (100 - $3) / 100)) ]
	[ "$1" -le $(($2 * (100 + $3) / 100)) ]
}

# Records into s, once more where a busy machine read too late: sums are right only without losses.
record_whole() {
	local try
	for try in 1 2 3 4 5; do
		assay record --alloc "$@"
		[ "$(fact s .lost)" != 0 ] || return 0
	done
	skip "the machine is too busy: records were lost in $try runs"
}

@test "bytes and blocks, allocated and held, belong to the functions that asked for them" {
	need_recording
	record_whole --alloc-every 64k -o s -- "$PROGRAMS/heaps"
	# 64 kB of 40 MB are 610 samples: five standard deviations are 20 percent.
	near "$(sum s alloc-bytes keep)" 40000000 21
	near "$(sum s alloc-blocks keep)" 4000 21
	near "$(sum s held-bytes keep)" 40000000 21
	near "$(sum s held-blocks keep)" 4000 21
	near "$(sum s alloc-bytes churn)" 200000000 10
	near "$(sum s alloc-blocks churn)" 1000000 10
	near "$(sum s alloc-bytes grow)" 101000000 5
	near "$(sum s alloc-bytes map)" 33554432 1
	near "$(sum s held-bytes map)" 16777216 1
	# a block that was just allocated by the last realloc may be counted, but it was freed
	[ "$(sum s held-bytes churn)" = 0 ]
	[ "$(sum s held-bytes grow)" = 0 ]
}

@test "all that is held is no more than all that was allocated, and stacks reach main" {
	need_recording
	assay record --alloc -o s -- "$PROGRAMS/heaps"
	run -0 assay report --tree -i s event:held-bytes
	[[ "$output" == *main*keep* ]]
	[ "$(sum s held-bytes main)" -le "$(sum s alloc-bytes main)" ]
}

@test "each function of the family counts, and its block is held" {
	need_recording
	record_whole -o s -- "$PROGRAMS/heaps" family
	# eleven blocks of 16 MB, one of them for strdup's own
	near "$(sum s alloc-bytes family)" $((11 * 16777216)) 1
	near "$(sum s held-bytes family)" $((11 * 16777216)) 1
	[ "$(sum s alloc-blocks family)" = 11 ]
}

@test "a child's releases of copies leave the parent's blocks alone" {
	need_recording
	record_whole --alloc-every 64k -o s -- "$PROGRAMS/heaps" fork
	near "$(sum s held-bytes keep)" 40000000 21
	near "$(sum s held-bytes child)" 40000000 21
}

@test "programs that a shell starts are seen, and the user's LD_PRELOAD is kept" {
	need_recording
	LD_PRELOAD=$(command -v libc.so.6 || echo libc.so.6) run --separate-stderr \
		assay record --alloc -o s -- sh -c "echo \"\$LD_PRELOAD\"; '$PROGRAMS/heaps' family"
	[ "$status" = 0 ]
	[[ "$output" == *libassay-heap.so:*libc.so.6 ]]
	[ "$(sum s alloc-blocks family)" = 11 ]
	[ "$(fact s '.losses["alloc-unseen"] // 0')" = 0 ]
}

@test "a program without the library is counted" {
	need_recording
	assay record --alloc -o s -- env -i "$PROGRAMS/heaps" family
	[ "$(fact s '.losses["alloc-unseen"]')" = 1 ]
	[ "$(sum s alloc-blocks family)" = 0 ]
}

@test "--alloc with -e records both" {
	need_recording
	assay record --alloc -e cpu-clock -o s -- "$PROGRAMS/heaps"
	[ "$(sum s alloc-blocks main)" -gt 0 ]
	assay report -i s --format json -l event:cpu-clock >cpu.json
	[ "$(jq -s '[.[].rows[].samples] | add' cpu.json)" -gt 0 ]
}

@test "pprof and speedscope have the names and units of their own" {
	need_recording
	assay record --alloc -o s -- "$PROGRAMS/heaps" family
	assay export -i s --format pprof -o heap.pb.gz
	gunzip -c heap.pb.gz | strings >texts
	for name in alloc_space alloc_objects inuse_space inuse_objects bytes; do
		grep -q "$name" texts
	done
	assay export -i s --format speedscope --weight events -o s.json event:held-bytes
	[ "$(jq -r '.profiles[0].unit' s.json)" = bytes ]
}

@test "an ordinary user can record allocations" {
	need_recording
	run unprivileged assay record --alloc -o s -- true
	[ "$status" = 0 ]
	[[ "$output" != *"cannot be preloaded"* ]]
}

@test "--alloc names what it can't do" {
	run assay record --alloc -p $$
	refused 2 "--alloc is for a command"
	run assay record --alloc --off-cpu -- true
	refused 2 "does not go with --off-cpu"
	ASSAY_HEAP_LIBRARY=/nonexistent run assay record --alloc -o s -- true
	refused 1 libassay-heap.so /nonexistent
	[ ! -e s ]
}
