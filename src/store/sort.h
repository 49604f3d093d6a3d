/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stable radix sort by 64-bit keys, for the rows and nodes of every flush. For a few thousand
 * items, it is several times as fast as qsort(3).
 */
#pragma once

#include <stdint.h>

struct sort_item {
	uint64_t key;
	uint32_t value;
};

/* Sorts items[0 .. n) by key. Equal keys keep their order. `scratch` has room for n items. */
void sort_items(struct sort_item *items, struct sort_item *scratch, uint32_t n);
