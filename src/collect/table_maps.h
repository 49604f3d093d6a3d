/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables in BPF maps: the heap of collect/unwind_heap.h with maps for chunks, and the
 * tables' places by file number. Both are mapped for writing, so that a table only needs to be
 * copied.
 *
 * A thread copies. Putting a map into a map of maps waits until no program can use the former one
 * (synchronize_rcu). This takes 10 to 20 ms a chunk under load, and 150 ms for a compiler's tables.
 * Of the functions here, only table_maps_stop() waits for it. All are for one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "collect/unwind_heap.h"

struct error;
struct table_maps;

/* `chunks_fd`: the array of maps, with room for `max_chunks`; `places_fd`: table_places. */
int table_maps_open(int chunks_fd, uint32_t max_chunks, int places_fd, struct table_maps **out,
		    struct error *err);
void table_maps_close(struct table_maps *m); /* NULL is fine */

/*
 * From soon on, stacks through the file are walked by this table; by frame pointer if it is NULL or
 * has no room. The table must stay until table_maps_next() returns it, or table_maps_stop().
 */
void table_maps_set(struct table_maps *m, uint32_t file, const struct unwind_table *table);

/*
 * A table that has been copied, or had no room. NULL: none at present. While other tables are being
 * copied, it is NULL, because files may share a table.
 */
const struct unwind_table *table_maps_next(struct table_maps *m);

/* Whether all tables that were set are in the maps, or had no room. */
bool table_maps_is_idle(struct table_maps *m);

/* Whether a table had no room since the last table_maps_clear(). */
bool table_maps_lack_room(struct table_maps *m);

/*
 * Forgets all tables to make room: files are wanted again. Running programs may use the old tables
 * until they end. False: some are being copied, so nothing was forgotten.
 */
bool table_maps_clear(struct table_maps *m);

/* After it returns, no table is read, and table_maps_set() does nothing. */
void table_maps_stop(struct table_maps *m);
