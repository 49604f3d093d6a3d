#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Intel PT is recorded on a machine that is fake, and decodes to what its processor was given to run.
load helpers
load fake_pt

by_thread() {
	awk '/=>/ { print $1, $2, $3, $4 }' | sort -s -n -k1,1
}

# The recording's branches are the truth, by our decoder and by perf's.
decodes() { # FILE
	by_thread <truth >want
	[ "$(wc -l <want)" -gt 1000 ]
	timeout 60 assay script -i "$1" --itrace=be -F tid,ip,addr 2>ours.err | by_thread >ours
	cmp want ours || { diff want ours | head -5; cat ours.err; return 1; }
	command -v perf >/dev/null || return 0
	timeout 60 perf script -i "$1" --itrace=be -F tid,ip,addr 2>theirs.err | by_thread >theirs
	cmp want theirs || { diff want theirs | head -5; return 1; }
}

# The fields of the Nth event that was shown by -vv, one space between.
attr() { # FILE N
	awk -v n="$2" '/^perf_event_attr/ { k++ } k == n && /^  / { gsub(/ +/, " "); sub(/^ /, ""); print }
		k == n && /^---/ { exit }' "$1"
}

@test "a program's threads, a buffer a CPU: the branches are those that were taken" {
	fake_machine 4
	fake_trace "$PROGRAMS/flow" threads
	on_fake assay record -q -e intel_pt//u -- sh -c "$(until_done)"
	decodes perf.data
	[ "$(device_says dropped)" = 0 ]
	[ "$(device_says told)" = "$(device_says produced)" ]
	# The builds of what it ran are in the file.
	assay buildid-list -i perf.data >builds
	grep -Eq '^[0-9a-f]{40} .*/flow$' builds
}

@test "each perf_event_attr is what perf-intel-pt(1) shows" {
	fake_machine 4
	fake_old_processor
	fake_trace "$PROGRAMS/flow" recursion
	on_fake assay record -vv -e intel_pt//u -- sh -c "$(until_done)" 2>shown
	# Its size is that of the headers; what else differs came with later kernels.
	attr shown 2 | sed 's/^size .*/size 112/; s/ID|LOST/ID/; /^aux_watermark /d' >pt
	diff -u - pt <<-'END'
		type 6
		size 112
		config 0x400
		{ sample_period, sample_freq } 1
		sample_type IP|TID|TIME|CPU|IDENTIFIER
		read_format ID
		disabled 1
		inherit 1
		exclude_kernel 1
		exclude_hv 1
		enable_on_exec 1
		sample_id_all 1
	END
	attr shown 1 | sed 's/^size .*/size 112/; s/ID|LOST/ID/; s/TIME|CPU/TIME/' |
		grep -Ev '^(watermark|context_switch|ksymbol|bpf_event|build_id|\{ wakeup)' >dummy
	diff -u - dummy <<-'END'
		type 1
		size 112
		config 0x9
		{ sample_period, sample_freq } 1
		sample_type IP|TID|TIME|IDENTIFIER
		read_format ID
		disabled 1
		inherit 1
		exclude_kernel 1
		exclude_hv 1
		mmap 1
		comm 1
		enable_on_exec 1
		task 1
		sample_id_all 1
		mmap2 1
		comm_exec 1
	END
	local cpu
	for cpu in 0 1 2 3; do
		grep -Eq "^sys_perf_event_open: pid [0-9]+ cpu $cpu group_fd -1 flags 0x8$" shown
	done
	grep -qx "mmap length 528384" shown
	grep -qx "auxtrace mmap length 4194304" shown
}

@test "bad terms, and what the processor lacks" {
	fake_machine 1
	run assay record -e intel_pt/psb_period=15/u -- true
	refused 2 "Invalid psb_period for intel_pt. Valid values are: 0-5"
	run assay record -e intel_pt/mtc_period=15/u -- true
	refused 2 "Invalid mtc_period for intel_pt. Valid values are: 0,3,6,9"
	run assay record -e intel_pt/cyc,cyc_thresh=15/u -- true
	refused 2 "Invalid cyc_thresh for intel_pt. Valid values are: 0-12"
	run assay record -e intel_pt/ptw/u -- true
	refused 1 "the Intel PT of this processor has no PTWRITE packets"
	run assay record -e intel_pt//pp -- true
	refused 2 "makes samples precise"
	run assay record -e intel_pt/tcs/u -- true
	refused 2 "has no term or event 'tcs'"
	run assay record -e intel_pt//u -e intel_pt/cyc/u -- true
	refused 2 "There may be only one intel_pt event"
}

