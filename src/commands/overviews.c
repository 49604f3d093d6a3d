/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/overviews.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "open/input.h"
#include "profile/query.h"
#include "report/series.h"
#include "store/history/history.h"

#define PAGE_STEPS 5 /* at least */

/* The longest blocks of overviews that are no longer; 0: none. */
static uint64_t overview_of(uint64_t ns)
{
	for (size_t i = N_HISTORY_LEVELS; i-- > 0;)
		if (history_levels[i].block_ns <= ns)
			return history_levels[i].block_ns;
	return 0;
}

/* How much time is asked for; 0: it is not known, or the session is no history. */
static uint64_t history_length_ns(const char *path, const struct query *query)
{
	cleanup(free_at_exit) char *dir = history_dir(path ? path : DEFAULT_SESSION);
	const struct time_window *w = &query->window;
	struct history_names names = { 0 };
	uint64_t first = 0, last = 0, now = clock_wall_ns();

	if (!dir)
		return 0;
	if (query->has_window && w->from_ns)
		return MAX(MIN(w->to_ns, now), w->from_ns) - w->from_ns;
	if (history_list(dir, &names) >= 0 && names.n) {
		history_part_time(names.data[0], &first);
		history_part_time(names.data[names.n - 1], &last);
	}
	history_names_fini(&names);
	return last - first;
}

/* The step of a series for a time of a history: its overviews have longer ones soon. */
static uint64_t quick_step_s(uint64_t length_ns)
{
	static const uint64_t steps_s[] = { 1, 2, 5, 10, 15, 30, 60, 600, 3600 };
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(steps_s) &&
	       length_ns / NS_PER_SECOND / steps_s[i] >= SERIES_STEPS)
		i++;
	return length_ns ? steps_s[i] : 0;
}

static uint64_t overview_of_page(const char *path, const struct query *query)
{
	return overview_of(history_length_ns(path, query) / PAGE_STEPS);
}

static uint64_t overview_of_series(const char *path, const struct query *query, bool is_quick,
				   double *step_s)
{
	uint64_t seconds;

	if (!*step_s && is_quick)
		*step_s = (double)quick_step_s(history_length_ns(path, query));
	/* A step has whole blocks only if its length is a multiple of theirs. */
	seconds = (uint64_t)*step_s;
	for (size_t i = N_HISTORY_LEVELS; seconds && i-- > 0;)
		if (!(seconds % (history_levels[i].block_ns / NS_PER_SECOND)))
			return history_levels[i].block_ns;
	return 0;
}

void overviews_choose(const struct overview_wish *w, struct query *query, double *step_s)
{
	if (w->needs_moments)
		query->overview_ns = 0;
	else if (!w->needs_seconds)
		query->overview_ns = UINT64_MAX;
	else if (w->is_series)
		query->overview_ns = overview_of_series(w->path, query, w->is_quick, step_s);
	else if (w->is_quick)
		query->overview_ns = overview_of_page(w->path, query);
}
