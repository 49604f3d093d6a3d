/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/rows.h"

#include <string.h>

void rows_fini(struct rows *rows)
{
	vec_fini(&rows->list);
	vec_fini(&rows->cells);
}

uint32_t rows_add(struct rows *rows, enum row_kind kind, uint32_t depth, uint32_t parent)
{
	struct row *row = vec_add(&rows->list);

	row->kind = kind;
	row->depth = row->indent = (uint16_t)MIN(depth, UINT16_MAX);
	row->parent = parent;
	row->block = NO_INDEX;
	memset(row->value, 0xff, sizeof(row->value)); /* NO_INDEX */
	for (uint32_t lane = 0; lane < rows->n_lanes; lane++)
		vec_push(&rows->cells, (struct cell){ 0 });
	return (uint32_t)rows->list.n - 1;
}
