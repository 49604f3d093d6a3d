/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's own CPU times of a recording: the file DIR/cpu-times, beside samples/
 * (docs/formats.md). The recorder writes it at its end (record/cpu_account.h), and the process
 * report shows it beside the samples (processes/account.h).
 *
 * Times are nanoseconds. Sessions of other sources, of a daemon and of older versions have no such
 * file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct error;
struct session;

#define CPU_TIME_UNKNOWN        UINT64_MAX
#define CPU_TIMES_MAX_PROCESSES (1U << 18) /* of a file */

struct process_time {
	int32_t pid;
	uint64_t ns; /* CPU_TIME_UNKNOWN: the process ran, and its time is not known */
};

struct cpu_times {
	bool is_machine; /* all CPUs of the recording; else the recorded processes alone */
	uint32_t n_cpus;
	uint64_t wall_ns;
	/* The sum of the account: of a machine, wall time of all CPUs; else the processes' time. */
	uint64_t capacity_ns;
	/* CPU_TIME_UNKNOWN: not known. The first three are known of a machine alone. */
	uint64_t idle_ns, steal_ns, interrupts_ns, throttled_ns;
	uint64_t n_more, more_ns; /* processes that the file has no room for */
	uint64_t children_ns;     /* ended children of the command that have no time of their own */
	uint64_t rest_ns;         /* of the capacity of processes: not known of which process */
	VEC(struct process_time) processes;
	char *why; /* the reason why (some) processes have no time; NULL: all have one */
};

void cpu_times_init(struct cpu_times *t); /* nothing is known */
void cpu_times_fini(struct cpu_times *t);

char *cpu_times_path(const char *dir); /* the caller frees it */

/* Writes the file of a session. */
int cpu_times_write(const char *dir, const struct cpu_times *t, struct error *err);

/* False: the text is no such file, or damaged. The text is cut into lines. */
bool cpu_times_parse(struct cpu_times *t, char *text);

/* Reads the file of a session. False: there is none; *why is the reason, a constant. */
bool cpu_times_of_session(struct cpu_times *t, const struct session *s, const char **why);
