/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The difference of two profiles on a page, as CSV and as JSON. */
#pragma once

#include <stdio.h>

#include "profile/diff.h"
#include "report/formats.h"
#include "report/report.h"

struct diff_page {
	const struct diff *diff;
	const struct profile *profiles[2];
	const char *paths[2];  /* of the sessions */
	const char *event;     /* that is compared */
	double min_points;     /* changes below it are gathered in "other"; percent of the whole */
	uint64_t max_rows;     /* 0: all */
	bool significant_only; /* gather what is not significant, too */
};

typedef void diff_printer(const struct diff_page *page, const struct text_style *style, FILE *out);
diff_printer diff_print_text, diff_print_csv, diff_print_json;
