/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The native store's limits, which tests make small.
 *
 * A segment ends when one of them is reached; the next one starts with empty
 * tables, so that the recorder's memory stays flat however long it runs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

struct store;

struct native_limits {
	uint64_t table_bytes;   /* of classes and call tree in memory */
	uint64_t segment_bytes; /* of a file on disk */
};

#define NATIVE_LIMITS_DEFAULT ((struct native_limits){ 24u << 20, 64u << 20 })

void native_store_set_limits(struct store *s, const struct native_limits *limits);

/*
 * Adding what is a tree and counts already (store/history/merge.c), node by node instead of chain
 * by chain, and into blocks that the caller ends: they may span more than a second.
 */

/* A node of the store's tree. { 0 } is the root. */
struct native_place {
	uint32_t node;
	uint64_t hash; /* of the path to it */
};

/*
 * To be called before each row: writes the block if it is full. True when a new segment has begun,
 * or on failure (the error is in *r): places and classes of before are void.
 */
bool native_store_begin_row(struct store *s, int *r, struct error *err);

struct native_place native_store_step(struct store *s, struct native_place parent,
				      const struct code_addr *code);
uint32_t native_store_class(struct store *s, const struct profile_class *class);

/* The times are those of the first and last sample in the row, or of the block that it is from. */
void native_store_add_row(struct store *s, uint32_t class, uint32_t node, uint64_t samples,
			  uint64_t period, uint64_t first_ns, uint64_t last_ns);

/*
 * From now on seconds are written in groups (store/group.h), which is smaller, and loses all of one
 * when the writer is killed: for what is there already, in another form. Before the first sample.
 */
int native_store_group(struct store *s, struct error *err);

/*
 * What follows are the blocks of an overview, level_ns long, or with 0 those that it is of: the
 * coarsest first, as readers look. True as of native_store_begin_row().
 */
bool native_store_begin_level(struct store *s, uint64_t level_ns, int *r, struct error *err);

/* Writes what was added since the last block, or makes it a second of the group. True as of
 * native_store_begin_row(). */
bool native_store_end_block(struct store *s, int *r, struct error *err);
