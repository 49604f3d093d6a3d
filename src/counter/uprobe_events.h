/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes that later threads and processes get, too: places in the kernel's own list
 * (uprobe_events in tracefs), opened as tracepoints. The list is the machine's, so each recording
 * has a group of its own there, named after its process. What a killed assay has left is removed by
 * the next one.
 */
#pragma once

#include "counter/counter.h"

struct error;
struct uprobe_events;

/*
 * Puts the probes of `counters` into the list, and makes tracepoints of them. *out is NULL if there
 * are none. On failure, the counters stay unchanged, and `why` names the reason: tracefs is
 * missing, or nobody may write there.
 */
int uprobe_events_begin(const struct counter_sources *sources, struct counters *counters,
			struct uprobe_events **out, struct error *why);

/* Behind the closing of the counters: the kernel keeps a place that is in use. NULL is fine. */
void uprobe_events_end(struct uprobe_events *e);
