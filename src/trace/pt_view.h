/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Views: the code of a process as it was at one time, and the graph that it is decoded to. */
#pragma once

#include "trace/pt_trace_state.h"

void queue_leave_view(struct queue *q);
/* Puts the queue into the code of a version. */
void queue_enter_view(struct queue *q, const struct version *of);
void view_pool_fini(struct view_pool *pool);

/* Of a queue by number: the mappings where its last span was given out from; NULL: of losses. */
const struct address_space *queue_given_maps(struct pt_trace *t, uint32_t number);

/*
 * The code of a version, whose mappings are `maps`: the number of bytes. With `is_way`, also bytes
 * that only lead the same way as those in memory (pt_modules.h).
 */
size_t pt_view_read(struct pt_trace *t, const struct address_space *maps, const struct version *of,
		    uint64_t addr, bool is_way, uint8_t *out, size_t size);
