/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU times that the kernel keeps: of a process by its clock (clock_getcpuclockid(3)), of CPUs in
 * /proc/stat (proc(5)), and of processes that ended from taskstats (Documentation/accounting).
 * Times are nanoseconds.
 */
#pragma once

#include <linux/taskstats.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/cpu_list.h"

/*
 * CPU time of all threads of a process since its start, ended threads included. False: there is no
 * such process any more. Any user may read it.
 */
bool process_clock(pid_t pid, uint64_t *ns);

/* Of some CPUs, since boot. The kernel prints them in ticks of 10 ms. */
struct cpu_stat {
	uint64_t idle_ns, steal_ns, interrupts_ns; /* idle: waits for disks, too */
	uint32_t n_cpus;                           /* that are online */
};

/* `proc` "/proc"; other paths are for tests. False: it can't be read. */
bool cpu_stat_read(const char *proc, const struct cpu_list *cpus, struct cpu_stat *out);

/*
 * Receives the CPU time of every process that ends on this machine. Needs CAP_NET_ADMIN, Linux
 * 5.19, and the first pid and user namespace. Negative errno if the kernel refuses.
 */
int exit_times_open(void);

/*
 * Visits processes that ended since the last call, with the CPU time of their lives. A process with
 * several threads comes twice: with the time of its first thread, then with that of all (is_whole).
 * False: the kernel had to drop some.
 */
bool exit_times_read(int fd, void (*visit)(void *context, pid_t pid, uint64_t ns, bool is_whole),
		     void *context);

/*
 * Messages of taskstats before version 12 (Linux 5.19) do not say whose thread has ended.
 * exit_times_open() refuses such kernels by -EOPNOTSUPP. Later versions have the number of the
 * process (ac_tgid, 32 bits) there, whichever headers assay was built with.
 */
#define TASKSTATS_TGID_VERSION 12
#define TASKSTATS_TGID_OFFSET  (offsetof(struct taskstats, ac_btime64) + 3 * sizeof(uint64_t))
