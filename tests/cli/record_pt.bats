#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Intel PT is recorded on a machine that is fake, and decodes to what its processor was given to run.
load helpers
load fake_pt

by_thread() {
	awk '{ print $1, $2, $3, $4 }' | sort -s -n -k1,1
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

@test "no Intel PT: the error says where it may be" {
	mkdir -p sys/bus/event_source/devices
	SYSFS_PATH=$PWD/sys run assay record -e intel_pt//u -- true
	refused 1 "no Intel PT here"
	[[ "$output" =~ hypervisor|BIOS|Intel\'s ]]
}
