#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Extended features: events that are made of raw samples (AMD's IBS).

load helpers
bats_require_minimum_version 1.5.0

amd() {
	grep -q AuthenticAMD /proc/cpuinfo || skip "needs a processor of AMD"
	[ "$(sed -n 's/^cpu family.*: //p;T;q' /proc/cpuinfo)" -ge 22 ] || skip "needs a processor of AMD of family 22 or later"
}

no_ibs() {
	amd
	[ ! -e /sys/bus/event_source/devices/ibs_op ] || skip "needs a machine without IBS"
}

@test "IBS events are listed, with the feature that they are of" {
	amd
	run -0 assay events
	[[ $output == *IBS_OP_NB_LOCAL_DRAM* && $output == *IBS_FETCH_LATENCY* ]]
	run -0 ophelp
	[[ $output == *"IBS_OP_ALL: (ext: ibs_op)"* ]]
}

@test "without IBS, a message says so" {
	no_ibs
	run -1 assay record -e IBS_OP_ALL:100000 -o s.assay true
	[[ $output == *"needs samples of ibs_op, and there is no ibs_op here"* ]]
	[ ! -e s.assay ]
	need_root
	run -1 within assay daemon --session-dir d --ext-feature=ibs:fetch:IBS_FETCH_ALL:100000:0
	[[ $output == *"there is no ibs_fetch here"* ]]
}

@test "arguments of a feature are checked" {
	need_root
	run -1 within assay daemon --session-dir d --ext-feature=nsa:everything
	[[ $output == *"no extended feature 'nsa'; there is ibs:fetch:"* ]]
	run -1 within assay daemon --session-dir d --ext-feature=ibs:opp:IBS_OP_ALL:1:1
	[[ $output == *"extended feature 'ibs': 'opp…'"* ]]
	echo 'ext-feature = ibs:op' >conf
	run -1 within assay daemon --session-dir d --config conf
	[[ $output == *"extended feature 'ibs'"* ]]
}
