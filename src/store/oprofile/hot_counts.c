/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/oprofile/hot_counts.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Keys a line, of HOT_LINE_KEYS: with more of them some lines would be full. */
#define KEYS_A_LINE 4

#define MIN_LINES 256U
#define MAX_LINES 65536U

void hot_counts_init(struct hot_counts *h, uint32_t n_keys)
{
	void *lines = NULL;

	*h = (struct hot_counts){ .n_lines = MIN_LINES, .room = UINT32_MAX };
	while (h->n_lines < MAX_LINES && h->n_lines < n_keys / KEYS_A_LINE)
		h->n_lines *= 2;
	h->shift = 32 - (uint32_t)__builtin_ctz(h->n_lines);
	if (posix_memalign(&lines, sizeof(struct hot_line), h->n_lines * sizeof(struct hot_line)))
		abort(); /* as xmalloc() does */
	memset(lines, 0, h->n_lines * sizeof(struct hot_line));
	h->lines = lines;
}

void hot_counts_fini(struct hot_counts *h)
{
	free(h->lines);
	*h = (struct hot_counts){ 0 };
}

bool hot_counts_put(struct hot_line *line, uint32_t key, uint32_t count)
{
	for (uint32_t i = 0; i < HOT_LINE_KEYS; i++)
		if (!line->keys[i / 4][i % 4]) {
			line->keys[i / 4][i % 4] = key;
			line->counts[i / 4][i % 4] = count;
			return true;
		}
	return false;
}

void hot_counts_drain(struct hot_counts *h,
		      void (*take)(void *context, uint64_t key, uint32_t count), void *context)
{
	for (uint32_t n = 0; n < h->n_lines; n++) {
		struct hot_line *line = &h->lines[n];

		for (uint32_t i = 0; i < HOT_LINE_KEYS; i++) {
			uint32_t count = line->counts[i / 4][i % 4];

			if (!count)
				continue;
			line->counts[i / 4][i % 4] = 0;
			take(context, (uint64_t)line->keys[i / 4][i % 4] - 1, count);
		}
	}
	h->room = h->lines ? UINT32_MAX : 0;
}
