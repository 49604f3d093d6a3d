#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Intel PT is recorded on a fake machine, and decodes to the code that its processor ran.
load helpers
load fake_pt

# Only branches: errors at the end of cut traces do not matter.
branches() {
	grep '=>' | by_thread
}

# The recording's branches are the truth, by our decoder and by perf's.
decodes() { # FILE
	branches <truth >want
	[ "$(wc -l <want)" -gt 1000 ]
	within assay script -i "$1" --itrace=be -F tid,ip,addr 2>ours.err | branches >ours
	cmp want ours || { diff want ours | head -5; cat ours.err; return 1; }
	command -v perf >/dev/null || return 0
	within perf script -i "$1" --itrace=be -F tid,ip,addr 2>theirs.err | branches >theirs
	cmp want theirs || { diff want theirs | head -5; cat theirs.err; return 1; }
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
	# The file has the build ids of its programs.
	assay buildid-list -i perf.data >builds
	grep -Eq '^[0-9a-f]{40} .*/flow$' builds
}

@test "a trace in a pipe: record -o - is perf's form for pipes" {
	fake_machine 4
	fake_trace "$PROGRAMS/flow" threads
	# What the command prints does not get into the recording.
	on_fake assay record -q -e intel_pt//u -o - -- sh -c "echo printed; $(until_done)" >perf.data 2>errors
	grep -q ^printed errors
	[ "$(head -c 16 perf.data | od -An -tu8 -j8 | tr -d ' ')" = 16 ]
	branches <truth >want
	[ "$(wc -l <want)" -gt 1000 ]
	within assay script -i perf.data --itrace=be -F tid,ip,addr 2>/dev/null | branches | cmp - want
	within assay script -i - --itrace=be -F tid,ip,addr <perf.data 2>/dev/null | branches | cmp - want
	[ "$(device_says dropped)" = 0 ]
	command -v perf >/dev/null || return 0
	# perf reads a trace from a pipe alone.
	# shellcheck disable=SC2002
	cat perf.data | within perf script -i - --itrace=be -F tid,ip,addr 2>/dev/null | branches | cmp - want
}

@test "each perf_event_attr equals the one of perf-intel-pt(1)" {
	fake_machine 4
	fake_old_processor
	fake_trace "$PROGRAMS/flow" recursion
	on_fake assay record -vv -e intel_pt//u -- sh -c "$(until_done)" 2>shown
	# Its size comes from the headers. Other differences came with later kernels.
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
	# perf's dummy is refused to ordinary users since Linux 6.12.113: it does not leave out the
	# kernel's callchains.
	attr shown 1 | sed 's/^size .*/size 112/; s/ID|LOST/ID/; s/TIME|CPU/TIME/' |
		grep -Ev '^(watermark|context_switch|ksymbol|bpf_event|build_id|exclude_callchain_kernel|\{ wakeup)' >dummy
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
	# 512 KiB and a page, and 4 MiB; of an ordinary user, what any user may lock.
	grep "mmap length" shown | sort -u >lengths
	if [ "$(id -u)" = 0 ]; then
		diff lengths - <<<$'auxtrace mmap length 4194304\nmmap length 528384'
	else
		diff lengths - <<<$'auxtrace mmap length 131072\nmmap length 266240'
	fi
}

@test "bad terms, and features that the processor lacks" {
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

@test "each thread has its own buffer" {
	fake_machine 4
	fake_trace "$PROGRAMS/flow" recursion
	on_fake assay record -vv --per-thread -e intel_pt//u -- sh -c "$(until_done)" 2>shown
	grep -Eq "^sys_perf_event_open: pid [0-9]+ cpu -1 group_fd -1 flags 0x8$" shown
	run ! grep "^  inherit" shown
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
	background sleep 100000
	on_fake assay record -vv -p "$pid" -d 0.2 -e intel_pt//u 2>shown
	grep "^sys_perf_event_open: pid $pid cpu 3" shown
	run ! grep "^  enable_on_exec" shown
}

@test "a CPU that comes online is traced from then on" {
	fake_machine 2
	FAKE_TRACE="--psb 100" fake_trace "$PROGRAMS/flow" threads
	echo 0 >sys/devices/system/cpu/online
	FAKE_PT_STEPS=8 background_on_fake assay record -q -a -e intel_pt//u -- sh -c "$(until_done)"
	wait_for has_stepped 1
	echo 0-1 >sys/devices/system/cpu/online
	python3 -c 'import socket
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"online@/devices/system/cpu/cpu1\0", "uevents")'
	wait_for test -e rings.2
	touch go.{1..7}
	wait "$pid"
	[ "$(device_says dropped)" = 0 ]
	[ "$(device_says told)" = "$(device_says produced)" ]
	# Pieces of both; all that was made is there.
	[ "$(records perf.data "AUXTRACE size" | grep -c ' cpu: 0')" -gt 0 ]
	[ "$(records perf.data "AUXTRACE size" | grep -c ' cpu: 1')" -gt 0 ]
	[ "$(aux_bytes perf.data)" -ge "$(device_says stored)" ]
}

