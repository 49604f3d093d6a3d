/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows the side band along the trace: its process and thread, and the mappings. */
#pragma once

#include "trace/pt_trace_state.h"

/* Side band up to `now_ns`. Returns the time at which to come again. */
uint64_t queue_follow(struct queue *q, uint64_t now_ns);

/* The next events are in a guest of the process, or in this machine again. */
void queue_enter_machine(struct queue *q, bool is_guest);

/* Whether the last record that was followed told of a switch before it was done. */
bool queue_ends_ahead(const struct queue *q);

/* Whether a thread calls __switch_to(). */
bool queue_is_switch(const struct queue *q, const struct pt_event *e);

/*
 * For the next events: the branch by which a thread calls __switch_to belongs to this thread. The
 * events behind it belong to the next thread.
 */
void queue_find_switches(struct queue *q, const struct pt_event *events, size_t n);
