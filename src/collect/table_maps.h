/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables in BPF maps: the heap of collect/unwind_heap.h with maps for
 * chunks, and the places of the tables by file number. Both are mapped while they are
 * written, so that giving the kernel a table is copying it.
 *
 * A thread copies: whoever puts a map into a map of maps waits until no program can be at
 * work in what was there (synchronize_rcu), which takes 10 to 20 ms a chunk under load, and
 * 150 ms for a compiler. Of the functions here none waits for it but table_maps_stop(). They are
 * for one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "collect/unwind_heap.h"

struct error;
struct table_maps;

/* `chunks_fd`: the array of maps, which has room for `max_chunks`; `places_fd`: table_places. */
int table_maps_open(int chunks_fd, uint32_t max_chunks, int places_fd, struct table_maps **out,
		    struct error *err);
void table_maps_close(struct table_maps *m); /* NULL is fine */

/*
 * Soon stacks through the file are walked by this table; NULL: by frame pointer, and so where
 * there is no room. The table must stay until table_maps_next() gives it back, or
 * table_maps_stop().
 */
void table_maps_set(struct table_maps *m, uint32_t file, const struct unwind_table *table);

/*
 * A table that has been copied, or found no room. NULL: none, for now. While others are being
 * copied none is told, as files may share a table.
 */
const struct unwind_table *table_maps_next(struct table_maps *m);

/* Whether a table found no room since the last table_maps_clear(). */
bool table_maps_lack_room(struct table_maps *m);

/*
 * Makes room by forgetting all tables: files are wanted again. Programs may be at work in the old
 * tables until they end. False: some are being copied, so nothing was forgotten.
 */
bool table_maps_clear(struct table_maps *m);

/* No table is read any longer when it returns, nor later: table_maps_set() does nothing. */
void table_maps_stop(struct table_maps *m);
