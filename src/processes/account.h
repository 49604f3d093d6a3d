/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The account of all CPU time of a recording: the rows add up to the time of the CPUs, or of the
 * recorded processes, to the nanosecond. Samples give the first rows, and the kernel's own figures
 * (store/cpu_times.h) the next ones. The last row is the rest.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/processes.h"
#include "store/cpu_times.h"

/* X(id, key, title) */
#define ACCOUNT_ROWS(X)                                                         \
	X(USER, "user", "user")                                                 \
	X(SYSTEM, "system", "system")                                           \
	X(IRQ, "irq", "irq")                                                    \
	X(SOFTIRQ, "softirq", "softirq")                                        \
	X(IDLE, "idle", "idle")                                                 \
	X(IDLE_UNSEEN, "idle_not_sampled", "idle, not in samples")              \
	X(INTERRUPTS, "interrupts_not_sampled", "interrupts, not in samples")   \
	X(STEAL, "steal", "steal: taken by the hypervisor")                     \
	X(THROTTLED, "throttled", "throttled, or interrupts too late")          \
	X(LOST, "lost", "lost samples")                                         \
	X(SHORT_LIVED, "short_lived", "threads that ended before their sample") \
	X(UNSEEN, "not_seen", "not seen: interrupts off, or between samples")

enum account_row {
#define X(id, key, title) ACCOUNT_##id,
	ACCOUNT_ROWS(X)
#undef X
		N_ACCOUNT_ROWS
};

struct account_row_info {
	const char *key, *title;
};
extern const struct account_row_info account_rows[N_ACCOUNT_ROWS];

struct account {
	bool is_known;
	const char *why; /* not known: the reason */
	/* INT64_MIN: not measured; its time is in UNSEEN. Only UNSEEN may be negative. */
	int64_t ns[N_ACCOUNT_ROWS];
	uint64_t capacity_ns; /* the sum of the rows */
	struct cpu_times times;
	uint64_t *kernel_ns;                /* by row of the processes; CPU_TIME_UNKNOWN */
	uint64_t total_ns;                  /* of all processes, the idle task included */
	uint64_t n_unsampled, unsampled_ns; /* processes without a sample */
};

/* The samples are those of the list; `is_filtered`: not all of them. */
void account_make(struct account *out, const struct processes *list, bool is_filtered);
/*
 * Parts of the kernel's time that no process has, in words: of the command's ended children, and
 * the rest. "": none. The caller frees them.
 */
char *account_children_text(const struct account *a);
char *account_rest_text(const struct account *a);

void account_fini(struct account *a);

/* Percent of the kernel's time that the samples have more, or less. False: not known, or none. */
bool account_deviation(const struct processes *list, const struct weight *w, uint64_t kernel_ns,
		       double *percent);
