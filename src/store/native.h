/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The native store, its limits, which tests make small, and its interface for merging.
 *
 * A segment ends at the first limit that it reaches. The next segment starts with empty tables, so
 * the recorder's memory stays bounded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/native.h"
#include "store/store.h"

struct store;
struct timed_sample;

/* The native store: segments (docs/formats.md). */
extern const struct store_ops native_store;

/* For tests and benchmarks: bytes of memory that the store holds. */
uint64_t native_store_memory(const struct store *s);

struct native_limits {
	uint64_t table_bytes;   /* memory for classes and call tree */
	uint64_t segment_bytes; /* size of a file */
};

#define NATIVE_LIMITS_DEFAULT ((struct native_limits){ 24u << 20, 64u << 20 })

/* For tests: smaller limits than NATIVE_LIMITS_DEFAULT. */
void native_store_set_limits(struct store *s, const struct native_limits *limits);

/*
 * For callers that have a tree with counts already (store/history/merge.c). They add node by node
 * instead of chain by chain, and end the blocks themselves. So a block may span more than a second.
 */

/* A node of the store's tree. { 0 } is the root. */
struct native_place {
	uint32_t node;
};

/*
 * To be called before each row. Writes the block if it is full. True: a new segment began, or it
 * failed (*r is negative, and err is set). Earlier places and classes are then invalid.
 */
bool native_store_begin_row(struct store *s, int *r, struct error *err);

struct native_place native_store_step(struct store *s, struct native_place parent,
				      const struct code_addr *code);
/* No further node and row come before the next block. If codes are listed, the segment has no more.
 */
void native_store_end_rows(struct store *s);

uint32_t native_store_class(struct store *s, const struct profile_class *class);

/*
 * The times are those of the row's first and last sample, or of the block that the row comes from.
 * Returns the row for native_store_add_time().
 */
uint32_t native_store_add_row(struct store *s, uint32_t class, uint32_t node, uint64_t samples,
			      uint64_t period, uint64_t first_ns, uint64_t last_ns);

/*
 * The exact time of some samples of the row, which must be the one that was added last. Its own
 * `row` does not count. What a block has no room for is counted as LOSS_TIMES_FULL.
 */
void native_store_add_time(struct store *s, uint32_t row, const struct timed_sample *time);

/*
 * From now on, seconds are written in groups (store/group.h). Groups are smaller, but a killed
 * writer loses a whole group. So this is for samples that exist elsewhere, too. To be called before
 * the first sample.
 */
int native_store_group(struct store *s, struct error *err);

/*
 * For sessions that leave the machine: blocks are packed to fewer bytes, slowly and with little
 * memory, and list their codes (store/listed_nodes.h). They have no exact times. To be called
 * before native_store_group().
 */
void native_store_pack_tight(struct store *s);

/*
 * The next blocks belong to the overview whose blocks are level_ns long, or, for 0, to the session
 * itself. Begin with the coarsest overview: readers read in that order. Returns as
 * native_store_begin_row().
 */
bool native_store_begin_level(struct store *s, uint64_t level_ns, int *r, struct error *err);

/*
 * Writes the samples since the last block, or adds them to the group as one second. Returns as
 * native_store_begin_row().
 */
bool native_store_end_block(struct store *s, int *r, struct error *err);
