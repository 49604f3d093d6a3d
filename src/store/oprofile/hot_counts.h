/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts that wait in front of a sample file which is added to very often.
 *
 * A line of eight keys and their counts is one line of the processor's cache, and all keys of it
 * are compared at once: an add touches one line and has no branch that depends on the data, where
 * a chained table has a bucket, nodes, and a guess at each how long the chain is. The file is
 * written when the counts are taken out, once a second.
 *
 * Keys are below 2^32 - 1, as offsets in files are; others are not taken.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HOT_LINE_KEYS 8

typedef uint32_t hot_vector __attribute__((vector_size(16)));

struct hot_line {
	hot_vector keys[2]; /* + 1; 0: free */
	hot_vector counts[2];
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct hot_line) == 64, "a cache line");

struct hot_counts {
	struct hot_line *lines; /* NULL: none */
	uint32_t shift;         /* of the hash, to a line's number */
	uint32_t n_lines;       /* a power of two */
	uint64_t room;          /* so much can be added before any count could overflow */
};

/* For about so many keys. { 0 } is one without lines and room. */
void hot_counts_init(struct hot_counts *h, uint32_t n_keys);
void hot_counts_fini(struct hot_counts *h);

/* Puts a key (+ 1) into its line, where it is not. False: the line is full. */
bool hot_counts_put(struct hot_line *line, uint32_t key, uint32_t count);

/* Calls `take` for each count that is not zero, and makes it zero; the keys stay. */
void hot_counts_drain(struct hot_counts *h,
		      void (*take)(void *context, uint64_t key, uint32_t count), void *context);

/* What has been added since the last drain. */
static inline uint64_t hot_counts_sum(const struct hot_counts *h)
{
	return h->lines ? UINT32_MAX - h->room : 0;
}

/* Adds to a key's count. False: not taken; it has to go into the file. */
static inline bool hot_counts_add(struct hot_counts *h, uint64_t key64, uint64_t count64)
{
	uint32_t key = (uint32_t)key64 + 1, count = (uint32_t)count64;
	const hot_vector wanted = { key, key, key, key }, more = { count, count, count, count };
	struct hot_line *line;
	hot_vector low, high, any;
	uint64_t found[2];

	/* Nothing (0 - 1) does not fit either: it may be that there are no lines. */
	if (count64 - 1 >= h->room || key64 >= UINT32_MAX)
		return false;
	line = &h->lines[(uint32_t)(key * 0x9e3779b1U) >> h->shift];
	low = (hot_vector)(line->keys[0] == wanted);
	high = (hot_vector)(line->keys[1] == wanted);
	any = low | high;
	line->counts[0] += low & more;
	line->counts[1] += high & more;
	h->room -= count64;
	__builtin_memcpy(found, &any, sizeof(found));
	return __builtin_expect((found[0] | found[1]) != 0, 1) || hot_counts_put(line, key, count);
}
