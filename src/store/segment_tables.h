/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of the segment that is being written. Each segment has separate ids, so the tables map
 * the ids of the caller to them. They begin anew with each segment.
 */
#pragma once

#include "base/mem.h"
#include "base/strings.h"
#include "machine/image.h"
#include "store/block.h"
#include "store/listed_tree.h"
#include "store/tables.h"

#define FRAMES_MAX 65536 /* of one sample; frames further out are left out */

/* Maps the caller's ids to the segment's: id + 1, or 0 for an id that the segment does not have. */
struct id_map {
	uint32_t *data;
	size_t n, cap;
};

struct reserve;

/* The number of entries of each table that are on disk. */
typedef uint32_t segment_table_sizes[N_TABLES];

/* The ids of one segment. Emptied when the next segment begins. */
struct segment_tables {
	const struct image_table *from_images; /* the caller's, and … */
	const struct strings *from_strings;    /* … theirs */
	struct strings strings;
	struct id_map string_map, image_map;
	VEC(uint32_t) images;       /* the caller's ids */
	VEC(uint32_t) unidentified; /* the segment's ids of images written without a build id */
	struct class_table classes; /* the caller's ids */
	VEC(struct profile_class) written; /* `classes` with the segment's ids */
	struct tree tree;
	struct listed_tree
		listed; /* has the nodes in place of `tree`, if the segment lists its codes */
	VEC(uint32_t) disk_ids; /* of tree nodes */
	VEC(struct symbol_entry) symbols;
	segment_table_sizes done;
};

void segment_tables_init(struct segment_tables *t, const struct image_table *images,
			 const struct strings *strings);
void segment_tables_fini(struct segment_tables *t);
uint64_t segment_tables_memory(const struct segment_tables *t);

static inline uint32_t segment_tables_nodes(const struct segment_tables *t)
{
	return t->tree.n + (uint32_t)t->listed.nodes.n;
}

/* A reserve for encoding a block of n_rows rows (base/reserve.h). */
int segment_tables_reserve(const struct segment_tables *t, size_t n_rows, struct reserve *room);

/* No room for the ids of one more sample or name, or more than table_bytes of memory in use. */
bool segment_tables_full(const struct segment_tables *t, uint64_t table_bytes);

/* The sizes at this moment; `done` has those that are on disk. */
void segment_tables_count(const struct segment_tables *t, segment_table_sizes now);

/* Marks the entries of a written block as known to readers. */
void segment_tables_settle(struct segment_tables *t);

/* Packs the entries that are not on disk. Empty: there are none. */
void segment_tables_encode(struct segment_tables *t, struct block_encoder *e, enum block_kind kind,
			   struct buf *out);

/* The segment's ids. An entry that the segment does not have yet is added. */
uint32_t segment_tables_class(struct segment_tables *t, const struct profile_class *class);
uint32_t segment_tables_add_image(struct segment_tables *t, image_id id);

static inline uint32_t segment_tables_image(struct segment_tables *t, image_id id)
{
	if (id.n < t->image_map.n && t->image_map.data[id.n])
		return t->image_map.data[id.n] - 1;
	return segment_tables_add_image(t, id);
}
