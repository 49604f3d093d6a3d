# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# A machine with Intel PT that is none (tests/fake_pt):
#
#   fake_machine [CPUS]           its sysfs, ./sys, which SYSFS_PATH then names
#   fake_trace PROGRAM [ARG…]     what its processor will have run: ./truth, ./trace.data;
#                                 more of the generator's options are in FAKE_TRACE
#   on_fake COMMAND…              a recorder, there; FAKE_PT_… as in tests/fake_pt/device.c
#   background_on_fake COMMAND…   the same in the background; `wait "$pid"` gives its status
#   until_done                    for the recorder: a command that ends when all was played
#   has_stepped N                 for wait_for: with FAKE_PT_STEPS, the device waits for ./go.N

load pt
FAKE=$ASSAY_BUILD/tests/fake_pt

fake_machine() {
	local pmu=sys/bus/event_source/devices/intel_pt file
	[ -x "$FAKE/fake_device" ] || skip "the fake Intel PT is for x86-64, and not in this build"
	mkdir -p sys/devices/system/cpu $pmu/{format,caps}
	# The loader splits LD_PRELOAD at blanks, which the path of the build may have.
	ln -sf "$FAKE/fake_pt.so" .
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
	# Not $PWD: a socket's path is short.
	export SYSFS_PATH=$PWD/sys FAKE_PT_DIR=. FAKE_PT_DEVICE=$FAKE/fake_device
}

# The description's first processors: nothing but these terms.
fake_old_processor() {
	rm -r sys/bus/event_source/devices/intel_pt/{caps,format/{pt,branch,ptw,fup_on_ptw,pwr_evt}}
}

# Its trace fills several of the smallest areas, if it is asked for with --cyc --no-retcomp --psb 100.
fake_trace() {
	# shellcheck disable=SC2086
	trace_of --tsc --mtc --psb 2000 ${FAKE_TRACE-} -- "$@"
	export FAKE_PT_TRACE=$PWD/trace.data
}

forget_the_last() {
	rm -f "done" stats step.* go.* rings.*
}

on_fake() {
	forget_the_last
	within env LD_PRELOAD=./fake_pt.so "$@"
}

background_on_fake() {
	forget_the_last
	background env LD_PRELOAD=./fake_pt.so "$@"
}

until_done() {
	echo 'until [ -e done ] || ! kill -0 $PPID; do sleep 0.02; done'
}

has_stepped() {
	[ -e "step.$1" ]
}

# A number of the device's, when the recorder has gone.
device_says() {
	wait_for test -e stats
	jq -r ".$1" stats
}

# The records of a recording that begin so, one a line, as perf shows them: records FILE NAME
records() {
	need_perf
	perf script -D -i "$1" --no-itrace 2>/dev/null | grep "PERF_RECORD_$2" || true
}

# The sum of its pieces of trace, with their padding.
aux_bytes() {
	records "$1" "AUXTRACE size" | sed 's/.*AUXTRACE size: \(0x[0-9a-f]*\).*/\1/' |
		while read -r n; do echo $((n)); done | awk '{ n += $1 } END { print n + 0 }'
}