@test "a thread, a buffer of its own" {
	fake_machine 4
	fake_trace "$PROGRAMS/flow" recursion
	on_fake assay record -vv --per-thread -e intel_pt//u -- sh -c "$(until_done)" 2>shown
	grep -Eq "^sys_perf_event_open: pid [0-9]+ cpu -1 group_fd -1 flags 0x8$" shown
	run ! grep -q "^  inherit" shown
	# The generator's thread is the one that was asked for.
	assay script -i perf.data --itrace=be -F tid,ip,addr | awk '/=>/ { print $2, $3, $4 }' >ours
	awk '{ print $2, $3, $4 }' truth >want
	cmp want ours
	[ "$(records perf.data AUXTRACE | grep -c ' tid: [1-9].* cpu: -1')" = 1 ]
}

@test "the whole machine, some of its CPUs, and a process that runs already" {
	fake_machine 4
	fake_trace "$PROGRAMS/flow" threads
	on_fake assay record -q -a -e intel_pt//u -- sh -c "$(until_done)"
	decodes perf.data
	# Side band of all CPUs, the trace of one.
	on_fake assay record -vv -a -C 0 -e intel_pt//u -- sh -c "$(until_done)" 2>shown
	[ "$(grep -c "^sys_perf_event_open: pid -1 cpu [0-3] group_fd" shown)" = 5 ]
	sleep 60 &
	on_fake assay record -vv -p $! -d 0.2 -e intel_pt//u 2>shown
	grep -q "^sys_perf_event_open: pid $! cpu 3" shown
	run ! grep -q "^  enable_on_exec" shown
	kill $!
}

@test "a CPU that comes online is traced from then on" {
	fake_machine 2
	fake_trace "$PROGRAMS/flow" threads
	echo 0 >sys/devices/system/cpu/online
	rm -f "done" stats
	FAKE_PT_STEPS=8 LD_PRELOAD=$FAKE/fake_pt.so assay record -q -a -e intel_pt//u -- \
		sh -c "$(until_done)" &
	local recorder=$!
	for _ in {1..500}; do [ -e step.1 ] && break; sleep 0.02; done
	echo 0-1 >sys/devices/system/cpu/online
	python3 -c 'import socket
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"online@/devices/system/cpu/cpu1\0", "uevents")'
	for _ in {1..500}; do [ -e rings.2 ] && break; sleep 0.02; done
	[ -e rings.2 ]
	touch go.{1..7}
	wait $recorder
	[ "$(device_says dropped)" = 0 ]
	[ "$(device_says told)" = "$(device_says produced)" ]
	# Pieces of both; all that was made is there.
	[ "$(records perf.data "AUXTRACE size" | grep -c ' cpu: 0')" -gt 0 ]
	[ "$(records perf.data "AUXTRACE size" | grep -c ' cpu: 1')" -gt 0 ]
	[ "$(aux_bytes perf.data)" -ge "$(device_says stored)" ]
}

@test "before records of context switches there is the scheduler's tracepoint" {
	[ -r /sys/kernel/tracing/events/sched/sched_switch/format ] || skip "no tracepoints for this user"
	fake_machine 4
	fake_old_processor
	ln -s /sys/kernel sys/kernel
	fake_trace "$PROGRAMS/flow" threads
	FAKE_PT_OLD=1 on_fake assay record -vv -e intel_pt//u -- sh -c "$(until_done)" 2>shown
	decodes perf.data
	# The one that is opened for all threads; the tracepoint's number is the machine's own.
	awk '/^perf_event_attr/ { text = "" } { text = text $0 "\n" } /pid -1 cpu 0/ { printf "%s", text }' shown >switch
	sed -n '/^  /{s/  */ /g;s/^ //;s/^size .*/size 112/;s/config .*/config 0x108/;p}' switch >ours
	diff -u - ours <<-'END'
		type 2
		size 112
		config 0x108
		{ sample_period, sample_freq } 1
		sample_type IP|TID|TIME|CPU|PERIOD|RAW|IDENTIFIER
		read_format ID
		inherit 1
		sample_id_all 1
		exclude_guest 1
	END
	[ "$(grep -c "^sys_perf_event_open: pid -1 cpu . group_fd -1 flags 0x8$" shown)" = 4 ]
	# Without time packets it tells nothing.
	FAKE_PT_OLD=1 on_fake assay record -vv -e intel_pt/tsc=0/u -- sh -c "$(until_done)" 2>shown
	run ! grep -q "pid -1" shown
}

