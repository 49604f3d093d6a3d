/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists to narrow by: threads, images, events, and steps of time. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "commands/browse/browse.h"
#include "report/report.h"
#include "report/style.h"
#include "store/session.h"

/* Of time: not more rows than this, and no step shorter than a millisecond. */
#define MOST_STEPS    120
#define LEAST_NS      UINT64_C(1000000)
#define BAR_WIDTH     40
#define LEAST_PERCENT 0.01

const struct browse_list browse_lists[N_BROWSE_LISTS] = {
	[LIST_THREADS] = { "threads", PROFILE_THREAD },
	[LIST_IMAGES] = { "images", PROFILE_IMAGE },
	[LIST_EVENTS] = { "events", PROFILE_EVENT },
	[LIST_TIMES] = { "times", N_PROFILE_KEYS },
};

/* ---- lists by a key ---- */

static void make_key_list(struct browse *b, struct browse_page *page)
{
	struct report_options options = { .min_percent = LEAST_PERCENT };
	struct profile_request request = { .session = b->session,
					   .is_unwanted = &b->is_unwanted,
					   .symbols = b->symbols,
					   .query = &b->query };
	struct live_request live = { .session = b->session,
				     .symbols = b->symbols,
				     .query = &b->query,
				     .style = browse_style(b) };
	cleanup(profile_free_at_exit) struct profile *p = NULL;

	key_list_add(&options.by, browse_lists[page->list].key);
	if (report_request(&nest_view, &options, &request, NULL) < 0)
		return;
	p = profile_load(&request);
	options.by_period = profile_weighs_by_period(p);
	live_add_report(&live, &nest_view, &options, p, &page->text);
}

/* ---- steps of time ---- */

struct steps {
	uint64_t start_ns, step_ns;       /* of the session; a step */
	uint64_t first;                   /* the first step that is counted, since start_ns */
	uint64_t samples[MOST_STEPS + 1]; /* from `first` on; later ones are in the last */
};

static int find_inexact(void *context, const struct profile_sample *sample)
{
	bool *has_inexact = context;

	*has_inexact |= !sample->is_exact;
	return 0;
}

static int count_sample(void *context, const struct profile_sample *sample)
{
	struct steps *s = context;
	uint64_t since = sample->time_ns > s->start_ns ? sample->time_ns - s->start_ns : 0;
	uint64_t step = since / s->step_ns;

	step = step > s->first ? MIN(step - s->first, (uint64_t)MOST_STEPS) : 0;
	s->samples[step] += sample->weight.samples;
	return 0;
}

/* 1, 2, 5, 10, 20 … of the shortest step. */
static uint64_t step_for(uint64_t length_ns, uint64_t least_ns)
{
	static const uint64_t factors[] = { 1, 2, 5 };

	for (uint64_t tens = least_ns;; tens *= 10)
		for (size_t i = 0; i < ARRAY_SIZE(factors); i++)
			if (length_ns / (tens * factors[i]) < MOST_STEPS || tens > UINT64_MAX / 100)
				return tens * factors[i];
}

static void put_step(const struct browse *b, const struct steps *s, size_t i, uint64_t most,
		     struct buf *line)
{
	double percent = 100.0 * (double)s->samples[i] / (double)MAX(b->profile->n_selected, 1U);
	uint64_t width = most ? (s->samples[i] * BAR_WIDTH + most / 2) / most : 0;

	buf_printf(line, "%12.3f s %10" PRIu64 " %6.2f  ",
		   (double)((s->first + i) * s->step_ns) / 1e9, s->samples[i], percent);
	for (uint64_t k = 0; k < width; k++)
		buf_u8(line, '#');
	buf_u8(line, '\n');
}

static void add_steps(struct browse *b, struct browse_page *page, const struct steps *s)
{
	uint64_t most = 0, step_ms = s->step_ns / LEAST_NS;

	for (size_t i = 0; i < ARRAY_SIZE(s->samples); i++)
		most = MAX(most, s->samples[i]);
	live_add_text(&page->text, "       since    samples      %\n");
	for (size_t i = 0; i < ARRAY_SIZE(s->samples); i++) {
		struct buf line = { 0 };
		struct live_line *row;

		if (!s->samples[i] && (!i || !s->samples[i - 1]))
			continue; /* of an idle time, the first step is enough */
		put_step(b, s, i, most, &line);
		live_add_text(&page->text, buf_cstr(&line));
		row = &page->text.lines.data[page->text.lines.n - 1];
		row->is_row = true;
		row->filter = xasprintf("time:%" PRIu64 "ms-%" PRIu64 "ms",
					(s->first + i) * step_ms, (s->first + i + 1) * step_ms);
		buf_fini(&line);
	}
}

static bool filters_functions(const struct query *q)
{
	return query_has(q, FILTER_SYMBOL) || query_has(q, FILTER_SYMBOL_EXCLUDE) ||
	       query_has(q, FILTER_VIA) || query_has(q, FILTER_LANGUAGE) ||
	       query_has(q, FILTER_FILE);
}

static void make_time_list(struct browse *b, struct browse_page *page)
{
	struct profile_request request = { .session = b->session,
					   .is_unwanted = &b->is_unwanted,
					   .symbols = b->symbols,
					   .query = &b->query,
					   .with_samples = true };
	cleanup(profile_free_at_exit) struct profile *p = NULL;
	struct steps steps = { .start_ns = b->session->info.start_ns };
	bool has_inexact = false;
	uint64_t length;

	key_list_add(&request.keys, PROFILE_EVENT);
	request.with_functions = filters_functions(&b->query);
	p = profile_load(&request);
	if (!p->n_selected || profile_each_sample(p, find_inexact, &has_inexact) < 0)
		return;
	length = p->last_ns > p->first_ns ? p->last_ns - p->first_ns : 0;
	steps.step_ns = step_for(length, has_inexact ? NS_PER_SECOND : LEAST_NS);
	if (p->first_ns > steps.start_ns)
		steps.first = (p->first_ns - steps.start_ns) / steps.step_ns;
	if (profile_each_sample(p, count_sample, &steps) >= 0)
		add_steps(b, page, &steps);
}

void browse_make_list(struct browse *b, struct browse_page *page)
{
	if (page->list == LIST_TIMES)
		make_time_list(b, page);
	else
		make_key_list(b, page);
}
