/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gathers the kernel's own CPU times of a recording, for the file of store/cpu_times.h.
 *
 *	a process that           has the time of
 *	lives at the end         its clock, at the end less the beginning
 *	is the command           its clock, before wait4(2) takes the process from the kernel
 *	ended before             taskstats, at its exit
 *
 * Without taskstats, the command's ended children have one time together: that of wait4(2), less
 * the command's clock. The kernel adds up the children that each parent waited for.
 *
 * The time of all recorded processes together is that of a task clock which their threads inherit.
 * It also has the time of processes that taskstats does not show to this user, and of the last
 * moments of exits. The file has a number for this part.
 *
 * CPUs' idle, steal and interrupt times are those of /proc/stat. Throttled time is the time between
 * the kernel's THROTTLE and UNTHROTTLE records. The cost: the clocks of all processes are read at
 * the start and the end, and each exit is a message.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/cpu_list.h"
#include "collect/rings.h"

struct cpu_account;
struct error;

struct cpu_account_config {
	bool is_machine;             /* every process; with all CPUs, or with those of `cpus` */
	bool has_all_cpus;           /* false: processes run elsewhere, too, and have no times */
	bool has_throttles;          /* the rings carry the samples, and so these records */
	const struct cpu_list *cpus; /* profiled ones */
	const int32_t *pids;         /* target processes; a command: none */
	const int32_t *tids;         /* their threads, or the command … */
	size_t n_pids, n_tids;
	struct rings *rings; /* … whose time they count (with_task_times) */
	int exits_fd;        /* of exit_times_open(), or its error; the account's own from now on */
};

/* Before counting begins; the config's pointers stay valid until the end. */
struct cpu_account *cpu_account_begin(const struct cpu_account_config *config);

/* Now and then: takes the kernel's messages of ended processes. Events are known up to `safe_ns`.
 */
void cpu_account_turn(struct cpu_account *a, uint64_t safe_ns);

/* The process has ended, and can still be asked for its time. */
void cpu_account_reap(struct cpu_account *a, int32_t pid);

/* After that: its time and that of all that it and its children waited for. */
void cpu_account_children(struct cpu_account *a, int32_t pid, uint64_t all_ns);

/* When counting has ended. */
void cpu_account_end(struct cpu_account *a);

/* Then, when the rings are empty. */
int cpu_account_write(struct cpu_account *a, const char *dir, struct error *err);

void cpu_account_free(struct cpu_account *a); /* NULL is fine */
