/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which collector, and which stacks, fit what is to be counted. */
#pragma once

#include <stdbool.h>

#include "counter/counter.h"

/* The in-kernel sampler takes counters; tracepoints need programs of another kind. */
bool counters_fit_sampler(const struct counters *counters);

/* Copies of stacks with each sample: not where each event may be one, at any rate. */
bool counters_fit_copies(const struct counters *counters);
