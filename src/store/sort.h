/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sorting by 64-bit keys, as every flush does it with all that it writes: a
 * stable radix sort, several times as fast as qsort(3) on some thousand items.
 */
#pragma once

#include <stdint.h>

struct sort_item {
	uint64_t key;
	uint32_t value;
};

/* Sorts items[0 .. n) by key, equal keys in their order; scratch has room for n, too. */
void sort_items(struct sort_item *items, struct sort_item *scratch, uint32_t n);
