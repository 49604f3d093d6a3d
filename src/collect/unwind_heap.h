/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The writer's side of the heap that the in-kernel collector reads unwind tables
 * from (collect/bpf/shared.h has its form): tables are copied behind one another
 * into chunks of words, which are asked for as they are needed.
 *
 * A table's rules and rows stay as they are; its page index becomes (first row,
 * rows) pairs, as rows that would straddle two chunks go into the next one.
 */
#pragma once

#include <stdint.h>

#include "base/mem.h"
#include "unwind/table.h"

/* CHUNK_WORDS zeroed words, 8-byte aligned, which stay the owner's; NULL: no more room. */
typedef uint32_t *unwind_heap_chunk_fn(void *ctx, uint32_t number);

/* { .chunk = …, .ctx = … } is a valid empty heap. */
struct unwind_heap {
	unwind_heap_chunk_fn *chunk;
	void *ctx;
	VEC(uint32_t *) chunks;
	uint32_t next; /* word */
};

/*
 * Copies a table. Gives its place, TABLE_FIRST or above, or 0 where there is no
 * room, and then nothing is used up. The words are written when it returns; who reads them
 * beside the writer must get the place after that.
 */
uint32_t unwind_heap_put(struct unwind_heap *h, const struct unwind_table *t);

/* Forgets all tables; the chunks are used again. */
void unwind_heap_clear(struct unwind_heap *h);
void unwind_heap_fini(struct unwind_heap *h); /* the chunks are the owner's */
