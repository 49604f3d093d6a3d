#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Steering recordings of Intel PT, on a machine that is fake: filters, snapshots, trace; and --kcore.

load helpers
load fake_pt

@test "trace shows each call, exactly" {
	fake_machine 2
	fake_trace "$PROGRAMS/flow" recursion
	on_fake assay trace --source pt -k 100s -n 0 -o kept.data -- sh -c "$(until_done)" >calls
	head -4 calls
	grep -q 'by: Intel PT, every call' calls
	grep -q ' _start$' calls
	grep -q ' main$' calls
	grep -q ' exit$' calls
	[ "$(grep -c ' main$' calls)" = 1 ]
	# They are those that a report of the recording has.
	assay report --latency -i kept.data --format json >latency.json
	grep -o '[^ ]*$' calls | sort -u >names
	[ "$(grep -c . names)" -gt 20 ]
	jq -e '[.. | strings] | index("main")' latency.json
	on_fake assay trace --source pt -k 100s -o kept.data --html t.html --perfetto t.perfetto-trace -- sh -c "$(until_done)"
	grep -q '"exact":true' t.html
	python3 "$ROOT/tests/cli/protobuf.py" slices t.perfetto-trace >slices.json
	[ "$(jq .open slices.json)" = 0 ]
	jq -e '.names | index("main")' slices.json
}

# Its header has the size of its data, which is written last.
is_whole() { # FILE
	[ -s "$1" ] && [ "$(od -An -tu8 -j48 -N8 "$1" | tr -d ' ')" != 0 ]
}

@test "a uprobe is hit: the trace up to there is kept, decoded and shown" {
	need_root
	fake_machine 1
	mkdir -p sys/bus/event_source/devices/uprobe
	echo 7 >sys/bus/event_source/devices/uprobe/type
	FAKE_TRACE="--psb 100" fake_trace "$PROGRAMS/flow" indirect
	FAKE_PT_STEPS=4 FAKE_PT_FIRE=3 background_on_fake assay trace --source pt --on-symbol "main@$PROGRAMS/flow" -k 100s -n 0 -o kept.data -- \
		sh -c 'until [ -e enough ] || ! kill -0 $PPID; do sleep 0.02; done; exit 3' >calls 2>said
	touch go.{1,2}
	local status=0
	# The command goes on after the recording is whole.
	wait_for is_whole kept.data
	: >enough
	wait "$pid" || status=$?
	cat said
	head -5 calls
	[ "$status" = 3 ]
	grep -q "kept because: main was called by thread $(awk '/=>/ { print $1; exit }' truth)" calls
	grep -q 'by: Intel PT, every call' calls
	# Only what ran before is there, and all of that: the device waits since then.
	[ -e step.3 ]
	grep -q ' _start$' calls
	# It had not returned. Whether main() had begun hangs on how much the C library does before.
	grep -Eq '^ +-[0-9.]+ [^ ]+ +[?] +__libc_start_main$' calls
	[ "$(tail -1 calls | grep -Ec '^ +0 ns =+ +main$')" = 1 ] || { tail -3 calls; false; }
	assay script -i kept.data --itrace=b -F tid,ip,addr 2>/dev/null | awk '/=>/ { print $1, $2, $3, $4 }' >ours
	[ "$(wc -l <ours)" -gt 500 ]
	[ "$(wc -l <ours)" -lt "$(grep -c '=>' truth)" ]
	awk '/=>/ { print $1, $2, $3, $4 }' truth | head -$(($(wc -l <ours) - 1)) >want
	head -$(($(wc -l <ours) - 1)) ours | cmp want -
}

@test "an address filter is looked up and told to the kernel" {
	fake_machine 2
	fake_trace "$PROGRAMS/flow" recursion
	# The kernel takes no path with blanks.
	cp "$PROGRAMS/flow" flow
	on_fake assay record -v -e intel_pt//u --filter "filter main @flow" \
		--filter "tracestop 0x1000/0x10@flow" -- sh -c "$(until_done)" >log 2>&1
	cat log
	grep -qE "filter of 'intel_pt//u': filter 0x[0-9a-f]+/0x[0-9a-f]+@.*/flow,stop 0x1000/0x10@.*/flow" log
	run on_fake assay record -e intel_pt//u --filter "filter mein @flow" -- true
	refused 1 "no function 'mein' in " "nearest: main"
	if grep -qm1 '[1-9a-f] ' /proc/kallsyms; then
		run on_fake assay record -e intel_pt//u --filter "filter main" -- true
		refused 1 "it has no '@FILE'" "no function 'main' in the kernel"
	fi
	run on_fake assay record -e intel_pt//u --filter "filter" -- true
	refused 2 "an address or a symbol is missing"
	run on_fake assay record -e intel_pt//u --filter "start main @flow" -- true
	refused 1 "filters by regions"
	run on_fake assay record -e intel_pt//u --filter "filter main @flow, filter exit @flow, filter _start @flow" -- true
	refused 1 "3 address filters, and intel_pt has registers for 2"
	rm sys/bus/event_source/devices/intel_pt/nr_addr_filters
	run on_fake assay record -e intel_pt//u --filter "filter main @flow" -- true
	refused 1 "has no address filters on this processor"
}

@test "a filter goes with an event that takes one" {
	run assay record -e cpu-clock --filter 'filter main @/bin/true' -- true
	refused 2 "is for addresses" "-e intel_pt//u"
	run assay record -e cpu-clock --filter 'prev_pid == 1' -- true
	refused 2 "any other is for a tracepoint"
	need_root
	need_recording
	assay record --raw -a -o all.data -e sched:sched_switch -- sleep 0.01 || skip "needs a kernel with tracepoints"
	assay record -q --raw -a -o none.data -e sched:sched_switch --filter 'prev_pid == 1 && prev_pid == 2' -- sleep 0.01
	[ "$(assay script -i all.data | grep -c sched_switch)" -gt 0 ]
	[ "$(assay script -i none.data 2>/dev/null | grep -c sched_switch)" = 0 ]
	run assay record -a -o bad.data -e sched:sched_switch --filter 'nonsense == 1' -- true
	refused 1 "the kernel refuses the filter 'nonsense == 1'"
}

@test "--kcore keeps the kernel's code, or says why it can't" {
	need_recording
	if [ ! -e /proc/kcore ]; then
		run assay record --kcore -o rec -- true
		refused 1 "--kcore: /proc/kcore is not there: the kernel is built without CONFIG_PROC_KCORE"
		[ ! -e rec ]
		mkdir rec
		: >rec/mine
		run assay record --kcore -o rec -- true
		[ -e rec/mine ]
		return
	fi
	run assay record --kcore -o rec -- true
	[ "$status" = 0 ] || {
		refused 1 "--kcore: "
		[ ! -e rec ]
		return
	}
	[ -s rec/data ]
	[ -s rec/kcore_dir/kcore ]
	[ -s rec/kcore_dir/kallsyms ]
	[ -e rec/kcore_dir/modules ]
	assay script -i rec >/dev/null
}
