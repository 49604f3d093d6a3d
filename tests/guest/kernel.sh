#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel itself and its modules, on a kernel older than those that test elsewhere.
. /tests/checks.sh

need_modules() {
	[ ! -e /modules/missing ] || skip "$(cat /modules/missing)"
}

a_module_from_before_and_one_of_during() {
	need_modules
	insmod /modules/spin_before.ko
	assay record -a --collector "$1" -o s -- sh -c 'cat /proc/spin_before; insmod /modules/spin_during.ko; cat /proc/spin_during'
	assay report -i s --by image,symbol | grep spin_
	[ "$(of_symbol spin_before_work s)" -ge 20 ]
	[ "$(of_symbol spin_during_work s)" -ge 20 ]
	rmmod spin_during
	rmmod spin_before
}

# What is loaded next has the address of what went, or another; either way each has its own samples.
modules_in_each_others_place() {
	need_modules
	insmod /modules/spin_before.ko
	assay record -a -o s -- sh -c '
		cat /proc/spin_before; first=$(grep spin_before /proc/modules)
		rmmod spin_before; insmod /modules/spin_other.ko; sleep 1.1; cat /proc/spin_other
		insmod /modules/spin_before.ko; sleep 1.1; cat /proc/spin_before
		echo "$first"; cat /proc/modules'
	assay report -i s --by image,symbol | grep spin_
	[ "$(of_symbol spin_before_work s)" -ge 20 ]
	[ "$(of_symbol spin_other_work s)" -ge 20 ]
	rmmod spin_other
	rmmod spin_before
}

a_module_that_is_gone_is_named_as_such() {
	need_modules
	insmod /modules/spin_during.ko
	assay record -a -o s -- cat /proc/spin_during
	rmmod spin_during
	assay report -i s --by image >report.txt
	has "[spin_during]" report.txt
}

kernel_symbols_with_kaslr() {
	[ "$(sed -n 's/ T _text$//p' /proc/kallsyms)" != ffffffff81000000 ]
	assay record -o s -- dd if=/dev/zero of=/dev/null bs=1M count=2000
	assay report -i s --by symbol >report.txt
	cat report.txt
	grep -q '\[kernel\] *\(clear_user\|rep_stos\|read_zero\|iter\)' report.txt
	same 0 "$(fact no-kernel s)"
}

the_whole_machine_by_bpf() {
	assay record -a --collector bpf -o s -- /programs/split 50 >log 2>&1
	has "in-kernel unwinding" log
	assay report -i s --by image,symbol >report.txt
	has "split" report.txt
	between 1 "$(of_symbol forty s)" 100000 "samples in forty()"
}

check "a module from before the recording and one loaded during it, by rings" a_module_from_before_and_one_of_during perf
check "a module from before the recording and one loaded during it, by BPF" a_module_from_before_and_one_of_during bpf
check "modules in each other's place" modules_in_each_others_place
check "a module that is gone is named" a_module_that_is_gone_is_named_as_such
check "kernel symbols with KASLR" kernel_symbols_with_kaslr
check "the in-kernel sampler loads and finds who ran" the_whole_machine_by_bpf
