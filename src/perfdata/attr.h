/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf_event_attr as a recording holds it: of any length, of either byte order. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * Reads `size` bytes of an attr. Our fields beyond them are zero; their fields beyond ours are left
 * out. False for less than the oldest attr.
 */
bool attr_read(const void *bytes, size_t size, bool is_foreign, struct perf_event_attr *out);

/*
 * perf's name of an event whose name was not recorded, with its modifiers. `pmu` is the name of its
 * PMU if the recording has it, or NULL.
 */
void attr_name(const struct perf_event_attr *attr, const char *pmu, struct buf *out);

/* Whether separate records have the user parts of chains: defer_callchain, bit 38 (Linux 6.19). */
bool attr_defers_chains(const struct perf_event_attr *attr);

/* "ns" for the clocks, else "events". */
const char *attr_unit(const struct perf_event_attr *attr);
