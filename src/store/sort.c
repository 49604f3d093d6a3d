/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/sort.h"

#include <stdbool.h>
#include <string.h>

#define DIGITS 8
#define FEW    32 /* items that insertion sort handles */

static void sort_few(struct sort_item *items, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		struct sort_item item = items[i];
		uint32_t at = i;

		for (; at > 0 && items[at - 1].key > item.key; at--)
			items[at] = items[at - 1];
		items[at] = item;
	}
}

static inline uint8_t digit_of(uint64_t key, int digit)
{
	return (uint8_t)(key >> (8 * digit));
}

/* One pass: moves items from `from` to `to` by one digit of the key. */
static void distribute(const struct sort_item *from, struct sort_item *to, uint32_t n, int digit)
{
	uint32_t counts[256] = { 0 }, at = 0;

	for (uint32_t i = 0; i < n; i++)
		counts[digit_of(from[i].key, digit)]++;
	for (int i = 0; i < 256; i++) {
		uint32_t count = counts[i];

		counts[i] = at;
		at += count;
	}
	for (uint32_t i = 0; i < n; i++)
		to[counts[digit_of(from[i].key, digit)]++] = from[i];
}

void sort_items(struct sort_item *items, struct sort_item *scratch, uint32_t n)
{
	struct sort_item *from = items, *to = scratch;
	uint64_t differing = 0;
	bool is_sorted = true;

	if (n <= FEW) {
		sort_few(items, n);
		return;
	}
	for (uint32_t i = 1; i < n; i++) {
		differing |= items[i].key ^ items[0].key;
		is_sorted &= items[i].key >= items[i - 1].key;
	}
	for (int digit = 0; digit < DIGITS && !is_sorted; digit++) {
		struct sort_item *swap = from;

		if (!digit_of(differing, digit))
			continue;
		distribute(from, to, n, digit);
		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, n * sizeof(*items));
}
