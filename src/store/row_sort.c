/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/row_sort.h"

#include "base/mem.h"

struct row_order {
	const uint32_t *disk_ids;
	bool by_class;
};

static uint64_t key_of(const struct row_order *o, const struct count_row *row)
{
	uint64_t node = o->disk_ids ? o->disk_ids[row->node] : row->node, class = row->class;

	return o->by_class ? class << 32 | node : node << 32 | class;
}

/* Shell's sort: rows that are `gap` apart are in order. */
static void sort_gap(const struct row_order *o, struct count_row *rows, uint32_t n, uint32_t gap)
{
	for (uint32_t i = gap; i < n; i++) {
		struct count_row row = rows[i];
		uint64_t key = key_of(o, &row);
		uint32_t at = i;

		for (; at >= gap && key_of(o, &rows[at - gap]) > key; at -= gap)
			rows[at] = rows[at - gap];
		rows[at] = row;
	}
}

void rows_sort(struct count_row *rows, uint32_t n, const uint32_t *disk_ids, bool by_class)
{
	/* Ciura's gaps, and then each 2.25 times the one before. */
	static const uint32_t gaps[] = { 1,    4,    10,   23,    57,    132,   301,    701,
					 1577, 3548, 7983, 17961, 40412, 90927, 204585, 460316 };
	const struct row_order order = { disk_ids, by_class };

	for (size_t i = ARRAY_SIZE(gaps); i-- > 0;)
		if (gaps[i] < n)
			sort_gap(&order, rows, n, gaps[i]);
}
