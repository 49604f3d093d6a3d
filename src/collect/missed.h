/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples that were never taken. While the kernel throttles a counter, or if an overflow comes too
 * late for the next one, there is no record to count. The missing samples are the counter's own
 * value minus the events of its samples.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "counter/counter.h"

/*
 * `counted`: events of a counter on all CPUs; `samples` and `period`: the number of its samples,
 * and their events. `period_wanted`: of one sample, if none came. Each of `n_cpus` has begun a
 * period that did not end.
 */
static inline uint64_t missed_samples(uint64_t counted, uint64_t samples, uint64_t period,
				      uint64_t period_wanted, uint64_t n_cpus)
{
	uint64_t each = samples ? period / samples : period_wanted, n;

	if (!each || counted <= period)
		return 0;
	n = (counted - period) / each;
	return n > n_cpus ? n - n_cpus : 0;
}

/*
 * A clock counts all the time in which its threads, or its CPU, ran. Its samples represent that
 * time, unless modes of the processor are left out: in them, the clock runs without samples.
 */
static inline bool clock_shows_missed(const struct perf_event_attr *attr)
{
	return !attr->exclude_user && !attr->exclude_kernel && !attr->exclude_idle;
}

struct clock_gap {
	uint64_t late;       /* samples never taken: one interrupt came for several periods */
	uint64_t unfinished; /* periods that may have ended with their thread */
};

/*
 * `counted_ns` of a clock, minus its samples (delivered or lost). Each of `n_begun` pairs of a
 * thread and a CPU can have one period that did not end.
 */
static inline struct clock_gap clock_gap(uint64_t counted_ns, uint64_t period_ns, uint64_t taken,
					 uint64_t n_begun)
{
	uint64_t due = period_ns ? counted_ns / period_ns : 0;
	uint64_t missing = due - MIN(due, taken), unfinished = MIN(missing, n_begun);

	return (struct clock_gap){ missing - unfinished, unfinished };
}