@test "before records of context switches there is the scheduler's tracepoint" {
	[ -r /sys/kernel/tracing/events/sched/sched_switch/format ] || skip "needs tracepoints that this user may read (root)"
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
	run ! grep "pid -1" shown
}

@test "a small buffer is read again and again, and nothing is lost" {
	fake_machine 1
	FAKE_TRACE="--cyc --no-retcomp --psb 100" fake_trace "$PROGRAMS/flow" indirect
	on_fake assay record -q -m,2 -e intel_pt/cyc,noretcomp/u -- sh -c "$(until_done)"
	decodes perf.data
	[ "$(device_says dropped)" = 0 ]
	[ "$(records perf.data "AUXTRACE size" | wc -l)" -gt 1 ]
}

@test "bytes that the kernel could not store are reported, and all bytes add up" {
	fake_machine 1
	FAKE_TRACE="--cyc --no-retcomp --psb 100" fake_trace "$PROGRAMS/flow" indirect
	# A recorder that gets no turn while more is traced than two pages hold.
	FAKE_PT_STEPS=8 FAKE_PT_RATE=1000 background_on_fake assay record -m,2 -a \
		-e intel_pt/cyc,noretcomp/u -- sh -c "$(until_done)" 2>said
	wait_for has_stepped 1
	kill -STOP "$pid"
	wait_for has_stopped "$pid"
	touch go.{1..7}
	wait_for test -e "done"
	kill -CONT "$pid"
	wait "$pid"
	[ "$(device_says dropped)" -gt 0 ]
	[ "$(device_says produced)" = $(($(device_says stored) + $(device_says dropped))) ]
	[ "$(device_says told)" = "$(device_says stored)" ]
	grep "the trace was cut off $(device_says truncated) time" said
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
	assay script -i perf.data --itrace=b -F tid,ip,addr 2>/dev/null | branches >ours
	[ -s ours ]
	sed 1d ours >last
	branches <truth | tail -"$(wc -l <last)" | cmp - last
	run on_fake assay record -q -S0x2000 -m,1 -e intel_pt//u -- true
	refused 1 "Snapshot size 8192 must not be greater than AUX area tracing mmap size 4096"
}

@test "a snapshot is taken when a signal asks" {
	fake_machine 1
	fake_trace "$PROGRAMS/flow" indirect
	FAKE_PT_STEPS=2 background_on_fake assay record -v -S -e intel_pt//u -- sh -c "$(until_done)" 2>said
	wait_for has_stepped 1
	kill -USR2 "$pid"
	wait_for grep -qi "AUX area tracing snapshot" said
	: >go.1
	wait "$pid"
	[ "$(aux_bytes perf.data)" -gt 1000 ]
	# Half of the trace, from its beginning on.
	assay script -i perf.data --itrace=b -F tid,ip,addr 2>/dev/null | branches >ours
	[ "$(wc -l <ours)" -gt 500 ]
	[ "$(wc -l <ours)" -lt "$(wc -l <truth)" ]
	branches <truth | head -$(($(wc -l <ours) - 1)) >want
	head -$(($(wc -l <ours) - 1)) ours | cmp want -
}

@test "samples have a piece of the trace, and perf makes the branches of it" {
	fake_machine 1
	fake_trace "$PROGRAMS/flow" indirect
	FAKE_PT_SAMPLE=1 on_fake assay record -vv --aux-sample -e '{intel_pt//u,branch-misses:u}' -- \
		sh -c "$(until_done)" 2>shown
	run ! grep "may be too small" shown
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
	refused 2 "its group has no trace"
	run assay record -e '{intel_pt/branch=0/,cycles/aux-output/}' -- true
	refused 2 "needs a precise event"
	run assay record -S -e page-faults -- true
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
	run assay record -e intel_pt//u -o - --kcore -- true
	refused 2 "-o - and --kcore"
	[ ! -e - ]
	run assay record -S0 -e intel_pt//u -- true
	refused 2 "from 1 to 1099511627776"
	run assay record --per-thread -a -e intel_pt//u -- true
	refused 2 "--per-thread is for a command"
	on_fake assay record -vv -c 10000 -e '{intel_pt/branch=0/,cycles/aux-output/ppp}' -- true 2>shown
	grep -q "^  aux_output  *1$" shown
}

