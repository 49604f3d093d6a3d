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
#include "report/columns.h"

struct report;
struct view;
struct error;

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
	bool by_wall;        /* likewise, and the events are divided by the parallelism */
	bool by_latency;     /* likewise, and the events are latencies in cycles */
	bool of_parent;      /* percent of the row above instead of the total */
	bool long_names;     /* paths instead of file names */
	bool with_lines;     /* lists: a row for every source line */
	bool with_wakers;    /* trees: a wait's waker is below its innermost function */
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
