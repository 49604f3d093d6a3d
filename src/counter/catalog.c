/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counter/catalog.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "counter/pmu.h"

const char *const event_kind_keys[N_EVENT_KINDS] = {
#define X(id, key, text) [EVENT_##id] = key,
	EVENT_KINDS(X)
#undef X
};

const char *const event_kind_texts[N_EVENT_KINDS] = {
#define X(id, key, text) [EVENT_##id] = text,
	EVENT_KINDS(X)
#undef X
};

#define N_NEAREST 3
#define WORD_MAX  96 /* longer names are not compared: nobody mistypes those */

struct nearest {
	const char *word;
	size_t len;
	struct {
		char *name;
		unsigned int distance;
	} best[N_NEAREST];
};

/*
 * Damerau-Levenshtein distance of neighbours (insert, drop, change, swap two),
 * without regard to case, '-' equal to '_'. Gives `limit` as soon as it can't be less.
 */
static unsigned int distance(const char *a, size_t a_len, const char *b, size_t b_len,
			     unsigned int limit)
{
	unsigned int rows[3][WORD_MAX + 1];
	unsigned int *before = rows[0], *last = rows[1], *now = rows[2];

	if ((a_len > b_len ? a_len - b_len : b_len - a_len) >= limit)
		return limit;
	for (size_t j = 0; j <= b_len; j++)
		last[j] = (unsigned int)j;
	for (size_t i = 1; i <= a_len; i++) {
		unsigned int least = now[0] = (unsigned int)i, *spare = before;

		for (size_t j = 1; j <= b_len; j++) {
			unsigned int v = last[j - 1] + (a[i - 1] != b[j - 1]);

			v = MIN(v, MIN(last[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				v = MIN(v, before[j - 2] + 1);
			now[j] = v;
			least = MIN(least, v);
		}
		if (least >= limit)
			return limit;
		before = last;
		last = now;
		now = spare;
	}
	return last[b_len];
}

static size_t fold(const char *text, char folded[static WORD_MAX])
{
	size_t n = 0;

	for (; text[n] && n < WORD_MAX; n++)
		folded[n] = text[n] == '-' ? '_' : (char)tolower((unsigned char)text[n]);
	return text[n] ? 0 : n;
}

static void offer(struct nearest *near, const char *name, const char *show)
{
	char folded[WORD_MAX];
	size_t len = fold(name, folded);
	unsigned int worst = near->best[N_NEAREST - 1].distance, d;
	size_t at = N_NEAREST - 1;

	d = len ? distance(near->word, near->len, folded, len, worst) : worst;
	if (d >= worst)
		return;
	for (size_t i = 0; i < N_NEAREST; i++)
		if (near->best[i].name && !strcmp(near->best[i].name, show))
			return;
	free(near->best[at].name);
	for (; at > 0 && near->best[at - 1].distance > d; at--)
		near->best[at] = near->best[at - 1];
	near->best[at].name = xstrdup(show);
	near->best[at].distance = d;
}

static void offer_name(void *ctx, const struct event_name *event)
{
	offer(ctx, event->name, event->name);
	if (event->alias)
		offer(ctx, event->alias, event->alias);
	/* "sched_swich" is near to sched:sched_switch as well. */
	if (event->kind == EVENT_TRACEPOINT)
		offer(ctx, strchr(event->name, ':') + 1, event->name);
}

void catalog_nearest(const struct counter_sources *sources, const char *word, char *text,
		     size_t size)
{
	char folded[WORD_MAX];
	struct nearest near = { .word = folded, .len = fold(word, folded) };
	size_t len = 0;

	text[0] = '\0';
	if (!near.len)
		return;
	/* A third of the letters wrong, at most, is a slip of the fingers. */
	for (size_t i = 0; i < N_NEAREST; i++)
		near.best[i].distance = (unsigned int)(near.len / 3 + 1 + (near.len < 3));
	catalog_each(sources, offer_name, &near);
	for (size_t i = 0; i < N_NEAREST; i++) {
		if (near.best[i].name && len < size)
			len += (size_t)snprintf(text + len, size - len, "%s%s", len ? ", " : "",
						near.best[i].name);
		free(near.best[i].name);
	}
}

void catalog_each(const struct counter_sources *sources, event_visitor visit, void *ctx)
{
	generic_each(visit, ctx);
	tracepoint_each(sources, visit, ctx);
	pmu_each(sources, visit, ctx);
	event_files_each(sources, visit, ctx);
	pfm_each(visit, ctx);
}
