/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples that were never taken: while the kernel throttles a counter, or an
 * overflow comes too late for the next one, nothing is delivered that could be
 * counted. What a counter says it counted, less what its samples stand for, is that.
 */
#pragma once

#include <stdint.h>

/*
 * `counted`: events of a counter on all CPUs; `samples` and `period`: how many samples it
 * gave, and what they stand for. `period_wanted`: of one sample, where none came.
 * Each of `n_cpus` has begun a period that it did not end.
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
