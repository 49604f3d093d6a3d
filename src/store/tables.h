/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables in memory that a store adds samples to: classes, call tree, tally.
 *
 * Every sample goes through all three. So each table is an array with an open-addressing hash of
 * u32 beside it, and only growth allocates memory. Not safe for threads: one thread records.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "store/segment.h"

/*
 * A slot holds entry index + 1. At most half of the slots are used. The bits above the index hold a
 * part of the hash: so an entry that only shares the slot can be skipped without reading it, which
 * would cost a cache miss.
 */
#define SLOT_INDEX_BITS 21
struct slots {
	uint32_t *data;
	uint32_t n;
};

/*
 * Makes room for n + 1 entries. True: the slots were allocated anew and are empty, so put all n
 * entries again.
 */
bool slots_reserve(struct slots *s, uint32_t n);
/* The same with up to three quarters of the slots in use. */
bool slots_reserve_dense(struct slots *s, uint32_t n);
void slots_put(struct slots *s, uint64_t hash, uint32_t index);
void slots_clear(struct slots *s);

#define SLOT_INDEX_MASK ((1u << SLOT_INDEX_BITS) - 1)

static inline uint32_t slot_tag(uint64_t hash)
{
	return (uint32_t)(hash >> 32) & ~SLOT_INDEX_MASK;
}

/* True if the slot may hold the entry of this hash; *index is the entry. */
static inline bool slot_is(uint32_t slot, uint32_t tag, uint32_t *index)
{
	*index = (slot & SLOT_INDEX_MASK) - 1;
	return (slot & ~SLOT_INDEX_MASK) == tag;
}

/*
 * One multiplication for each word is enough. Offsets differ in their low bits, and all bits of the
 * input change the high half of the product, which is mixed in.
 */
static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product =
		(unsigned __int128)(a ^ 0x9e3779b97f4a7c15ULL) * (b ^ 0xd6e8feb86659fd93ULL);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/*
 * The hash of a node covers its whole path, not its parent's number. So the hashes of all frames of
 * a chain are known before the first lookup.
 */
static inline uint64_t hash_step(uint64_t parent_hash, uint32_t image, uint64_t offset)
{
	return hash_mix(parent_hash + image, offset);
}

/* The call tree: nodes[0] is the root. A node's parent comes before it. */
struct tree {
	struct tree_entry {
		uint32_t parent, image;
		uint64_t offset;
	} * nodes;
	uint32_t n, cap;
	struct slots slots;
};

void tree_init(struct tree *t);
void tree_fini(struct tree *t);

/* A frame of a chain on its way into the tree (store/batch.h). */
struct tree_step {
	uint32_t image;
	uint64_t offset, hash; /* hash: of the path to here, by tree_hash_steps() */
};

/* The stages of a lookup, outermost frame first. Each stage prefetches memory for the next. */
void tree_hash_steps(const struct tree *t, struct tree_step *steps, uint32_t n);
void tree_fetch_nodes(const struct tree *t, const struct tree_step *steps, uint32_t n);

/* Returns the node of one step below `parent`. Adds the node if it is missing. */
uint32_t tree_child(struct tree *t, uint32_t parent, const struct tree_step *step);

/* Returns the node at the end of n steps from the root. Adds missing nodes. */
uint32_t tree_descend(struct tree *t, const struct tree_step *steps, uint32_t n);
uint64_t tree_memory(const struct tree *t);

/* Classes with the caller's ids, each once. */
struct class_table {
	struct profile_class *data;
	uint32_t n, cap, last; /* last: the class found last, mostly the next one, too */
	struct slots slots;
};

void classes_fini(struct class_table *t);
uint32_t classes_intern(struct class_table *t, const struct profile_class *class);
uint64_t classes_memory(const struct class_table *t);

/* The samples of each (class, node) since the last flush. */
struct tally {
	struct count_row *rows;
	uint32_t n, cap;
	struct slots slots;
};

void tally_fini(struct tally *t);
void tally_clear(struct tally *t);
void tally_end(struct tally *t); /* frees what finds rows: none is added until tally_clear() */
/* Returns the index of the row. */
uint32_t tally_add(struct tally *t, uint32_t class, uint32_t node, uint64_t samples,
		   uint64_t period);
uint64_t tally_memory(const struct tally *t);
