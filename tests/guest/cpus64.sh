#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# 64 CPUs: all are sampled and counted, each under its own number, and nothing is lost between them.
. /tests/checks.sh

# Samples by CPU and program, as lines "CPU PROGRAM SAMPLES".
rows_of() { # SESSION
	assay report -i "$1" --idle --by cpu,app --format csv | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
		{ print $c["cpu"], $c["app"], $c["samples"] }'
}

cpus_of() { # SESSION: the CPUs that have samples, as in sysfs
	rows_of "$1" | cut -d' ' -f1 | sort -nu | awk '
		NR == 1 { first = last = $1; next }
		$1 == last + 1 { last = $1; next }
		{ printf "%s%s,", first, (last > first ? "-" last : ""); first = last = $1 }
		END { printf "%s%s\n", first, (last > first ? "-" last : "") }'
}

has_samples_of_all() { # SESSION CPUS: and of the program on the last CPU
	[ "$(cpus_of "$1")" = "$2" ] && [ "$(samples_on 63 split "$1")" -ge 5 ]
}

# The whole machine, with /programs/split on CPU 63, until each CPU and the program have samples.
record_all() { # CPUS OPTION…
	cpus=$1
	shift
	taskset -c 63 /programs/split 100000s &
	work=$!
	assay record -a -e cpu-clock -F 19 -o s "$@" 2>log &
	recorder=$!
	wait_for has_samples_of_all s "$cpus"
	kill -INT "$recorder"
	wait "$recorder" || { cat log; fail "the recorder failed"; }
	kill "$work"
}

all_adds_up() { # CPUS
	same "$1" "$(cpus_of s)" "CPUs with samples"
	rows_of s >rows
	same "$(fact samples s)" "$(awk '{ n += $3 } END { print n }' rows)" "samples of all CPUs"
	on_63=$(samples_on 63 split s)
	same "$(awk '$2 ~ /split/ { n += $3 } END { print n }' rows)" "$on_63" "samples of split on CPU 63"
	between 1 "$(of_symbol forty s)" "$on_63" "samples in forty()"
	same 0 "$(fact bad-record s)"
	same 0 "$(fact no-process s)"
}

the_whole_machine() { # COLLECTOR
	record_all 0-63 --collector "$1"
	all_adds_up 0-63
}

without_one_in_the_middle() { # COLLECTOR
	echo 0 >/sys/devices/system/cpu/cpu32/online || skip "CPU 32 can't go offline here"
	(record_all 0-31,33-63 --collector "$1") || failed=1
	echo 1 >/sys/devices/system/cpu/cpu32/online
	[ -z "${failed-}" ]
	all_adds_up 0-31,33-63
}

some_cpus() {
	record_all 1,33,62-63 --collector perf -C 1,33,62-63
	all_adds_up 1,33,62-63
}

a_command_on_several_cpus() {
	assay record -e cpu-clock:u -F 499 -o s -- sh -c '
		for cpu in 0 31 63; do taskset -c $cpu /programs/split 300; done'
	rows_of s | tee rows
	for cpu in 0 31 63; do
		between 1 "$(samples_on "$cpu" split s)" 1000000 "samples of split on CPU $cpu"
	done
	same "$(fact samples s)" "$(awk '{ n += $3 } END { print n }' rows)" "samples of all CPUs"
	same "$(awk '$2 ~ /split/ { n += $3 } END { print n }' rows)" \
		$(($(samples_on 0 split s) + $(samples_on 31 split s) + $(samples_on 63 split s))) "samples of split"
}

# A clock of each CPU runs as long as the command.
counts_by_cpu() {
	assay stat -a --per-cpu -e cpu-clock,page-faults --format csv -o counts -- \
		sh -c 'taskset -c 63 /programs/split 50; sleep 1'
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
		{ print $c["event"], $c["cpu"], $c["count"] }' counts >rows || true
	head -n 3 counts
	same "$(seq 0 63 | xargs)" "$(awk '$1 == "cpu-clock" { print $2 }' rows | sort -n | xargs)" "CPUs"
	awk '$1 == "cpu-clock" && $3 < 1000000000' rows >short
	same 0 "$(wc -l <short)" "CPUs with less than a second"
	between 1 "$(awk '$1 == "page-faults" && $2 == 63 { print $3 }' rows)" 1000000 "page faults on CPU 63"
}

the_daemon() {
	assay daemon --session-dir d --separate kernel,process,cpu -F 19 --max-cpu 0 2>log &
	daemon=$!
	taskset -c 63 /programs/split 100000s &
	work=$!
	wait_for has_samples_of_all d 0-63
	assay ctl --session-dir d status >status.txt || { cat status.txt; fail "no status"; }
	cat status.txt
	kill "$daemon"
	wait "$daemon"
	kill "$work"
	mv d s
	all_adds_up 0-63
}

unit() { # TEST
	/programs/test_"$1" >log 2>&1 || { cat log; fail "$1"; }
	! grep skipped log || skip "$(grep skipped log)"
}

check "the machine has 64 CPUs" same 0-63 "$(cat /sys/devices/system/cpu/online)"
check "the whole machine by rings" the_whole_machine perf
check "the whole machine by BPF" the_whole_machine bpf
check "one CPU in the middle is offline, by rings" without_one_in_the_middle perf
check "one CPU in the middle is offline, by BPF" without_one_in_the_middle bpf
check "a list of CPUs" some_cpus
check "a command that runs on several CPUs" a_command_on_several_cpus
check "counts of each CPU" counts_by_cpu
check "the daemon" the_daemon
check "a recording that is steered, by rings and by BPF" unit recorder
check "rings, counts and statistics of many CPUs" unit rings
