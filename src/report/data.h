/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Common code of the formats for programs: tidy rows, one for each row and event. */
#pragma once

#include "report/report.h"

/*
 * The headings of a nest are sums of the rows below them, and are left out. Those of a tree stay,
 * because its rows name them as parents. They have no self samples.
 */
static inline bool data_has_row(const struct report *r, uint32_t row)
{
	return r->rows.list.data[row].kind != ROW_GROUP || r->view->layout == LAYOUT_TREE;
}

/* Of many classes most have nothing in a row, which is left out. */
static inline bool data_has_lane(const struct report *r, uint32_t row, uint32_t lane)
{
	const struct cell *cell = &rows_cells(&r->rows, row)[lane];

	return !r->profile->lane_keys.n || cell->self.samples || cell->total.samples;
}
