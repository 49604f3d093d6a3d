#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# AArch64 on two CPUs, with everything that makes samples late or lost. Every sample is accounted for, and
# none is at an impossible place. The tests expect no number of a kind of samples.
. /tests/checks.sh

both_have_samples() {
	has_samples_on 0 quarters s && has_samples_on 1 split s
}

the_whole_machine() { # COLLECTOR
	record_until both_have_samples -a --collector "$1" -e cycles -c 20000000 -- sh -c '
		taskset 1 /programs/quarters 100000s & exec taskset 2 /programs/split 100000s'
	killall quarters || true
	assay report -i s --by cpu,app
	between 1 "$(samples_on 0 quarters s)" 1000000 "samples of quarters on CPU 0"
	between 1 "$(samples_on 1 split s)" 1000000 "samples of split on CPU 1"
	same 0 "$(samples_on 0 split s)" "samples of split on CPU 0"
	between 1 "$(of_symbol three_quarters s)" 1000000 "samples in three_quarters()"
	between 1 "$(of_symbol forty s)" 1000000 "samples in forty()"
	# A process may begin before the events do, and end before the recorder reads /proc. The condition's processes, which
	# begin later, have more than a third of all samples here.
	between 0 "$(fact no-process s)" "$(($(fact samples s) / 10))" "samples of processes that nobody knows"
	same 0 "$(fact bad-record s)"
}

# Far more than the kernel lets through: what it throttled is a loss with a number.
throttled() {
	sysctl -w kernel.perf_event_max_sample_rate=2000 kernel.perf_cpu_time_max_percent=0
	assay record -e cycles -c 20000 -o s -- /programs/quarters 2cpu
	assay info s
	between 1 "$(fact throttled s)" 1000000 "times that it was throttled"
	between 1 "$(fact throttled-samples s)" 100000000 "samples never taken"
}

the_kernel_s_functions() {
	record_until "has_any_samples 100" -e cycles -- dd if=/dev/zero of=/dev/null bs=1M
	assay report -i s --by symbol >report.txt
	cat report.txt
	grep -q '\[kernel\] *[a-z_]' report.txt
	same 0 "$(fact no-kernel s)"
	assay report -i s --by image >images.txt
	has_no "[unknown]" images.txt
}

the_kernel_s_code_from_kcore() {
	record_until "has_any_samples 100" -e cycles -- dd if=/dev/zero of=/dev/null bs=1M
	symbol=$(assay report -i s --by symbol | sed -n 's/.*\[kernel\] *\([a-z0-9_]*\)$/\1/p' | head -n 1)
	[ -n "$symbol" ]
	assay annotate -i s -a "$symbol" >annotated
	cat annotated
	grep -q '│ .*\(ldr\|str\|stp\|ldp\|mov\|ret\|cmp\|add\|msr\|mrs\|dc\) ' annotated
}

through_programs_without_frame_pointers() {
	record_until "has_chain s" -a --collector bpf -e cycles -c 20000000 -- /programs/deep-nofp 100000s 2>log
	cat log
	has "in-kernel unwinding" log
}

instructions_of_this_architecture() {
	record_until "has_any_samples 20" -e cycles:u -- /programs/quarters 100000s
	assay annotate -i s -a three_quarters >annotated
	cat annotated
	grep -q '│ .*madd' annotated
}

time_that_threads_wait() {
	assay record --off-cpu -o s -- sleep 0.5 2>log
	cat log
	assay report -i s --by symbol >report.txt
	cat report.txt
	has "off-cpu:sleep" report.txt
}

a_cpu_that_goes_and_comes() { # COLLECTOR
	record_until "has_samples_on 1 split s" -a --collector "$1" -e cycles -- sh -c '
		/programs/split 100000s & split=$!
		echo 0 >/sys/devices/system/cpu/cpu1/online
		echo 1 >/sys/devices/system/cpu/cpu1/online
		taskset -p 2 $split; wait'
	killall split || true
	assay report -i s --by cpu,app
	between 1 "$(fact cpu-online s)" 10 "times that it came"
}

ns_of_cpu_1() {
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
		$c["cpu"] == 1 { n += $c["count"] }
		END { printf "%.0f\n", n }' counts
}

counted_on_1() { # NS
	[ "$(ns_of_cpu_1 2>/dev/null)" -ge "$1" ]
}

a_cpu_that_comes_back_is_counted() {
	assay stat -a --per-cpu -I 200ms -e cpu-clock --format csv -o counts -- sleep 100000 2>log &
	counter=$!
	(
		wait_for counted_on_1 1
		echo 0 >/sys/devices/system/cpu/cpu1/online
		echo 1 >/sys/devices/system/cpu/cpu1/online
		wait_for counted_on_1 $(($(ns_of_cpu_1) + 1000000000))
	) || failed=1
	kill "$counter"
	wait "$counter" || true
	cat counts log
	[ -z "${failed-}" ]
	has "CPUs came online (times: 1)" log
}

a_command_follows_to_a_cpu_that_comes() {
	echo 0 >/sys/devices/system/cpu/cpu1/online
	record_until "has_samples_on 1 split s" -e cycles -- sh -c '
		echo 1 >/sys/devices/system/cpu/cpu1/online; exec taskset 2 /programs/split 100000s' || failed=1
	echo 1 >/sys/devices/system/cpu/cpu1/online
	[ -z "${failed-}" ]
}

without_the_first_cpu() {
	echo 0 >/sys/devices/system/cpu/cpu0/online || skip "CPU 0 can't go offline here"
	for whom in "" -a; do
		# shellcheck disable=SC2086 # words
		record_until "has_samples_on 1 split s" $whom -e cycles -- /programs/split 100000s || failed=1
	done
	refused 1 log assay record -a -C 0-1 -o none -- true || failed=1
	assay doctor >doctor.txt || failed=1
	echo 1 >/sys/devices/system/cpu/cpu0/online
	[ -z "${failed-}" ]
	has "CPU 0 is not online" log
	has "cycles work" doctor.txt
}

check "the whole machine by rings, each program on its CPU" the_whole_machine perf
check "the whole machine by BPF, each program on its CPU" the_whole_machine bpf
check "the kernel's functions" the_kernel_s_functions
check "the kernel's code, from /proc/kcore" the_kernel_s_code_from_kcore
check "in-kernel unwinding, through a program without frame pointers" through_programs_without_frame_pointers
check "a program's instructions" instructions_of_this_architecture
check "time that threads wait" time_that_threads_wait
check "a CPU that goes offline and comes back, by rings" a_cpu_that_goes_and_comes perf
check "a CPU that goes offline and comes back, by BPF" a_cpu_that_goes_and_comes bpf
check "a CPU that goes offline and comes back is counted" a_cpu_that_comes_back_is_counted
check "a command on a CPU that was offline at first" a_command_follows_to_a_cpu_that_comes
check "without CPU 0" without_the_first_cpu
check "a counter that is throttled" throttled
