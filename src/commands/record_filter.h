/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record --filter: onto the events that take one. */
#pragma once

#include "cli/options.h"
#include "counter/counter.h"

struct error;

/*
 * Sets filters. All address filters (counter/address_filter.h) together go to the hardware traces.
 * Other filters are in the kernel's language and go to all tracepoints. -EINVAL: the words are
 * wrong, or no event takes the filter. Other errors as for trace_filter_resolve().
 */
int record_set_filters(const struct counter_sources *sources, const struct option_list *filters,
		       struct counters *counters, struct error *err);
