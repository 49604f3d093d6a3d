/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/store/hot_counts.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Keys beyond 256 MB go into the file, and all that need more than 16 MB of pages. */
#define MAX_DIRECTORY 65536U
#define MAX_PAGES     4096U

void hot_counts_init(struct hot_counts *h)
{
	*h = (struct hot_counts){ .pages = xcalloc(MAX_DIRECTORY, sizeof(*h->pages)),
				  .n_directory = MAX_DIRECTORY };
}

void hot_counts_fini(struct hot_counts *h)
{
	for (uint32_t page = 0; page < h->n_directory; page++)
		free(h->pages[page]);
	free(h->pages);
	*h = (struct hot_counts){ 0 };
}

uint64_t hot_counts_add_rarely(struct hot_counts *h, uint64_t key, uint64_t count)
{
	uint64_t page = key / HOT_PAGE_KEYS;
	uint8_t *at;

	if (page >= h->n_directory || count > UINT8_MAX)
		return count;
	if (!h->pages[page]) {
		if (h->n_pages == MAX_PAGES)
			return count;
		h->pages[page] = xcalloc(HOT_PAGE_KEYS, 1);
		h->n_pages++;
	}
	at = &h->pages[page][key % HOT_PAGE_KEYS];
	count += *at;
	*at = count > UINT8_MAX ? 0 : (uint8_t)count;
	if (!*at)
		h->n_spilled += count;
	return *at ? 0 : count;
}

static uint64_t drain_page(uint8_t *counts, uint64_t key,
			   void (*take)(void *context, uint64_t key, uint32_t count), void *context)
{
	uint64_t sum = 0, word;

	for (uint32_t i = 0; i < HOT_PAGE_KEYS; i += sizeof(word)) {
		memcpy(&word, counts + i, sizeof(word));
		for (uint32_t n = i; word && n < i + sizeof(word); n++)
			if (counts[n]) {
				take(context, key + n, counts[n]);
				sum += counts[n];
				counts[n] = 0;
			}
	}
	return sum;
}

uint64_t hot_counts_drain(struct hot_counts *h,
			  void (*take)(void *context, uint64_t key, uint32_t count), void *context)
{
	uint64_t sum = h->n_spilled;

	for (uint32_t page = 0; page < h->n_directory; page++)
		if (h->pages[page])
			sum += drain_page(h->pages[page], (uint64_t)page * HOT_PAGE_KEYS, take,
					  context);
	h->n_spilled = 0;
	return sum;
}