@test "a small buffer is read again and again, and nothing is lost" {
	fake_machine 1
	FAKE_TRACE="--cyc --no-retcomp" fake_trace "$PROGRAMS/flow" indirect
	on_fake assay record -q -m,2 -e intel_pt/cyc,noretcomp/u -- sh -c "$(until_done)"
	decodes perf.data
	[ "$(device_says dropped)" = 0 ]
	[ "$(records perf.data "AUXTRACE size" | wc -l)" -gt 1 ]
}

@test "what the kernel could not store is told, and the bytes add up" {
	fake_machine 1
	FAKE_TRACE="--cyc --no-retcomp" fake_trace "$PROGRAMS/flow" indirect
	rm -f "done" stats
	# A recorder that gets no turn while more is traced than two pages hold.
	FAKE_PT_STEPS=8 FAKE_PT_RATE=1000 LD_PRELOAD=$FAKE/fake_pt.so assay record -m,2 -a \
		-e intel_pt/cyc,noretcomp/u -- sh -c "$(until_done)" 2>said &
	local recorder=$!
	for _ in {1..3000}; do [ -e step.1 ] && break; sleep 0.02; done
	kill -STOP $recorder
	touch go.{1..7}
	for _ in {1..3000}; do [ -e "done" ] && break; sleep 0.02; done
	kill -CONT $recorder
	wait $recorder
	[ "$(device_says dropped)" -gt 0 ]
	[ "$(device_says produced)" = $(($(device_says stored) + $(device_says dropped))) ]
	[ "$(device_says told)" = "$(device_says stored)" ]
	grep -q "the trace was cut off $(device_says truncated) time" said
	# A piece is padded to eight bytes.
	local pieces bytes
	pieces=$(records perf.data "AUXTRACE size" | wc -l)
	bytes=$(aux_bytes perf.data)
	[ "$bytes" -ge "$(device_says stored)" ]
	[ "$bytes" -le $(($(device_says stored) + 8 * pieces)) ]
	[ "$(records perf.data "AUX .*flags: 0x1" | wc -l)" = "$(device_says truncated)" ]
}

@test "a snapshot has the newest bytes" {
	fake_machine 1
	fake_trace "$PROGRAMS/flow" indirect
	on_fake assay record -vv -Se -m,1 -e intel_pt//u -- sh -c "$(until_done)" 2>shown
	grep -qx "Intel PT snapshot size: 4096" shown
	grep -q "Intel PT snapshot size (4096) may be too small for PSB period (16384)" shown
	[ "$(aux_bytes perf.data)" = 4096 ]
	# Its branches are the last ones, or fewer: decoding begins at a PSB.
	assay script -i perf.data --itrace=b -F tid,ip,addr 2>/dev/null | by_thread >ours
	[ -s ours ]
	sed 1d ours >last
	by_thread <truth | tail -"$(wc -l <last)" | cmp - last
	run on_fake assay record -q -S0x2000 -m,1 -e intel_pt//u -- true
	refused 1 "Snapshot size 8192 must not be greater than AUX area tracing mmap size 4096"
}

@test "a snapshot is taken when a signal asks" {
	fake_machine 1
	fake_trace "$PROGRAMS/flow" indirect
	rm -f "done" stats
	FAKE_PT_STEPS=2 LD_PRELOAD=$FAKE/fake_pt.so assay record -v -S -e intel_pt//u -- \
		sh -c "$(until_done)" 2>said &
	local recorder=$!
	for _ in {1..500}; do [ -e step.1 ] && break; sleep 0.02; done
	kill -USR2 $recorder
	for _ in {1..500}; do grep -qi "AUX area tracing snapshot" said && break; sleep 0.02; done
	: >go.1
	wait $recorder
	[ "$(aux_bytes perf.data)" -gt 1000 ]
	# Half of the trace, from its beginning on.
	assay script -i perf.data --itrace=b -F tid,ip,addr 2>/dev/null | by_thread >ours
	[ "$(wc -l <ours)" -gt 500 ]
	[ "$(wc -l <ours)" -lt "$(wc -l <truth)" ]
	by_thread <truth | head -$(($(wc -l <ours) - 1)) >want
	head -$(($(wc -l <ours) - 1)) ours | cmp want -
}

