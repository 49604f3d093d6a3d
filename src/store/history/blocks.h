/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks of a history: the samples of one part in one stretch of the clock (a *bucket*, usually ten
 * minutes), at function level. Blocks are made for other machines: docs/fleet.md.
 *
 * A block is a session of exactly one segment, with one tree and its own names. So every reader of
 * sessions reads it, and several blocks are a history. All code of a function is one place
 * (store/history/functions.h). Processes, threads and processors are not kept apart. Thread names
 * and cgroups may be left out. The command line of the recording is never in it, and neither is its
 * target, which may be a command.
 *
 * A source block belongs to the bucket that holds its first sample. So each sample of a part is in
 * exactly one block. Sums of samples, events and losses are those of the part.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "store/history/history.h"

struct error;
struct symbolizer;

#define BLOCK_BUCKET_NS (600 * NS_PER_SECOND)

/* Of blocks of addresses, and what their session_info.stacks says. */
#define LEAVES_BUCKET_NS (3600 * NS_PER_SECOND)
#define LEAVES_STACKS    "addresses alone"

struct block_config {
	uint64_t bucket_ns; /* of the wall clock */
	struct symbolizer *symbols;
	bool without_comm, without_cgroup;
	/*
	 * Instead of functions and stacks: the addresses of samples, without names of threads
	 * (session_merge()). `symbols` is NULL. Samples of programs that `takes` refuses are not in
	 * the block.
	 */
	bool leaves;
	bool (*takes)(void *context, const char *program, const char *cgroup);
	void *takes_context;
	uint64_t table_bytes; /* for tests: a smaller limit of a segment; 0: the default */
};

struct block_bucket {
	uint64_t start_ns; /* CLOCK_REALTIME */
	uint64_t samples;
};

/* Buckets by their start. The caller frees `data`. */
struct block_buckets {
	struct block_bucket *data;
	size_t n, cap;
	bool may_grow;               /* the part has no end, and was written to in the last hour */
	struct block_bucket growing; /* its last bucket then; zeros: it has none */
	uint64_t written_ns;         /* when the part was written last, CLOCK_REALTIME */
};

/*
 * Puts the buckets of a part that have samples or losses into `out`, which is empty. Reads no
 * samples. The last bucket of a part that may grow is apart. -EINVAL: the part does not know when
 * it began.
 */
int part_buckets(const char *part, uint64_t bucket_ns, struct block_buckets *out,
		 struct error *err);

struct block_sums {
	uint64_t samples, cut; /* cut: in "[other]", because the tree was too large for a segment */
	uint64_t lost;         /* samples that the part counts as lost or damaged in this bucket */
	uint64_t bytes;        /* of the segment */
	uint64_t rate_hz;      /* of the part's first event, on each processor; 0: not known */
	uint64_t length_ns;    /* of the bucket; of a part of longer blocks, that of such a block */
};

/*
 * Writes the block of a bucket as the session `to`, which must not exist. `sums` may be NULL.
 * -ENODATA: the part has nothing in the bucket. On failure, `to` is removed.
 */
int part_block(const char *part, uint64_t bucket, const struct block_config *config, const char *to,
	       struct block_sums *sums, struct error *err);

/*
 * The name of a block among the parts of a history: the bucket's start, and a number that a hash of
 * the name of its part gives. So a block has the same name each time, and two parts of one bucket
 * have two.
 */
void block_name(uint64_t bucket, const char *part_name, char out[static HISTORY_NAME_SIZE]);

/* The path of the segment of a block. The caller frees it. */
char *block_segment(const char *block);
