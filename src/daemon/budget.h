/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's CPU budget, and the sampling rate that keeps it.
 *
 * The CPU use is a mean over a window. Above four fifths of the limit, the rate goes down in
 * proportion, by a third at least, so it drops before the limit is reached. When half of the budget
 * has been free for a while, the rate goes up by a half at most. These are pure calculations: the
 * caller reads the clocks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

#define BUDGET_WINDOW_NS (10 * NS_PER_SECOND)
#define BUDGET_CALM_NS   (60 * NS_PER_SECOND)
#define BUDGET_SLOTS     16

struct budget {
	double max_cpu_percent; /* of one CPU; 0: no limit */
	struct {
		uint64_t now_ns, cpu_ns;
		/* A second or more apart; those of the last BUDGET_WINDOW_NS and one older. */
	} seen[BUDGET_SLOTS];
	size_t n;
	/*
	 * The last change of the rate, or the last time that the CPU use was too high to raise it.
	 */
	uint64_t changed_ns;
	double cpu_percent; /* mean over the window */
};

/*
 * Begins to measure. Call it when everything is open: the rate does not change the cost of opening.
 */
void budget_begin(struct budget *b, double max_cpu_percent, uint64_t now_ns, uint64_t cpu_ns);

/*
 * Returns the new rate, between 1 and `wanted`: `rate` unless it is too high or needlessly low.
 * Call it once a second or less often.
 */
uint64_t budget_rate(struct budget *b, uint64_t now_ns, uint64_t cpu_ns, uint64_t rate,
		     uint64_t wanted);
