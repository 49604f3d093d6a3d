/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables in memory that a store adds samples to: classes, call tree, tally.
 *
 * Every sample goes through all three, so each is an array with an
 * open-addressing hash of u32 beside it and nothing is allocated but on growth.
 * Not safe for threads: one thread records.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "store/session.h"

/*
 * Entry index + 1 by hash, at most half full. The bits above the index hold some
 * of the hash, so that entries that only share a slot are passed over unseen:
 * looking at one costs a cache miss.
 */
#define SLOT_INDEX_BITS 21
struct slots {
	uint32_t *data;
	uint32_t n;
};

/* True when the slots were made anew, empty, to hold n + 1 entries: put the n again. */
bool slots_reserve(struct slots *s, uint32_t n);
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
 * One multiplication a word is enough: offsets differ in their low bits, and the
 * high half of the product, where all of them arrive, is what is kept.
 */
static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product =
		(unsigned __int128)(a ^ 0x9e3779b97f4a7c15ULL) * (b ^ 0xd6e8feb86659fd93ULL);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/*
 * A node is hashed by its whole path, not by its parent's number: so the hashes
 * of all frames of a chain are known before the first of them was looked up.
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
void tree_clear(struct tree *t); /* keeps the memory */

/* A frame of a chain on its way into the tree (store/batch.h). */
struct tree_step {
	uint32_t image;
	uint64_t offset, hash; /* hash: of the path down to here, by tree_hash_steps() */
};

/* The stages of a lookup, outermost frame first; each fetches what the next one reads. */
void tree_hash_steps(const struct tree *t, struct tree_step *steps, uint32_t n);
void tree_fetch_nodes(const struct tree *t, const struct tree_step *steps, uint32_t n);

/* The node of one step below `parent`, which is added if it is not there. */
uint32_t tree_child(struct tree *t, uint32_t parent, const struct tree_step *step);

/* The node that n steps lead to from the root; adds the nodes that are not there. */
uint32_t tree_descend(struct tree *t, const struct tree_step *steps, uint32_t n);
uint64_t tree_memory(const struct tree *t);

/* Classes, interned as the caller gives them. */
struct class_table {
	struct profile_class *data;
	uint32_t n, cap, last; /* the one found last: mostly the next one, too */
	struct slots slots;
};

void classes_fini(struct class_table *t);
uint32_t classes_intern(struct class_table *t, const struct profile_class *class);
uint64_t classes_memory(const struct class_table *t);

/* What each (class, node) got since the last flush. */
struct tally {
	struct count_row *rows;
	uint32_t n, cap;
	struct slots slots;
};

void tally_fini(struct tally *t);
void tally_clear(struct tally *t);
void tally_add(struct tally *t, uint32_t class, uint32_t node, uint64_t samples, uint64_t period);
uint64_t tally_memory(const struct tally *t);
