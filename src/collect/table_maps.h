/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables in BPF maps: the heap of collect/unwind_heap.h with maps for
 * chunks, and the places of the tables by file number. Both are mapped, so that
 * giving the kernel a table is copying it.
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
 * From now on stacks through the file are walked by this table; NULL: by frame
 * pointer. False: no room; by frame pointer, and counted.
 */
bool table_maps_set(struct table_maps *m, uint32_t file, const struct unwind_table *table);

/*
 * Makes room by forgetting all tables: files are wanted again. Programs may be at
 * work in the old tables until they end, so wait a few milliseconds before the next
 * table_maps_set().
 */
void table_maps_clear(struct table_maps *m);
