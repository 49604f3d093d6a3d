/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The native store from inside: for native.c and native_rows.c alone. */
#pragma once

#include "store/native.h"

#include "store/batch.h"
#include "store/block.h"
#include "store/group.h"
#include "store/losses.h"
#include "store/segment_tables.h"
#include "store/segment_writer.h"
#include "store/sharing.h"
#include "store/times.h"

/* Rows in memory. A second with more rows becomes several blocks. */
#define TALLY_ROWS_MAX (1u << 18)

/* The same for a block of an overview. A block that is cut there has some rows twice. */
#define GROUPED_ROWS_MAX (1u << 19)
#define PIECE_ROWS       65536u

/* The same for exact times. */
#define STORE_TIMES_MAX (1u << 18)

/* A block that the writer's thread has not written yet. */
struct late_block {
	uint64_t delivered; /* before it */
	uint64_t samples;
	/* To be added if the block is lost: its losses, and its samples as losses */
	VEC(struct loss_row) if_lost;
};

struct store {
	const struct image_table *images;
	const struct strings *strings;
	struct native_limits limits;
	struct buf info; /* encoded; each segment begins with it */
	char *dir;       /* of the segments */
	struct sharing sharing;

	struct segment_writer *writer;
	VEC(struct late_block) late; /* blocks without a result of the writer so far */
	uint32_t number;             /* of the segment */
	uint32_t merged;             /* enum separation */
	uint64_t size_bytes;         /* of the segment's file, up to its last whole block */
	uint64_t empty_bytes;        /* the same of the session without blocks */
	size_t least_info;           /* bytes of INFO's section: it never shrinks */
	uint64_t delivered;          /* as in struct block_header */

	struct segment_tables tables;
	VEC(uint64_t) hashes; /* of the paths to the nodes that native_store_step() made */
	struct tally tally;
	bool keeps_times;
	struct sample_times times; /* of this block */
	VEC(uint32_t) places;      /* by row of the tally: its place in the block */
	struct batch batch;        /* samples of this block that are not in tree and tally yet */
	uint64_t first_ns, last_ns, samples, period; /* of the open block */
	uint64_t n_unwritten; /* samples of all blocks that could not be written */
	struct losses losses;
	bool is_grouping;
	bool is_in_pieces;  /* some rows of the tables are not written yet */
	struct group group; /* seconds that are not written yet */
	bool has_rate[SESSION_COUNTERS_MAX];
	uint64_t group_period;
	struct block_encoder encoder;
	bool lists_codes; /* tables.listed has the nodes */
	struct buf nodes; /* of the next block, if they were packed before its rows */
	struct buf sections[N_SECTIONS], out;
};

/* Numbers the nodes that are not written yet, and packs them. Other nodes keep their numbers. */
void native_number_nodes(struct store *s, struct buf *out);

/* Starts s->out. The header and INFO of a segment are written with its first block of samples. */
void native_begin_out(struct store *s);

/* Writes s->out behind the last whole block. On failure the file is unchanged. */
int native_write_out(struct store *s, struct error *err);

/* store_ops.begin */
int native_begin(struct store *s, uint64_t wall_ns, uint64_t ns, struct error *err);

/* Write the open block, and the open group. Afterwards they are empty, written or lost. */
int native_flush_block(struct store *s, struct error *err);
int native_write_group(struct store *s, struct error *err);
