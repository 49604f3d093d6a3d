/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/*
 * Damerau-Levenshtein distance of neighbours (insert, drop, change, swap two),
 * without regard to case, '-' equal to '_'. Gives `limit` as soon as it can't be less.
 */
static unsigned int edit_distance(const char *a, size_t a_len, const char *b, size_t b_len,
				  unsigned int limit)
{
	unsigned int rows[3][NEAREST_WORD_MAX + 1];
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

static size_t fold(const char *text, char folded[static NEAREST_WORD_MAX])
{
	size_t n = 0;

	for (; text[n] && n < NEAREST_WORD_MAX; n++)
		folded[n] = text[n] == '-' ? '_' : (char)tolower((unsigned char)text[n]);
	return text[n] ? 0 : n;
}

void nearest_offer(struct nearest *near, const char *name, const char *show)
{
	char folded[NEAREST_WORD_MAX];
	size_t len = fold(name, folded);
	unsigned int worst = near->best[N_NEAREST - 1].distance, d;
	size_t at = N_NEAREST - 1;

	d = len && near->len ? edit_distance(near->word, near->len, folded, len, worst) : worst;
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

void nearest_begin(struct nearest *near, const char *word)
{
	*near = (struct nearest){ 0 };
	near->len = fold(word, near->word);
	/* A third of the letters wrong, at most, is a slip of the fingers. */
	for (size_t i = 0; i < N_NEAREST; i++)
		near->best[i].distance = (unsigned int)(near->len / 3 + 1 + (near->len < 3));
}

void nearest_end(struct nearest *near, char *text, size_t size)
{
	size_t len = 0;

	if (size)
		text[0] = '\0';
	for (size_t i = 0; i < N_NEAREST; i++) {
		if (near->best[i].name && len < size)
			len += (size_t)snprintf(text + len, size - len, "%s%s", len ? ", " : "",
						near->best[i].name);
		free(near->best[i].name);
		near->best[i].name = NULL;
	}
}
