/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The difference of two profiles on a page, as CSV and as JSON. */
#pragma once

#include <stdio.h>

#include "profile/diff.h"
#include "profile/gate.h"
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
	bool counts_time;      /* the event's unit is ns */
	size_t n_old;          /* old sessions; the shown one is the newest of them */
	bool in_turn;          /* there are as many new ones, and the newest is shown */
	const struct gate_result *rules;
	size_t n_rules;
};

typedef void diff_printer(const struct diff_page *page, const struct text_style *style, FILE *out);
diff_printer diff_print_text, diff_print_csv, diff_print_json;

/* The rows to show, largest change first; in trees under their parents. The caller's to free(). */
uint32_t *diff_order(const struct diff_page *page, size_t *n);
