/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The writer's side of the in-kernel collector's heap of unwind tables (collect/bpf/shared.h has
 * its form). Tables are copied one behind the other into chunks of words, which are requested when
 * needed.
 *
 * A table's rules and rows stay unchanged. Its page index becomes (first row, rows) pairs: rows
 * that would cross a chunk's end go into the next chunk.
 *
 * The files of a user may have half of the room, and those of all users three quarters; root's and
 * those of assay's own user are not limited (block_owner()).
 */
#pragma once

#include <stdint.h>

#include "base/intmap.h"
#include "base/mem.h"
#include "unwind/table.h"

/*
 * CHUNK_WORDS zeroed words, 8-byte aligned, for chunk `number`; NULL: no more room. After
 * unwind_heap_clear(), the numbers start again, and the newest words of a number count.
 */
typedef uint32_t *unwind_heap_chunk_fn(void *ctx, uint32_t number);

/* These words are not written any more. Readers still find them under their number. */
typedef void unwind_heap_release_fn(void *ctx, uint32_t *words);

/* { .chunk = …, .release = …, .ctx = … } is a valid empty heap. */
struct unwind_heap {
	unwind_heap_chunk_fn *chunk;
	unwind_heap_release_fn *release;
	void *ctx;
	VEC(uint32_t *) chunks; /* the first one that is not full, and those behind it */
	uint32_t first;         /* its number */
	uint32_t next;          /* word */
	uint64_t max_words;     /* the room; 0: users have no limits */
	uint64_t words_of_users;
	struct intmap words_by_owner;
};

/*
 * Copies a table. Returns its place, TABLE_FIRST or above, or 0 without room (for this owner); then
 * nothing is used up. The words are written before the return; give the place to other readers
 * after that.
 */
uint32_t unwind_heap_put(struct unwind_heap *h, const struct unwind_table *t);

/* Forgets all tables; chunks are requested from number 0 on. */
void unwind_heap_clear(struct unwind_heap *h);
void unwind_heap_fini(struct unwind_heap *h);
