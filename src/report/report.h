/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A report: the rows of one view of a profile, with the columns to show.
 *
 *     view (views.c)   the rows: keys, tree, callers and callees
 *     columns.c        the facts of a row
 *     arrange.c        sorting, the threshold, nesting, "other"
 *     header.c         the source of the numbers, and the missing parts
 *     formats (text.c, csv.c, json.c)
 *
 * In every view and format, the self samples of ITEM and OTHER rows add up to the total exactly.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "profile/query.h"
#include "profile/rows.h"

struct report;
struct view;
struct error;

/* ---- columns ---- */

enum value_kind { VALUE_NONE, VALUE_COUNT, VALUE_PERCENT, VALUE_PERIOD, VALUE_TEXT };

/* What a column says of a row. `text` may point into `scratch`. */
struct value {
	enum value_kind kind;
	uint64_t number;
	double percent;
	const char *text;
	char scratch[160];
};

struct column {
	const char *key, *title, *help;
	enum value_kind kind; /* what get() gives where it gives anything */
	bool is_per_lane;     /* once for every event, side by side in text */
	int arg;              /* for get() */
	void (*get)(const struct report *r, const struct column *self, uint32_t row, uint32_t lane,
		    struct value *out);
};
extern const struct column report_columns[];
extern const size_t n_report_columns;

#define MAX_COLUMNS 32
struct column_list {
	const struct column *column[MAX_COLUMNS];
	bool is_reversed[MAX_COLUMNS]; /* in --sort only */
	size_t n;
};

/* Appends the columns of "samples,image"; "-image" is taken as reversed. Unknown: -EINVAL. */
int column_list_parse(struct column_list *list, const char *text, struct error *err);
const struct column *column_find(const char *key, size_t len);

/* <0, 0, >0 as for qsort(): numbers descending, texts ascending. */
int column_compare(const struct report *r, const struct column *c, uint32_t row_a, uint32_t row_b);

/* ---- views ---- */

enum view_layout {
	LAYOUT_NEST,   /* a level for every key */
	LAYOUT_FLAT,   /* a row for every tuple of keys */
	LAYOUT_TREE,   /* call chains */
	LAYOUT_BLOCKS, /* callers, function, callees */
};

/* What views are chosen from. */
struct report_options {
	struct key_list by;
	double min_percent;  /* negative: the view's */
	uint64_t max_rows;   /* under one heading; 0: all */
	bool by_period;      /* weigh by events instead of samples */
	bool of_parent;      /* percent of the row above instead of the total */
	bool long_names;     /* paths instead of file names */
	bool with_lines;     /* lists: a row for every source line */
	bool with_inlines;   /* trees: inlined functions have separate rows */
	bool with_addresses; /* a column: where functions begin */
	bool accumulated;    /* lists: columns of running sums */
	bool with_classes;   /* the keys are columns, except … */
	uint32_t merge;      /* … enum merge (profile/merge.h) */
	const char *columns; /* NULL: the view's */
	const char *sort;    /* NULL: heaviest first */
	bool for_xml;        /* of the summary, lists and callers and callees */
	bool for_program;    /* CSV and JSON: columns and threshold for programs */
};

struct view {
	const char *name;
	enum view_layout layout;
	bool with_functions, with_chains; /* what must be loaded */
	const char *text_columns, *data_columns;
	double text_percent, data_percent; /* thresholds */
	bool whole_groups; /* the threshold is for headings, not for the rows below them */
	bool of_parent;    /* percentages are of the row above */
	void (*keys)(const struct report_options *o, struct key_list *keys); /* NULL: o->by */
	/* NULL: the tuples of the keys, arranged (arrange.h) */
	void (*make)(const struct report *r, const struct row_limits *limits, struct rows *out);
};

extern const struct view summary_view, list_view, details_view, nest_view, tree_view, inverted_view,
	callgraph_view;

struct report {
	const struct profile *profile;
	const struct query *query;
	const struct view *view;
	const struct report_options *options;
	struct key_list keys;
	struct column_list columns;
	struct rows rows;
	double min_percent;
	uint64_t *event_totals; /* by counter: of the weight in use; for rows told apart by event */
	uint32_t *block_rows;   /* by block: its ROLE_SELF row */
	struct weight *accumulated; /* by row and lane: sums up to it; NULL where not shown */
};

/*
 * What the view needs from profile_load(). -EINVAL for options that do not go
 * with the view, or name a column that there is not.
 */
int report_request(const struct view *view, const struct report_options *options,
		   struct profile_request *request, struct error *err);

/*
 * For options that report_request() has taken. Profile, query and options stay
 * the caller's and must outlive it.
 */
struct report *report_new(const struct view *view, const struct report_options *options,
			  const struct query *query, const struct profile *profile);
void report_free(struct report *r); /* NULL is fine */
DEFINE_AT_EXIT(report_free, struct report)

/* The weight that percentages of a lane are of, for a row of the report. */
uint64_t report_whole(const struct report *r, uint32_t row, uint32_t lane);

/* A group of columns as text: "cycles", and with classes "cpu 0, sh (12), cycles". */
const char *report_lane_text(const struct report *r, uint32_t lane, enum profile_key key,
			     char scratch[static KEY_TEXT_SIZE]);

/* ---- formats ---- */

struct text_style {
	uint32_t width; /* in characters; 0: no limit */
	bool with_colour, is_ascii;
	bool is_table_only; /* without the header */
	bool is_csv_raw;    /* base/csv.h */
};

struct report_format {
	const char *name, *help;
	bool is_for_programs;
	void (*print)(const struct report *r, const struct text_style *style, FILE *out);
};
extern const struct report_format text_format, csv_format, json_format;
extern const struct report_format *const report_formats[]; /* ends with NULL; commands/tables.c */
const struct report_format *report_format_find(const char *name);
