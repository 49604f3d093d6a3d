/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which blocks of a history are long enough for a view over time: query->overview_ns
 * (profile/query.h). A view of a long time is there sooner if it reads no single seconds.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct query;

struct overview_wish {
	const char *path;   /* the source; NULL: the default one */
	bool needs_seconds; /* the view has an axis of time */
	bool needs_moments; /* the view needs the time of each sample, which no overview has */
	bool is_series;     /* a view with steps, not a page */
	bool is_quick; /* a page is soon rather than exact, and so is a series without a step */
};

/*
 * Sets query->overview_ns. For a series, *step_s is the step, 0: not given. With is_quick, a step
 * that was not given becomes one that the history has soon.
 */
void overviews_choose(const struct overview_wish *w, struct query *query, double *step_s);
