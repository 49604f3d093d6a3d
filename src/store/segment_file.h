/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A segment with its bytes and the places of its blocks: for its parser and its row readers. */
#pragma once

#include "base/arena.h"
#include "base/files/file.h"
#include "store/block.h"
#include "store/free_items.h"
#include "store/group.h"
#include "store/segment.h"
#include "store/times.h"

struct row_reader;

/* A group block. Each of its seconds is a block here. */
struct group_place {
	uint64_t file_off; /* of the counts */
	uint32_t size;
	uint64_t hash;
	size_t rows_at; /* in them */
	struct group_frame frame;
	uint64_t level_ns; /* of an overview; else 0 */
	const struct group_second *seconds;
	uint32_t n_seconds;
};

/* The rows and exact times of a block that is cut to a window. */
struct block_cut {
	struct count_row *rows;
	struct timed_sample *times;
	size_t n_times;
};

/* Where the rows of a block are, and the tables that they refer to. */
struct block_place {
	const struct group_place *group; /* NULL: not in a group */
	uint32_t first_row;              /* in the group's rows */
	uint64_t file_off;
	uint32_t size;
	uint64_t hash, samples;
	struct counts_frame frame;
	const struct block_cut *cut;    /* NULL: the block is whole */
	uint64_t times_off, times_hash; /* of the section TIMES */
	uint32_t times_size;            /* 0: no exact times */
	uint64_t first_us;              /* the first of them */
};

/*
 * A block that the filter does not want. If a later block is wanted, it may refer to this block's
 * names and nodes.
 */
struct unread {
	struct block_header header;
	const uint8_t *bytes;
};

/* A section of nodes that is read later (store/needed_nodes.h). */
struct later_nodes {
	uint32_t first, n;
	const uint8_t *bytes;
	uint32_t size;
	uint64_t hash;
};

/* Code of nodes that becomes other code when they are read (store/trampolines.h). */
struct replaced_code {
	struct code_addr from, to;
};

struct segment_file {
	struct segment seg; /* first member: a pointer to the segment is a pointer to this struct */
	char *name;
	struct arena *arena;
	struct free_held held;
	/* Ids up to the last block that was parsed. A table has them once such a block is read. */
	uint32_t n_ids[N_TABLES];
	uint32_t cap[N_TABLES], blocks_cap;
	struct block_place *places; /* one a block */
	const uint8_t *bytes;
	VEC(struct unread) unread;
	bool has_later; /* its nodes are read later, also if no section of them is whole */
	VEC(struct later_nodes) later;
	struct node_set *needed;            /* of later nodes: those that are there; NULL: none */
	VEC(struct replaced_code) replaced; /* of later nodes, by `from` */
	struct file_mapping map;            /* the mapping of the bytes, if the segment owns one */
	struct row_reader *reader;          /* for segment_read_rows(); made at the first use */
	uint64_t n_holes;                   /* ids whose definition was damaged */
	uint64_t shift_ns; /* what segment_shift() added to all times; may wrap around */
};

/* For qsort(3) and bsearch(3). */
int replaced_code_compare(const void *a, const void *b);

static inline struct segment_file *segment_file_of(const struct segment *seg)
{
	return (struct segment_file *)seg;
}
