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

/*
 * CHUNK_WORDS zeroed words, 8-byte aligned, for chunk `number`; NULL: no more room. After
 * unwind_heap_clear() numbers are asked for again, and the words are those of now.
 */
typedef uint32_t *unwind_heap_chunk_fn(void *ctx, uint32_t number);

/* These words are not written any more. They stay what readers find under their number. */
typedef void unwind_heap_release_fn(void *ctx, uint32_t *words);

/* { .chunk = …, .release = …, .ctx = … } is a valid empty heap. */
struct unwind_heap {
	unwind_heap_chunk_fn *chunk;
	unwind_heap_release_fn *release;
	void *ctx;
	VEC(uint32_t *) chunks; /* from the first one that is not full on */
	uint32_t first;         /* its number */
	uint32_t next;          /* word */
};

/*
 * Copies a table. Gives its place, TABLE_FIRST or above, or 0 where there is no
 * room, and then nothing is used up. The words are written when it returns; who reads them
 * beside the writer must get the place after that.
 */
uint32_t unwind_heap_put(struct unwind_heap *h, const struct unwind_table *t);

/* Forgets all tables; chunks are asked for from number 0 on. */
void unwind_heap_clear(struct unwind_heap *h);
void unwind_heap_fini(struct unwind_heap *h);
