#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel itself and its modules, on a kernel older than those that test elsewhere; what it may refuse.
. /tests/checks.sh

need_modules() {
	[ ! -e /modules/missing ] || skip "$(cat /modules/missing)"
}

both_modules_have_samples() {
	has_samples spin_before_work s && has_samples spin_during_work s
}

a_module_from_before_and_one_of_during() { # COLLECTOR
	need_modules
	rmmod spin_during spin_before 2>/dev/null || true # a test that failed leaves them
	insmod /modules/spin_before.ko
	# On a busy host, one run of a module's code may have no sample.
	record_until both_modules_have_samples -a --collector "$1" -- sh -c '
		cat /proc/spin_before; insmod /modules/spin_during.ko
		while cat /proc/spin_before /proc/spin_during; do :; done'
	assay report -i s --by image,symbol
	wait_for rmmod spin_during
	wait_for rmmod spin_before
}

# It runs the module's code, until there is a sample more in it.
spin_until_seen() { # MODULE
	wanted=$(($(of_symbol "$1_work" s 2>/dev/null) + 1))
	wait_for spin_is_seen "$1" "$wanted"
}

spin_is_seen() {
	cat "/proc/$1"
	has_samples "$1_work" s "$2"
}

modules_took_turns() {
	cat /proc/modules
	spin_until_seen spin_before && rmmod spin_before && insmod /modules/spin_other.ko &&
		spin_until_seen spin_other && insmod /modules/spin_before.ko && spin_until_seen spin_before && cat /proc/modules
}

# The next module gets the address of the one that went. Then the first one comes back elsewhere.
modules_in_each_others_place() {
	need_modules
	insmod /modules/spin_before.ko
	record_until modules_took_turns -a -- sleep 100000
	assay report -i s --by image,symbol
	between 1 "$(of_symbol spin_before_work s)" 100000 "samples in the module that came back"
	between 1 "$(of_symbol spin_other_work s)" 100000 "samples in the module in its place"
	rmmod spin_other
	wait_for rmmod spin_before
}

a_module_that_is_gone_is_named() {
	need_modules
	insmod /modules/spin_during.ko
	record_until "has_samples spin_during_work s" -a -- sh -c 'while cat /proc/spin_during; do :; done'
	wait_for rmmod spin_during
	assay report -i s --by image >report.txt
	has "[spin_during]" report.txt
}

a_module_s_source_and_code() {
	need_modules
	insmod /modules/spin_before.ko
	mkdir -p "/lib/modules/$(uname -r)/extra"
	cp /modules/spin_before.ko "/lib/modules/$(uname -r)/extra"
	echo extra/spin_before.ko: >"/lib/modules/$(uname -r)/modules.dep"
	record_until "has_samples spin_before_work s" -- sh -c 'while cat /proc/spin_before; do :; done'
	assay annotate -i s -a spin_before_work >annotated
	rm -r /lib/modules
	wait_for rmmod spin_before
	cat annotated
	grep -q '│ .*\(imul\|add\|jne\)' annotated
}

kernel_symbols_with_kaslr() {
	[ "$(sed -n 's/ T _text$//p' /proc/kallsyms)" != ffffffff81000000 ]
	record_until "has_any_samples 200" -- dd if=/dev/zero of=/dev/null bs=1M
	assay report -i s --by symbol >report.txt
	cat report.txt
	grep -q '\[kernel\] *\(clear_user\|rep_stos\|read_zero\|iter\)' report.txt
	same 0 "$(fact no-kernel s)"
}

the_kernel_s_code_from_kcore() {
	record_until "has_any_samples 200" -- dd if=/dev/zero of=/dev/null bs=1M
	symbol=$(assay report -i s --by symbol | sed -n 's/.*\[kernel\] *\(clear_user[a-z_]*\|rep_stos[a-z_]*\).*/\1/p' | head -n 1)
	[ -n "$symbol" ]
	assay annotate -i s -a "$symbol" >annotated
	cat annotated
	grep -q '│ .*\(rep\|mov\|ret\|cmp\|jmp\)' annotated
}

by_bpf() {
	record_until "has_chain s" -a --collector bpf -- /programs/deep-nofp 100000s 2>log
	has "in-kernel unwinding" log
	same 0 "$(fact tables-full s)"
}

time_that_threads_wait() {
	assay record --off-cpu -o s -- sleep 0.5 >log 2>&1 || { cat log; return 1; }
	cat log
	assay report -i s --by symbol >report.txt
	cat report.txt
	has "off-cpu:sleep" report.txt
}

# The results of an ordinary user, who records the machine or a program: samples, or a refusal.
nobody_at() { # LEVEL OWN WHOLE: "all", "user" (no sample of the kernel) or a message of record
	for target in own whole; do
		case $target in own) wanted=$2 options= ;; *) wanted=$3 options=-a ;; esac
		status=0
		case $wanted in
		all | user)
			as_nobody ". /tests/checks.sh; record_split $options"
			stacks_are_whole /tmp/nobody/s
			assay report -i /tmp/nobody/s --by image >images
			[ "$wanted" = all ] || has_no "[kernel]" images
			;;
		*)
			as_nobody assay record $options -o s -- /programs/split 2cpu >log 2>&1 || status=$?
			same 1 "$status" "status of record, $target"
			has "$wanted" log
			[ ! -e /tmp/nobody/s ] || fail "a session of what was refused"
			;;
		esac
	done
	as_nobody assay doctor >doctor.txt || true
	grep -q "is ${1}[: ]" doctor.txt || { cat doctor.txt; fail "doctor does not say the level"; }
}

unprivileged_at() {
	at_paranoid "$1" nobody_at "$@"
}

no_machine="allows an ordinary user only processes of his own, not a whole CPU"
nothing="closes perf events to ordinary users"

check "a module from before the recording and one loaded during it, by rings" a_module_from_before_and_one_of_during perf
check "a module from before the recording and one loaded during it, by BPF" a_module_from_before_and_one_of_during bpf
check "modules in each other's place" modules_in_each_others_place
check "a module that is gone is named" a_module_that_is_gone_is_named
check "a module's code, from its file" a_module_s_source_and_code
check "kernel symbols with KASLR" kernel_symbols_with_kaslr
check "the kernel's code, from /proc/kcore" the_kernel_s_code_from_kcore
check "the in-kernel sampler, through a program without frame pointers" by_bpf
check "several events of a command, by BPF" several_events_by_bpf
check "time that threads wait" time_that_threads_wait
check "an ordinary user at perf_event_paranoid -1" unprivileged_at -1 all all
check "an ordinary user at perf_event_paranoid 0" unprivileged_at 0 all all
check "an ordinary user at perf_event_paranoid 1" unprivileged_at 1 all "$no_machine"
check "an ordinary user at perf_event_paranoid 2" unprivileged_at 2 user "$no_machine"
check "an ordinary user at perf_event_paranoid 3" unprivileged_at 3 "$nothing" "$nothing"
check "an ordinary user at perf_event_paranoid 4" unprivileged_at 4 "$nothing" "$nothing"
. /tests/settings.sh
