/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gathers the kernel's own CPU times of a recording, for the file of store/cpu_times.h.
 *
 *	what was recorded        a process that lives at the end    one that ended before
 *	the whole machine        its clock, at the end less the     taskstats, at its exit
 *	                         beginning
 *	a command, processes     the same                           the task clock that its threads
 *	                                                            inherit
 *
 * CPUs' idle, steal and interrupt times are /proc/stat's. Throttled time is that between the
 * kernel's THROTTLE and UNTHROTTLE records. That costs one reading of all processes at the start
 * and the end, and a message for each exit.
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
};

/* Before counting begins; the config's pointers stay valid until the end. */
struct cpu_account *cpu_account_begin(const struct cpu_account_config *config);

/* Now and then: takes the kernel's messages of ended processes. */
void cpu_account_turn(struct cpu_account *a);

/* When counting has ended. */
void cpu_account_end(struct cpu_account *a);

/* Then, when the rings are empty. */
int cpu_account_write(struct cpu_account *a, const char *dir, struct error *err);

void cpu_account_free(struct cpu_account *a); /* NULL is fine */
