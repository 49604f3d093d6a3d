/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The existing processes below a process. A counter of a process follows children that it forks
 * later, but no earlier ones. Not thread-safe; /proc may change meanwhile, so the result is for one
 * moment.
 */
#pragma once

#include <stdint.h>

#include "base/mem.h"
#include "machine/proc.h"

struct process_time {
	int32_t pid;
	uint64_t start;  /* of the process, in ticks since boot: differs if a pid is used again */
	uint64_t cpu_ns; /* user and system time so far, of all threads */
};

struct process_times {
	VEC(struct process_time) list;
};

/* Appends to `pids` all missing processes below them. 0, or a negative errno of `proc`. */
int descendants_add(const char *proc, struct pid_list *pids);

/* The present times of processes that have not gone. The caller's to vec_fini(). */
void process_times_read(const char *proc, const struct pid_list *pids, struct process_times *out);

/* CPU time of these processes since then. Processes that have ended count as zero. */
uint64_t process_times_since(const char *proc, const struct process_times *then);
