#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The rooms that meet paths of profiled programs open files by guard/open.h. Other opens are listed here: the
# file, how many, and why nobody else can choose what is opened. An open that is not listed is refused.
cd "$(dirname "$0")/.." || exit 2
listed='
src/collect/cgroup.c|3|/proc/cgroups and cgroup.procs; the folder of a cgroup that the user names
src/collect/cpu_list.c|1|lists of CPUs in sysfs
src/collect/kernel_btf.c|1|/sys/kernel/btf
src/collect/process_clock.c|1|/proc/stat
src/collect/rings_open.c|1|a limit in /proc/sys
src/collect/sampler.c|1|/proc/self/maps
src/collect/sampler_support.c|1|limits in /proc/sys
src/daemon/actions.c|1|the folder of the daemon
src/daemon/daemon.c|1|/dev/null
src/daemon/helpers.c|1|/proc/PID/stat of helpers of the daemon
src/daemon/place.c|4|the folder of the daemon, without links
src/daemon/privilege.c|1|a limit in /proc/sys
src/machine/cgroups.c|6|/proc/PID/cgroup; folders of the kernel in mounts of cgroups
src/machine/engine_files.c|2|lists of names in folders of root
src/machine/guest_modules.c|1|a list of modules of a guest, in a file that the user names
src/machine/kernel_map.c|4|the symbols, modules and notes of the kernel in /proc and /sys
src/machine/proc.c|5|comm, maps, status and task of /proc/PID
src/machine/storage_places.c|1|/etc/passwd
src/pipeline/ext_ibs.c|2|a file of the user (--ext); the log beside the session
src/pipeline/host.c|1|/proc/cpuinfo
src/pipeline/jit_names.c|1|/proc/PID/status
src/pipeline/off_cpu.c|2|stat and syscall of /proc/PID
src/record/control_channel.c|2|FIFOs that the user names (--control)
src/record/descendants.c|1|/proc/PID/stat
src/record/raw.c|4|symbols, modules and notes of the kernel; formats of tracefs
src/record/raw_trace.c|1|a ratio in sysfs
src/record/interpreter_files.c|2|names of programs in the usual folders, and of processes in /proc; the guard opens the files
src/record/program_files.c|1|names of modules beside an interpreter; the guard opens the files
src/record/target_names.c|3|/proc/PID/status; folders and cgroup.procs of the kernel in mounts of cgroups
src/record/recorder_control.c|1|/proc/self
src/record/thread_contexts.c|1|/proc/PID/maps
src/demangle/swift_program.c|1|/dev/null
src/symbol/container_roots.c|2|/proc; folders of container engines of root and of the user
src/symbol/debug_package.c|1|the folder of lists of packages, which the guard has found
src/symbol/finder.c|1|~/.perfconfig of the user
src/symbol/image_places.c|1|folders that the user names (--image-path); the guard opens the files in them
src/symbol/kallsyms.c|1|/proc/kallsyms, or a copy that the user names
src/symbol/kernel/kcore.c|1|/proc/kcore, or a copy that the user names
src/symbol/kernel/kcore_cache.c|2|lists of modules in the cache of the user, and its folders
src/symbol/kernel/kernel_symbols.c|1|/proc/kallsyms, or a copy that the user names
src/symbol/kernel/kernel_table.c|2|notes and modules of the kernel
src/symbol/kernel/module_file.c|1|the names of releases in /lib/modules
src/symbol/kernel/vmlinux.c|2|notes of the kernel, and names of files in /boot; the guard opens the files
src/trace/pt_guests.c|1|the version in the folder that the user names for a guest
src/trace/pt_images.c|1|the copy of the kernel in a recording
src/trace/pt_log.c|1|the log that the user asks for
'
for room in lang demangle machine symbol unwind pipeline trace annotate script processes calls collect record daemon; do
	find "src/$room" -name '*.c'
done | sort | xargs grep -HnE '(^|[^A-Za-z0-9_.>])(open|openat|open64|openat2|fopen|opendir|open_by_handle_at|fts_open|nftw|scandir|glob|file_map|file_read_all|file_read_line)\(' |
	grep -vE '^[^:]*:[0-9]+:(static|int|bool|void) |^[^:]*:[0-9]+:[[:space:]]*(/?\*([[:space:]*/]|$)|//)' |
	awk -v script=scripts/check-opens.sh -v noun=opens -v advice='open it by guard/open.h' -f scripts/listed-calls.awk /dev/fd/3 - 3<<END
$listed
END
