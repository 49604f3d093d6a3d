/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The views of `assay top` and `assay browse`: a session as lines of text.
 *
 * Functions and trees are those of report (report.h), without its header; processes are those of
 * profile/processes.h, in percent of one CPU. A line is at most `width` characters and may hold
 * the escapes of style.h. Names in it can't control the terminal (base/utf8.h).
 */
#pragma once

#include <stdatomic.h>

#include "base/mem.h"
#include "profile/context.h"
#include "report/formats.h"
#include "report/report.h"

/* X(id, key, letter, help). Lists come last. */
#define LIVE_VIEWS(X)                                                     \
	X(PROCESSES, "processes", 'P', "processes, and their functions")  \
	X(SYMBOLS, "symbols", 'S', "functions")                           \
	X(TREE, "tree", 'T', "the call tree")                             \
	X(INVERTED, "inverted", 'I', "functions, below each its callers") \
	X(THREADS, "threads", 'R', "threads")                             \
	X(IMAGES, "images", 'M', "images: programs, libraries, the kernel")

enum live_view {
#define X(id, key, letter, help) LIVE_##id,
	LIVE_VIEWS(X)
#undef X
		N_LIVE_VIEWS
};

#define LIVE_FIRST_LIST LIVE_THREADS

struct live_view_info {
	const char *key;
	char letter;
	const char *help;
};
extern const struct live_view_info live_views[N_LIVE_VIEWS];

struct live_request {
	const struct session *session;
	struct symbolizer *symbols;
	struct query *query; /* with a filter for the time */
	enum live_view view;
	double seconds; /* that the query takes */
	struct text_style style;
	const atomic_bool *is_unwanted; /* as in struct profile_request */
	double min_percent; /* lighter rows are gathered in "other"; negative: as the report */
};

struct live_line {
	char *text;
	char *filter;       /* that takes the row alone; NULL: the row has none */
	int32_t pid;        /* of a process's row; else -1 */
	bool is_row;        /* not a title */
	uint32_t depth;     /* trees: of the row */
	uint32_t image;     /* of the profile; NO_INDEX: the row is of no image */
	uint32_t function;  /* the same */
	uint32_t block;     /* callers and callees: of the row; NO_INDEX */
	enum row_role role; /* likewise */
	uint32_t value;     /* of the report's first key; NO_INDEX: the row has none */
};

struct live_text {
	VEC(struct live_line) lines; /* titles first; none: nothing was sampled */
	uint64_t n_samples, n_lost;
	bool has_contexts;
	double percent[N_CONTEXTS]; /* of all samples */
};

void live_make(const struct live_request *request, struct live_text *out);

/*
 * Adds the lines of a report of a profile that the caller has. The request's view is not asked. If
 * the report's only key is the thread, the image or the event, each row has its filter.
 */
void live_add_report(const struct live_request *request, const struct view *view,
		     const struct report_options *options, const struct profile *p,
		     struct live_text *out);

/* Appends the filter of an image of the profile. */
void live_put_image_filter(const struct profile *p, uint32_t image, struct buf *word);

/* Adds other text, line by line. */
void live_add_text(struct live_text *out, const char *text);

/* The report of a view of functions, and its columns where there is little room; NULL: a view of
 * processes. */
const struct view *live_report_of(enum live_view view);
const char *live_columns(enum live_view view, uint32_t width);
void live_text_fini(struct live_text *t);
