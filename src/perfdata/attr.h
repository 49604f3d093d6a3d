/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf_event_attr as it stands in a recording: of any length, of either byte order. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * Reads `size` bytes of an attr; what ours has beyond them is zero, what it has beyond
 * ours is left out. False for fewer than the oldest attr has.
 */
bool attr_read(const void *bytes, size_t size, bool is_foreign, struct perf_event_attr *out);

/*
 * The name that perf gives an event whose name was not recorded, with its modifiers. `pmu` is
 * the name of its PMU where the recording tells it, or NULL.
 */
void attr_name(const struct perf_event_attr *attr, const char *pmu, struct buf *out);

/* "ns" for the clocks, else "events". */
const char *attr_unit(const struct perf_event_attr *attr);
