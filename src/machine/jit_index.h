/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which code of a jitdump is at an address at a time: an index of ranges.
 *
 * A code belongs to one middle: the address in its range that is divisible by the largest power of
 * two. (A range of one byte belongs to its address, made odd.) An address has at most 64 middles
 * around it. The codes of one middle are a treap, ordered by (time, number of the record). All of
 * them contain the middle, or the bytes on both sides of it. So one comparison with the limits of
 * a subtree shows exactly whether any of its codes contains an address.
 *
 * Whatever the records are: an insertion takes O(log n), a search 64 times O(log n), and the memory
 * is proportional to the number of records. The treap's priorities are secret, so that no program
 * can choose records that make it deep. { 0 } is a valid empty index. One thread uses it.
 */
#pragma once

#include "base/intmap.h"
#include "base/mem.h"
#include "foreign/jitdump.h"

struct jit_index_node {
	uint32_t older, newer;    /* subtrees */
	uint64_t lowest, highest; /* of the subtree: its lowest first and highest last byte */
};

struct jit_index {
	struct intmap by_middle;          /* to the root */
	VEC(struct jit_index_node) nodes; /* one for each code of the dump, in their order */
	uint64_t levels;                  /* a bit for each power of two in use */
	uint64_t secret;
};

void jit_index_fini(struct jit_index *x);
uint64_t jit_index_memory(const struct jit_index *x); /* in bytes */

/* Adds the codes that the dump has got since the last call. */
void jit_index_add(struct jit_index *x, const struct jitdump *d);

/*
 * The newest code of the address that is not younger than the time. A compiler may write the record
 * of its code a little after the code runs: where all codes are younger, it is the oldest. NULL:
 * there is none. The dump is the one of jit_index_add().
 */
const struct jitdump_code *jit_index_find(const struct jit_index *x, const struct jitdump *d,
					  uint64_t addr, uint64_t time_ns);
