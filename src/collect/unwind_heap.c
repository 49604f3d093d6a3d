/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/unwind_heap.h"

#include <string.h>

#include "collect/bpf/shared.h"

/* The words at a place, up to the end of their chunk. NULL: no room. */
static uint32_t *words_at(struct unwind_heap *h, uint32_t at)
{
	uint32_t number = (at >> CHUNK_BITS) - h->first, *chunk;

	while (h->chunks.n <= number) {
		chunk = h->chunk(h->ctx, h->first + (uint32_t)h->chunks.n);
		if (!chunk)
			return NULL;
		vec_push(&h->chunks, chunk);
	}
	return h->chunks.data[number] + (at & (CHUNK_WORDS - 1));
}

static bool write_pair(struct unwind_heap *h, uint32_t at, uint32_t first, uint32_t second)
{
	uint32_t *words = words_at(h, at);

	if (!words)
		return false;
	words[0] = first;
	words[1] = second;
	return true;
}

static bool write_rules(struct unwind_heap *h, uint32_t at, const struct unwind_table *t)
{
	uint32_t pair[2];

	for (uint32_t i = 0; i < t->n_rules; i++) {
		memcpy(pair, &t->rules[i], sizeof(pair));
		if (!write_pair(h, at + i * 2, pair[0], pair[1]))
			return false;
	}
	return true;
}

/* Writes the rows of all pages and their places. *at becomes the word behind them. */
static bool write_rows(struct unwind_heap *h, uint32_t pages_at, const struct unwind_table *t,
		       uint32_t *at)
{
	for (uint32_t i = 0; i < t->n_pages; i++) {
		uint32_t n = t->pages[i + 1] - t->pages[i];
		uint32_t left = CHUNK_WORDS - (*at & (CHUNK_WORDS - 1)), *words;

		if (n > CHUNK_WORDS) /* more rows than a page has bytes: damaged */
			return false;
		if (n > left)
			*at += left;
		words = words_at(h, *at);
		if (!words || !write_pair(h, pages_at + i * 2, *at, n))
			return false;
		memcpy(words, t->rows + t->pages[i], n * sizeof(*words));
		*at += n;
	}
	return true;
}

/* The first n chunks. */
static void release_chunks(struct unwind_heap *h, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h->release(h->ctx, h->chunks.data[i]);
	h->chunks.n -= n;
	if (h->chunks.n)
		memmove(h->chunks.data, h->chunks.data + n, h->chunks.n * sizeof(*h->chunks.data));
	h->first += (uint32_t)n;
}

static uint64_t words_of(const struct unwind_table *t)
{
	return sizeof(struct heap_table) / sizeof(uint32_t) +
	       2 * ((uint64_t)t->n_pages + t->n_rules) + t->header->n_rows;
}

/* Whether the owner of a table may have so many words more. */
static bool owner_may_have(const struct unwind_heap *h, const struct unwind_table *t)
{
	uint64_t words = words_of(t);
	const uint32_t *has = intmap_find(&h->words_by_owner, t->header->owner);

	return !h->max_words || !t->header->owner ||
	       (words + (has ? *has : 0) <= h->max_words / 2 &&
		words + h->words_of_users <= h->max_words / 4 * 3);
}

static void charge_owner(struct unwind_heap *h, const struct unwind_table *t)
{
	uint64_t words = words_of(t);

	if (!h->max_words || !t->header->owner)
		return;
	*intmap_put(&h->words_by_owner, t->header->owner, NULL) += (uint32_t)words;
	h->words_of_users += words;
}

uint32_t unwind_heap_put(struct unwind_heap *h, const struct unwind_table *t)
{
	uint32_t place, pages, rules, rows;

	if (!owner_may_have(h, t))
		return 0;

	h->next = MAX(h->next, (uint32_t)TABLE_FIRST);
	place = h->next = (h->next + 1) & ~1u;
	pages = place + sizeof(struct heap_table) / sizeof(uint32_t);
	rules = pages + t->n_pages * 2;
	rows = rules + t->n_rules * 2;
	if (!write_pair(h, place, t->first_page, t->n_pages) ||
	    !write_pair(h, place + 2, rules, t->n_rules) || !write_rules(h, rules, t) ||
	    !write_rows(h, pages, t, &rows))
		return 0;
	h->next = rows;
	charge_owner(h, t);
	release_chunks(h, MIN((rows >> CHUNK_BITS) - h->first, h->chunks.n));
	return place;
}

void unwind_heap_clear(struct unwind_heap *h)
{
	release_chunks(h, h->chunks.n);
	h->first = h->next = 0;
	h->words_of_users = 0;
	intmap_clear(&h->words_by_owner);
}

void unwind_heap_fini(struct unwind_heap *h)
{
	release_chunks(h, h->chunks.n);
	vec_fini(&h->chunks);
	intmap_fini(&h->words_by_owner);
}