@test "samples have a piece of the trace, and perf makes the branches of it" {
	fake_machine 1
	fake_trace "$PROGRAMS/flow" indirect
	FAKE_PT_SAMPLE=1 on_fake assay record -vv --aux-sample -e '{intel_pt//u,branch-misses:u}' -- \
		sh -c "$(until_done)" 2>shown
	run ! grep -q "may be too small" shown
	awk '/^perf_event_attr/ { text = "" } { text = text $0 "\n" } /group_fd 6/ { printf "%s", text; exit }' shown >sampler
	grep -q "^  aux_sample_size  *4096$" sampler
	grep -q "^  sample_type .*AUX" sampler
	# PSBs as often as can be.
	grep -q "^  config  *0xe601$" shown
	if command -v perf >/dev/null; then
		perf script -i perf.data --itrace=be 2>/dev/null |
			sed -n 's/.*branches:[a-z]*: *\([0-9a-f]*\) .* => *\([0-9a-f]*\) .*/\1 \2/p' | sort -u >theirs
		[ "$(wc -l <theirs)" -gt 50 ]
		awk '{ print $2, $4 }' truth | sort -u >want
		# Where a piece begins and ends, a branch has one side alone.
		comm -23 theirs want >others
		run ! grep -qv '^0 \| 0$' others
	fi
	on_fake assay record -vv -e intel_pt//u -e branch-misses/aux-sample-size=8192/u -- true 2>shown
	grep -q "^  aux_sample_size  *8192$" shown
	grep -q "group_fd 6" shown
	on_fake assay record --aux-sample=2048 -e intel_pt//u -e branch-misses:u -- true 2>said
	grep -q "Intel PT sample size (2048) may be too small for PSB period (2048)" said
}

@test "what does not go together" {
	fake_machine 1
	run assay record -S --aux-sample -e '{intel_pt//u,branch-misses:u}' -- true
	refused 2 "-S and --aux-sample (or aux-sample-size) exclude each other"
	run assay record -S -e intel_pt//u -e branch-misses/aux-sample-size=4096/u -- true
	refused 2 "exclude each other"
	run assay record --aux-sample -e intel_pt//u -- true
	refused 2 "puts pieces of the trace into the samples of other events"
	run assay record --aux-sample=61441 -e '{intel_pt//u,branch-misses:u}' -- true
	refused 2 "61440"
	run assay record -e intel_pt//u -e '{cycles:u,branch-misses/aux-sample-size=4096/u}' -- true
	refused 2 "is in a group without it"
	run assay record -e '{intel_pt/branch=0/,cycles/aux-output/}' -- true
	refused 2 "needs a precise event"
	run assay record -S -- true
	refused 2 "-S is for a hardware trace"
	run assay record -m,3 -e intel_pt//u -- true
	refused 1 "a power of 2"
	run assay record -m,1 -e intel_pt//u -- true
	refused 1 "at least 8 KiB"
	run assay record --off-cpu -e intel_pt//u -- true
	refused 2 "does not go with --off-cpu"
	run assay record -m 64 -e intel_pt//u -- true
	refused 2 "-m 64: a ring of 64 bytes is too small; 64 pages are $(($(getconf PAGESIZE) / 16))k"
	run assay record --store oprofile -e intel_pt//u -- true
	refused 2 "--collector=bpf or --store"
	run assay record -e intel_pt//u -o - -- true
	refused 2 "-o -" "a pipe"
	[ ! -e - ]
	run assay record -S0 -e intel_pt//u -- true
	refused 2 "from 1 to 1099511627776"
	run assay record --per-thread -a -e intel_pt//u -- true
	refused 2 "--per-thread is for a command"
	on_fake assay record -vv -c 10000 -e '{intel_pt/branch=0/,cycles/aux-output/ppp}' -- true 2>shown
	grep -q "^  aux_output  *1$" shown
}

