#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs the guest's tests in an unusual place:  inside.sh container|hybrid SCRIPT [ARGUMENT…]
#
#   container   two pid namespaces below the first one, a mount namespace, and / that is read-only; an ordinary user is
#               root of a user namespace there, as in a rootless container
#   hybrid      sysfs has the PMUs of a processor with two kinds of cores, which the kernel does not have
place=$1
shift

namespaces() {
	exec unshare -m -p -f sh "$0" "$@"
}

# Each PMU is for one of the two CPUs. Its number is of no PMU, so opening an event fails, as in a virtual machine.
put_pmu() { # NAME TYPE CPUS
	mkdir -p "/tmp/pmus/$1/format" "/tmp/pmus/$1/events"
	echo "$2" >"/tmp/pmus/$1/type"
	echo "$3" >"/tmp/pmus/$1/cpus"
	echo config:0-7 >"/tmp/pmus/$1/format/event"
	echo config:8-15 >"/tmp/pmus/$1/format/umask"
	echo event=0x3c >"/tmp/pmus/$1/events/cpu-cycles"
	echo event=0xc0 >"/tmp/pmus/$1/events/instructions"
}

case $place in
container) namespaces nested "$@" ;;
nested) namespaces contained "$@" ;;
contained)
	mount -t proc proc /proc
	mount -o remount,bind,ro /
	export ROOTLESS="unshare -U -r"
	;;
hybrid)
	for pmu in /sys/bus/event_source/devices/*; do
		mkdir -p /tmp/pmus
		ln -s "$(realpath "$pmu")" "/tmp/pmus/${pmu##*/}"
	done
	put_pmu cpu_core 70 0
	put_pmu cpu_atom 71 1
	mount --bind /tmp/pmus /sys/bus/event_source/devices
	;;
esac
exec sh "$@"
