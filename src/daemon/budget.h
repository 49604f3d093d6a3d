/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's budget: what it may use of a CPU, and what rate keeps it below.
 *
 * Of late, what is used is a mean over a window; above four fifths of the limit the rate goes
 * down, in proportion and by a third at the least, so that it is down before the limit is passed.
 * It goes up again by a half at most, once half the budget has been free for a while. Pure
 * arithmetic: who asks has the clocks.
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
	} seen[BUDGET_SLOTS]; /* a second or more apart, the last BUDGET_WINDOW_NS and one before */
	size_t n;
	uint64_t changed_ns; /* the rate, or when it was last too much to raise it */
	double cpu_percent;  /* over the window */
};

/* Begins to watch. What opening costs is not the rate's fault: call it when that is over. */
void budget_begin(struct budget *b, double max_cpu_percent, uint64_t now_ns, uint64_t cpu_ns);

/*
 * The rate from now on: `rate` unless it is too much or has become needlessly low. `wanted` is
 * what was asked for; the least is 1. Call it once a second or more seldom.
 */
uint64_t budget_rate(struct budget *b, uint64_t now_ns, uint64_t cpu_ns, uint64_t rate,
		     uint64_t wanted);
