/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counts of many seconds in one section. A group block has this section instead of a block's
 * counts.
 *
 * The hundred samples of a second pack badly, and the header and the column ends of a block for
 * them are as large as the content. A column of a group goes over all its seconds. A reader still
 * sees one block a second. docs/formats.md describes each column.
 */
#pragma once

#include "store/block.h"
#include "store/times.h"

/*
 * A group is written when it reaches either limit. A reader decodes the whole group for one second.
 */
#define GROUP_ROWS    32768u
#define GROUP_SECONDS 300u
#define GROUP_TIMES   (1u << 18) /* exact times: likewise, but a second more */

struct group_second {
	uint64_t first_ns, last_ns, samples;
	uint32_t n_rows, n_losses;
	uint32_t n_times; /* samples whose exact time is known; only for writing */
};

/* The exact times of a second, in the group's section TIMES. */
struct second_times {
	uint32_t offset, size; /* 0: the second has none */
	uint64_t early_us;     /* the first time, in microseconds before the second's first_ns */
};

/* { 0 } is a valid empty group. */
struct group {
	VEC(struct group_second) seconds;
	struct count_rows rows; /* of the first second, then of the next … */
	VEC(struct loss_row) losses;
	/* Of the first second, then of the next …; a row counts from the second's first one. */
	struct sample_times times;
	uint64_t level_ns;   /* length of the blocks of an overview; 0: the session's blocks */
	uint32_t next_class; /* one more than the highest class of earlier groups of this level */
	/*
	 * By counter: whether the counter samples at a frequency. The kernel varies the period of
	 * such a counter, so the events of a sample are an estimate. The events of a row are then
	 * rounded to EVENTS_UNITS-ths of a period; the sum of all rows stays exact. NULL: no
	 * counter has a frequency.
	 */
	const bool *has_rate;
};

#define EVENTS_UNITS 32

void group_add(struct group *g, const struct group_second *second, const struct count_row *rows,
	       const struct loss_row *losses);
void group_add_time(struct group *g, const struct timed_sample *time); /* of the last second */
void group_clear(struct group *g); /* keeps the memory, and next_class for the next group */
void group_fini(struct group *g);
uint64_t group_memory(const struct group *g);

/* Where the rows of a group are in its segment's tables. */
struct group_frame {
	struct counts_frame counts; /* counts.n_rows: of all seconds */
	uint32_t next_class;        /* struct group's, before this group */
	uint64_t first_ns;          /* as in the block's header */
	bool is_exact;              /* version 2: events are not rounded */
	bool by_class;              /* the rows are sorted by class, as in an overview */
};

/*
 * `classes` and `disk_ids` as for counts_encode(). Reorders the rows of each second and sets
 * g->next_class for the next group.
 */
void group_encode(struct block_encoder *e, struct buf *out, const struct group_frame *f,
		  struct group *g, const struct profile_class *classes, const uint32_t *disk_ids);

/* Packs the exact times, after group_encode() has put the rows in their order. */
void group_encode_times(struct block_encoder *e, struct buf *out, const struct group *g,
			const struct profile_class *classes);

/*
 * Finds the times of each of the seconds, out[0 .. g->seconds.n). Each is for times_decode().
 * -EBADMSG: the bytes don't decode.
 */
int group_decode_times(struct unpacker *u, const uint8_t *bytes, size_t size, const struct group *g,
		       struct second_times *out);

/*
 * Fills g->seconds and g->losses, which must be empty, and g->next_class. *rows_at: the offset of
 * the rows. -EBADMSG: the bytes don't decode, or the sums differ from the header's.
 */
int group_decode_seconds(struct unpacker *u, const uint8_t *bytes, size_t size,
			 const struct block_header *h, struct group *g, size_t *rows_at);

/* Appends f->counts.n_rows rows, which begin at `bytes`. -EBADMSG: they don't decode. */
int group_decode_rows(struct unpacker *u, const uint8_t *bytes, size_t size,
		      const struct group_frame *f, const struct group_second *seconds, uint32_t n,
		      struct count_rows *rows);