@test "what the user may lock, and what the paranoid level permits" {
	fake_machine 2
	fake_trace "$PROGRAMS/flow" recursion
	FAKE_PT_LOCK=2000 run on_fake assay record -e intel_pt//u -- true
	refused 1 "AUX area of 4096 KiB" "kernel.perf_event_mlock_kb" "ulimit -l" "-m,16"
	FAKE_PT_REFUSE=13 run on_fake assay record -e intel_pt//u -- true
	refused 1 "intel_pt//u" "paranoid level"
	FAKE_PT_REFUSE=16 run on_fake assay record -e intel_pt//u -- true
	refused 1 "intel_pt//u"
}

@test "a recorder that is killed leaves a trace that decodes, and so does a full disk" {
	fake_machine 1
	FAKE_TRACE="--cyc --no-retcomp" fake_trace "$PROGRAMS/flow" indirect
	rm -f "done" stats
	FAKE_PT_STEPS=2 LD_PRELOAD=$FAKE/fake_pt.so assay record -q -m,2 \
		-e intel_pt/cyc,noretcomp/u -- sh -c "$(until_done)" &
	local recorder=$!
	for _ in {1..500}; do [ -e step.1 ] && break; sleep 0.02; done
	# It writes once a second.
	for _ in {1..100}; do
		[ "$(timeout 60 assay script -i perf.data --itrace=b -F tid,ip,addr 2>said | wc -l)" -le 100 ] || break
		sleep 0.1
	done
	kill -KILL $recorder
	: >"done" # for the command
	wait $recorder || true
	timeout 60 assay script -i perf.data --itrace=b -F tid,ip,addr 2>said | by_thread >ours
	[ "$(wc -l <ours)" -gt 100 ] || { cat said; ls -la; false; }
	by_thread <truth | head -$(($(wc -l <ours) - 1)) >want
	head -$(($(wc -l <ours) - 1)) ours | cmp want -
	assay import -q --to perfdata -o whole.data perf.data 2>said || true
	if command -v perf >/dev/null; then
		perf script -i whole.data --itrace=b -F tid,ip,addr 2>/dev/null | by_thread | cmp - ours
	fi
	unshare -m true 2>/dev/null || return 0
	mkdir small
	rm "done"
	run unshare -m bash -c "mount -t tmpfs -o size=16k none small &&
		{ timeout 60 env LD_PRELOAD=$FAKE/fake_pt.so assay record -q -m,2 -o small/perf.data \
			-e intel_pt/cyc,noretcomp/u -- \
			sh -c '$(until_done)'; echo status \$?; cp small/perf.data cut.data; }"
	refused 0 "small/perf.data" "No space left on device" "status 1"
	# What the side band and the sections need was taken from the end of the trace: perf reads it, too.
	timeout 60 assay script -i cut.data --itrace=b -F tid,ip,addr 2>said | by_thread >ours
	[ "$(wc -l <ours)" -gt 100 ] || { cat said; ls -la; false; }
	run ! grep -q "was killed" said
	by_thread <truth | head -$(($(wc -l <ours) - 1)) >want
	head -$(($(wc -l <ours) - 1)) ours | cmp want -
	if command -v perf >/dev/null; then
		perf script -i cut.data --itrace=b -F tid,ip,addr 2>/dev/null | by_thread | cmp - ours
		perf report -i cut.data --header-only 2>/dev/null | grep -q "^# cmdline"
	fi
}

@test "a program that dies ends the recording, which is whole" {
	fake_machine 1
	fake_trace "$PROGRAMS/flow" recursion
	run on_fake assay record -q -e intel_pt//u -- sh -c "$(until_done); kill -SEGV \$\$"
	[ "$status" = 139 ]
	decodes perf.data
	run -127 on_fake assay record -q -e intel_pt//u -- ./no-such-program
}

@test "no Intel PT: the error says where it may be" {
	mkdir -p sys/bus/event_source/devices
	SYSFS_PATH=$PWD/sys run assay record -e intel_pt//u -- true
	refused 1 "no Intel PT here"
	[[ "$output" =~ hypervisor|BIOS|Intel\'s ]]
}
