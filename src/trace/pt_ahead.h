/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes on all processors: the parts of a queue, which are joined in order. */
#pragma once

#include "trace/pt_trace_state.h"

/* NULL: there is one processor only, or too little to decode. */
struct pt_ahead *pt_ahead_new(struct pt_trace *t);
void pt_ahead_free(struct pt_ahead *a); /* NULL is fine */
void pt_ahead_forget(struct queue *q);  /* parts that were begun; after pt_ahead_free() */

/* Puts the next events of the queue into q->events and q->marks, whose former events were all given
 * out. 0: the end of the queue. */
size_t pt_ahead_fill(struct pt_ahead *a, struct queue *q);
