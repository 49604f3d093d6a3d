/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counts of many seconds in one section: what a group block has instead of a block's counts.
 *
 * A second's hundred samples are too few to pack well, and its header and the ends of its columns
 * are as large as what they tell. In a group each column goes over all seconds. To a reader
 * it is still a block a second. docs/formats.md says how, column by column.
 */
#pragma once

#include "store/block.h"

/* A group is written when it has so many of either: a reader decodes all of it for one second. */
#define GROUP_ROWS    32768u
#define GROUP_SECONDS 300u

struct group_second {
	uint64_t first_ns, last_ns, samples;
	uint32_t n_rows, n_losses;
};

/* { 0 } is a valid empty group. */
struct group {
	VEC(struct group_second) seconds;
	struct count_rows rows; /* of the first second, of the next … */
	VEC(struct loss_row) losses;
	uint64_t level_ns;   /* how long its blocks are, of an overview; 0: as the session says */
	uint32_t next_class; /* one more than the highest in the groups before, of this level */
	/*
	 * By counter: the kernel varies its period to keep a rate, and what a sample then stands
	 * for is an estimate. Of a second's rows each is told to EVENTS_UNITS of a period, and all
	 * together exactly. NULL: of none.
	 */
	const bool *has_rate;
};

#define EVENTS_UNITS 32

void group_add(struct group *g, const struct group_second *second, const struct count_row *rows,
	       const struct loss_row *losses);
void group_clear(struct group *g); /* keeps the memory, and what the next one goes on from */
void group_fini(struct group *g);
uint64_t group_memory(const struct group *g);

/* The place of a group's rows in its segment's tables. */
struct group_frame {
	struct counts_frame counts; /* n_rows: of all seconds */
	uint32_t next_class;        /* as struct group's, of those before */
	uint64_t first_ns;          /* as in its header */
	bool is_exact;              /* events are told one by one: they are of version 2 */
	bool by_class;              /* rows are, as an overview's */
};

/*
 * `classes` and `disk_ids` as for counts_encode(). The order of a second's rows changes, and
 * g->next_class goes on.
 */
void group_encode(struct block_encoder *e, struct buf *out, const struct group_frame *f,
		  struct group *g, const struct profile_class *classes, const uint32_t *disk_ids);

/*
 * Fills g->seconds and g->losses, which are empty, and what it goes on from; *rows_at is where the
 * rows begin. -EBADMSG when they don't decode, or don't have the header's sums.
 */
int group_decode_seconds(struct unpacker *u, const uint8_t *bytes, size_t size,
			 const struct block_header *h, struct group *g, size_t *rows_at);

/* Appends f->counts.n_rows rows, from `bytes` on. -EBADMSG when they don't decode. */
int group_decode_rows(struct unpacker *u, const uint8_t *bytes, size_t size,
		      const struct group_frame *f, const struct group_second *seconds, uint32_t n,
		      struct count_rows *rows);
