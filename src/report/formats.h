/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The formats that a report is printed in. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct report;

/* By line of a table: its row of the report, or NO_INDEX. */
struct line_rows {
	uint32_t *data;
	size_t n, cap;
};

struct text_style {
	uint32_t width; /* in characters; 0: no limit */
	bool with_colour, is_ascii;
	bool is_table_only;     /* without the header */
	bool is_csv_raw;        /* base/csv.h */
	struct line_rows *rows; /* gets those of the lines of a table; NULL: nobody asks */
};

struct report_format {
	const char *name, *help;
	bool is_for_programs;
	void (*print)(const struct report *r, const struct text_style *style, FILE *out);
};
extern const struct report_format *const report_formats[]; /* ends with NULL; commands/tables.c */
const struct report_format *report_format_find(const char *name);
