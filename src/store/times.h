/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The exact times of a block's samples: microseconds, and the row of each sample.
 *
 * A block has sums, one row for each (class, node). Its section TIMES tells when the samples of the
 * rows were taken. It may have times for some samples of a row only. Of the others, only the time
 * of the block is known. docs/formats.md describes the bytes.
 */
#pragma once

#include "store/block.h"

/* A sample that comes later than this has no exact time: readers skip blocks by their times. */
#define TIMES_LATE_NS 2000000000ULL

/* The most times of a block. */
#define BLOCK_TIMES_MAX (1u << 20)

/* The rows that times belong to. */
struct times_rows {
	const struct count_row *rows;
	size_t n;
	const uint32_t *places; /* by row: its place in the stored block; NULL: the same */
	const struct profile_class *classes;
	/*
	 * By counter: whether it samples at a frequency. The kernel varies the period of such a
	 * counter, so the events of a sample are an estimate, and only the row's sum is kept.
	 * NULL: none does.
	 */
	const bool *has_rate;
};

/*
 * Packs the times, if there are some. *early_us: how long the first one is before first_ns, in
 * microseconds.
 */
void times_encode(struct block_encoder *e, struct buf *out, const struct sample_times *times,
		  const struct times_rows *rows, uint64_t first_ns, uint64_t *early_us);

/*
 * Appends the times in ascending order. `first_us` is the time of the first one. -EBADMSG: the
 * bytes don't decode, or some row would have more samples or events with a time than it has; *out
 * is unchanged.
 */
int times_decode(struct unpacker *u, const uint8_t *bytes, size_t size, uint64_t first_us,
		 const struct count_row *rows, size_t n_rows, struct sample_times *out);

/* Which samples remain. */
struct times_choice {
	bool (*takes)(const void *context, uint64_t time_ns);
	const void *context;
	bool takes_untimed;
};

/*
 * Reduces rows and their times to the chosen samples. Rows without samples go away, and the times
 * refer to the new rows.
 */
void times_choose(const struct times_choice *choice, struct count_row *rows, size_t *n_rows,
		  struct sample_times *times);
