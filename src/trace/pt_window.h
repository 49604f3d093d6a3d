/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Spans of time in a trace, without decoding the rest.
 *
 * Each PSB has its time. So a look at one PSB in a megabyte finds the megabytes of a span, and a
 * look at all their PSBs finds its bytes. That reads a hundredth of a trace. An index in a file
 * would save these few milliseconds. But it could be stale, torn or another trace's.
 *
 *   PSBs:      0 · · 5 · · 9 · · 8 · · 14          one in a megabyte
 *   span 10:             └ · · ┴ · · ┘              time went back: both may have it
 *                              8 9 11 13 14         all PSBs
 *                              └──────┘             with a PSB period more on both sides
 *
 * Time that goes back, and is ahead again within the megabyte, is not seen.
 */
#pragma once

#include <stddef.h>

#include "base/clock.h"

struct queue;

/*
 * Leaves of the queue's pieces the PSB periods that may have events in the spans, before its
 * decoding begins. Traces without time, and snapshots, which overlap, stay whole.
 */
void pt_window_cut(struct queue *q, const struct time_span *spans, size_t n);
