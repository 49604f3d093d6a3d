/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The collector and the stacks that fit the counters. */
#pragma once

#include <stdbool.h>

#include "counter/counter.h"

struct error;

/* The in-kernel sampler works with counters; tracepoints would need another kind of program. */
bool counters_fit_sampler(const struct counters *counters);

/*
 * Sets `in_kernel` of those that fit; the rings bring the samples of the others. A group stays
 * together.
 */
void counters_choose_in_kernel(struct counters *counters);

/* The number of those that fit, and the first that does not; NULL: none. */
size_t counters_n_for_sampler(const struct counters *counters);
const struct counter *counters_find_for_rings(const struct counters *counters);

/*
 * Copies of stacks with each sample of the rings: not if each event can be a sample, at any rate.
 */
bool counters_fit_copies(const struct counters *counters);

/*
 * Whether waits can be measured: samples may come through rings, and waits need BPF.
 * `is_refused`: the kernel has refused the program before.
 */
int collector_check_waits(bool is_refused, struct error *err);
