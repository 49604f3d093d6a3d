/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts in memory for a sample file with very many additions.
 *
 * Hot code is in a few places. So a count is a byte at the index of its address, in pages that
 * exist for sampled code only. An addition is two loads and a store, without a hash, a chain or a
 * key to compare. The counts of 100,000 addresses fit the second-level cache. A full byte is added
 * to the file and begins anew; the others are added once a second.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HOT_PAGE_KEYS 4096U

struct hot_counts {
	uint8_t **pages;      /* by key / HOT_PAGE_KEYS; NULL where none is yet */
	uint32_t n_directory; /* of them; 0: nothing is taken */
	uint32_t n_pages;     /* that are there */
	uint64_t n_spilled;   /* counts that were given back by adds, since the last drain */
};

/* { 0 } is one that takes nothing. */
void hot_counts_init(struct hot_counts *h);
void hot_counts_fini(struct hot_counts *h);

/*
 * Calls `take` for each count that is not zero, and makes it zero; the pages stay. Returns what
 * has been added since the last drain.
 */
uint64_t hot_counts_drain(struct hot_counts *h,
			  void (*take)(void *context, uint64_t key, uint32_t count), void *context);

/* An add that is not of the usual kind: as hot_counts_add(). */
uint64_t hot_counts_add_rarely(struct hot_counts *h, uint64_t key, uint64_t count);

/*
 * Adds to a key's count. Returns the count to add to the file now for this key. Mostly this is 0.
 * It is the whole count if the count is too large or the key is too far away, and otherwise the sum
 * of the count and the waiting one.
 */
static inline uint64_t hot_counts_add(struct hot_counts *h, uint64_t key, uint64_t count)
{
	uint64_t page = key / HOT_PAGE_KEYS;
	uint8_t *at;

	if (page >= h->n_directory || !h->pages[page])
		return hot_counts_add_rarely(h, key, count);
	at = &h->pages[page][key % HOT_PAGE_KEYS];
	if (count > (uint64_t)(UINT8_MAX - *at))
		return hot_counts_add_rarely(h, key, count);
	*at = (uint8_t)(*at + count);
	return 0;
}
