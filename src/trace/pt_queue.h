/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes a queue, piece by piece, in the thread that calls. */
#pragma once

#include "trace/pt_trace_state.h"

void queue_open_flow(struct queue *q);

/* The thread of the events behind the PSB at hand is known before they come. */
void queue_follow_psb(struct queue *q);
/*
 * The TSC of the first PSB of the host from there on that has one; 0: none is near. One thread at a
 * time may ask a queue.
 */
uint64_t queue_next_tsc(struct queue *q, size_t piece, uint64_t from);

void queue_decode_piece(struct queue *q);
void queue_end(struct queue *q);
void queue_fini(struct queue *q);

/* Memory of a piece up to q->at, when it is worth it. */
void queue_give_back(struct queue *q, const uint8_t *bytes, uint64_t size);

void queue_add_stats(struct pt_flow_stats *to, const struct pt_flow_stats *s);
