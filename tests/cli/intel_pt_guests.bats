#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Intel PT of virtual machines: one trace has the code of the host and of its guests.
load helpers
load pt

HOST=0xffffffff81000000 # where the host's kernel is

# guest_of OPTIONS PROGRAM [ARG…]: ./trace.data and ./truth of a guest that runs the program, with the host's
# kernel between its system calls.
guest_of() {
	local options=$1
	shift
	need_qemu_plugin
	within qemu-x86_64 -plugin "$PT/libpt_qemu.so,out=trace.data,truth=truth,host=$HOST,$options" "$@" >out 2>err </dev/null
	[ "$(wc -l <truth)" -gt 1000 ]
}

host_script() {
	assay script -i trace.data --vmlinux "$PROGRAMS/host_kernel" "$@"
}

@test "a guest's code is not taken from the host: what is missing counts, and the host is decoded" {
	# The guest's kernel has the addresses of the host's.
	guest_of mtc=on,psb=2048,shift=0xffffffff80c00000 "$PROGRAMS/flow" recursion
	grep -q "=> ffffffff8100" truth
	host_script --itrace=be -F tid,ip,addr >out 2>err
	# Each entry into the guest, and each exit; nothing of the guest is shown but where it was entered.
	awk '$2 ~ /^ffffffff810000[01]0$/ && ($4 == 0 || $4 == "ffffffff81000000") { print $1, $2, $3, $4 }' truth >want
	awk '$2 ~ /^ffffffff810000[01]0$/ && ($4 == 0 || $4 == "ffffffff81000000") { print $1, $2, $3, $4 }' out >ours
	equal_files want ours
	[ "$(grep -c error out)" -ge "$(grep -c '^[0-9]* ffffffff81000000 => 0' truth)" ]
	awk '/=>/ && $2 != 0 && $2 !~ /^ffffffff810000[01]0$/' out >invented
	[ ! -s invented ]
	grep -q "$(grep -c error out) errors in the code of virtual machines" err
}
