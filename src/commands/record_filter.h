/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record --filter: onto the events that take one. */
#pragma once

#include "cli/options.h"
#include "counter/counter.h"

struct error;

/*
 * Address filters (counter/address_filter.h) go to hardware traces, all together; what is none is
 * the kernel's language and goes to all tracepoints. -EINVAL where there is no such event, or the
 * words are wrong; else as trace_filter_resolve().
 */
int record_set_filters(const struct counter_sources *sources, const struct option_list *filters,
		       struct counters *counters, struct error *err);
