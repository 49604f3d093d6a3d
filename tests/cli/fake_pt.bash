# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# A machine with Intel PT that is none (tests/fake_pt):
#
#   fake_machine [CPUS]           its sysfs, ./sys, which SYSFS_PATH then names
#   fake_trace PROGRAM [ARG…]     what its processor will have run: ./truth, ./trace.data;
#                                 more of the generator's options are in FAKE_TRACE
#   on_fake COMMAND…              a recorder, there; FAKE_PT_… as in tests/fake_pt/device.c
#   until_done                    for the recorder: a command that ends when all was played

FAKE=$ASSAY_BUILD/tests/fake_pt
PT=$ASSAY_BUILD/tests/pt

fake_machine() {
	local pmu=sys/bus/event_source/devices/intel_pt file
	[ -x "$FAKE/fake_device" ] || skip "the fake Intel PT is for x86-64, and not in this build"
	mkdir -p sys/devices/system/cpu $pmu/{format,caps}
	# A Skylake's, from its sysfs.
	while read -r file value; do
		echo "$value" >"$pmu/$file"
	done <<-END
		type 6
		format/tsc config:10
		format/noretcomp config:11
		format/mtc config:9
		format/mtc_period config:14-17
		format/cyc config:1
		format/cyc_thresh config:19-22
		format/psb_period config:24-27
		format/pt config:0
		format/branch config:13
		format/ptw config:12
		format/fup_on_ptw config:5
		format/pwr_evt config:4
		caps/mtc 1
		caps/mtc_periods 249
		caps/psb_cyc 1
		caps/psb_periods 3f
		caps/cycle_thresholds 1fff
		caps/ptwrite 0
		caps/power_event_trace 0
		caps/ip_filtering 1
		caps/num_address_ranges 2
		nr_addr_filters 2
		max_nonturbo_ratio 20
		tsc_art_ratio 100:2
	END
	for file in online present possible; do
		echo "0-$((${1:-4} - 1))" >sys/devices/system/cpu/$file
	done
	export SYSFS_PATH=$PWD/sys FAKE_PT_DIR=$PWD FAKE_PT_DEVICE=$FAKE/fake_device
}

# The description's first processors: nothing but these terms.
fake_old_processor() {
	rm -r sys/bus/event_source/devices/intel_pt/{caps,format/{pt,branch,ptw,fup_on_ptw,pwr_evt}}
}

# Stepping through a program takes a second of CPU time: the tests of a file share what was traced.
fake_trace() {
	local kept
	kept=$BATS_FILE_TMPDIR/fake.$(tr -c 'a-z0-9' _ <<<"${FAKE_TRACE-} $*")
	if [ ! -e "$kept" ]; then
		# shellcheck disable=SC2086
		timeout 100 "$PT/pt_trace" --tsc --mtc --psb 2000 ${FAKE_TRACE-} trace.data truth "$@" >out 2>err </dev/null ||
			{ grep -q "not permitted" err && skip "ptrace is not permitted here"; cat err; return 1; }
		mkdir "$kept.new"
		mv trace.data truth "$kept.new"
		mv "$kept.new" "$kept"
	fi
	cp "$kept"/{trace.data,truth} .
	export FAKE_PT_TRACE=$PWD/trace.data
}

on_fake() {
	rm -f "done" stats step.* go.*
	timeout 60 env LD_PRELOAD="$FAKE/fake_pt.so" "$@"
}

until_done() {
	echo 'until [ -e done ]; do sleep 0.02; done'
}

# A number of the device's, when the recorder has gone.
device_says() {
	for _ in {1..100}; do
		[ ! -e stats ] || break
		sleep 0.05
	done
	jq -r ".$1" stats
}

# The records of a recording that begin so, one a line, as perf shows them: records FILE NAME
records() {
	need_perf
	perf script -D -i "$1" --no-itrace 2>/dev/null | grep "PERF_RECORD_$2" || true
}

# What its pieces of trace add up to, with what is padded.
aux_bytes() {
	records "$1" "AUXTRACE size" | sed 's/.*AUXTRACE size: \(0x[0-9a-f]*\).*/\1/' |
		while read -r n; do echo $((n)); done | awk '{ n += $1 } END { print n + 0 }'
}
