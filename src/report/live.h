/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the live view shows: the last seconds of a session that is being recorded, as lines of text.
 *
 * Functions and trees are those of report (report.h), without its header; processes are those of
 * profile/processes.h, in percent of one CPU. A line is at most `width` characters and may hold
 * the escapes of style.h.
 */
#pragma once

#include "base/mem.h"
#include "profile/context.h"
#include "report/formats.h"
#include "report/report.h"

/* X(id, key, letter, help) */
#define LIVE_VIEWS(X)                                                    \
	X(PROCESSES, "processes", 'P', "processes, and their functions") \
	X(SYMBOLS, "symbols", 'S', "functions")                          \
	X(TREE, "tree", 'T', "the call tree")                            \
	X(INVERTED, "inverted", 'I', "functions, below each its callers")

enum live_view {
#define X(id, key, letter, help) LIVE_##id,
	LIVE_VIEWS(X)
#undef X
		N_LIVE_VIEWS
};

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
};

struct live_line {
	char *text;
	int32_t pid; /* of a process's row; else -1 */
};

struct live_text {
	VEC(struct live_line) lines; /* titles first; none: nothing was sampled */
	uint64_t n_samples, n_lost;
	bool has_contexts;
	double percent[N_CONTEXTS]; /* of all samples */
};

void live_make(const struct live_request *request, struct live_text *out);
void live_text_fini(struct live_text *t);