@test "the limits of locked memory and of the paranoid level" {
	fake_machine 2
	fake_trace "$PROGRAMS/flow" recursion
	# The rings of both CPUs, and not their areas.
	local area=4096 lock=2000
	[ "$(id -u)" = 0 ] || area=128 lock=600
	FAKE_PT_LOCK=$lock run on_fake assay record -e intel_pt//u -- true
	refused 1 "AUX area of $area KiB" "kernel.perf_event_mlock_kb" "ulimit -l" "-m,16"
	FAKE_PT_REFUSE=13 run on_fake assay record -e intel_pt//u -- true
	refused 1 "intel_pt//u" "paranoid"
	FAKE_PT_REFUSE=16 run on_fake assay record -e intel_pt//u -- true
	refused 1 "intel_pt//u"
}

# starts_as_taken: the branches in `ours` are the first of those that were taken; where the trace is
# cut, the last one has one side alone.
starts_as_taken() {
	[ "$(wc -l <ours)" -gt 100 ] || { cat said; ls -la; false; }
	branches <truth | head -$(($(wc -l <ours) - 1)) >want
	head -$(($(wc -l <ours) - 1)) ours | cmp want -
}

has_written() { # BRANCHES: perf.data has more than so many
	[ "$(within assay script -i perf.data --itrace=b -F tid,ip,addr 2>said | wc -l)" -gt "$1" ]
}

@test "a recorder that is killed leaves a trace that decodes" {
	fake_machine 1
	FAKE_TRACE="--cyc --no-retcomp --psb 100" fake_trace "$PROGRAMS/flow" indirect
	FAKE_PT_STEPS=2 background_on_fake assay record -q -m,2 -e intel_pt/cyc,noretcomp/u -- sh -c "$(until_done)"
	wait_for has_stepped 1
	# It writes once a second.
	wait_for has_written 100
	kill -KILL "$pid"
	wait "$pid" || true
	within assay script -i perf.data --itrace=b -F tid,ip,addr 2>said | branches >ours
	starts_as_taken
	assay import -q --to perfdata -o whole.data perf.data 2>said || true
	if command -v perf >/dev/null; then
		perf script -i whole.data --itrace=b -F tid,ip,addr 2>/dev/null | branches | cmp - ours
	fi
}

@test "a recorder whose disk is full leaves a trace that decodes" {
	fake_machine 1
	unshare -m true 2>/dev/null || skip "needs a mount namespace of its own (root)"
	FAKE_TRACE="--cyc --no-retcomp --psb 100" fake_trace "$PROGRAMS/flow" indirect
	mkdir small
	# Pages for three quarters of the trace.
	local pages=$(($(stat -c %s trace.data) * 3 / 4 / 4096)) COMMAND
	COMMAND=$(until_done)
	export DISK=$((pages * 4))k COMMAND
	forget_the_last
	# shellcheck disable=SC2016
	run within unshare -m bash -c 'mount -t tmpfs -o size=$DISK none small || exit 77
		LD_PRELOAD=./fake_pt.so assay record -q -m,2 -o small/perf.data -e intel_pt/cyc,noretcomp/u -- sh -c "$COMMAND"
		echo "status $?"
		cp small/perf.data cut.data'
	[ "$status" != 77 ] || skip "needs a tmpfs of its own: $output"
	refused 0 "small/perf.data" "No space left on device" "status 1"
	# What the side band and the sections need was taken from the end of the trace: perf reads it, too.
	within assay script -i cut.data --itrace=b -F tid,ip,addr 2>said | branches >ours
	starts_as_taken
	run ! grep "was killed" said
	if command -v perf >/dev/null; then
		perf script -i cut.data --itrace=b -F tid,ip,addr 2>/dev/null | branches >theirs
		# If the trace ends within a PSB, perf takes bytes of the PSB for directions of up to six branches.
		[ $(($(wc -l <theirs) - $(wc -l <ours))) -le 20 ]
		head -n "$(wc -l <ours)" theirs | cmp - ours
		perf report -i cut.data --header-only 2>/dev/null | grep "^# cmdline"
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

@test "no Intel PT: the error names possible reasons" {
	mkdir -p sys/bus/event_source/devices
	SYSFS_PATH=$PWD/sys run assay record -e intel_pt//u -- true
	refused 1 "no Intel PT here"
	[[ "$output" =~ hypervisor|BIOS|Intel\'s ]]
}

@test "a trace of the kernel decodes with the copy of its memory" {
	fake_machine 2
	FAKE_TRACE=--kernel fake_trace "$PROGRAMS/flow" indirect
	export FAKE_PT_TRACE=$PWD/trace.data/data
	on_fake assay record -vv -a -e intel_pt//k -o data -- sh -c "$(until_done)" 2>shown
	grep -q "^  exclude_user  *1$" shown
	[ "$(device_says dropped)" = 0 ]
	# As record --kcore leaves it.
	mkdir kernel.data
	mv data kernel.data/
	cp -r trace.data/kcore_dir kernel.data/
	decodes kernel.data
	assay report -i kernel.data --itrace=i1i -l | grep -q main
}
