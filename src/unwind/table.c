/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/table.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "unwind/user_ctx.h"
#include "unwind/step.h"

#define ROWS_OF_LINE 16
#define FETCHED_ROWS (10 * ROWS_OF_LINE) /* most pages have fewer */

/* The page index ascends, and every page has a row, the first at its start. */
static bool pages_are_good(const struct unwind_table *t)
{
	const struct unwind_header *h = t->header;

	for (uint32_t i = 0; i < t->n_pages; i++)
		if (t->pages[i] >= t->pages[i + 1] || t->pages[i + 1] > h->n_rows ||
		    t->rows[t->pages[i]] >> UNWIND_RULE_BITS)
			return false;
	return t->pages[0] == 0 && t->pages[t->n_pages] == h->n_rows;
}

bool unwind_table_open(struct unwind_table *out, const void *bytes, size_t size)
{
	const struct unwind_header *h = bytes;
	struct unwind_table t = { .header = h };

	assert((uintptr_t)bytes % 8 == 0);
	if (size < sizeof(*h) || memcmp(h->magic, UNWIND_MAGIC, sizeof(h->magic)) != 0 ||
	    h->version != UNWIND_VERSION || h->size != size || !h->n_rules ||
	    h->n_rules > UNWIND_MAX_RULES ||
	    size != sizeof(*h) + 8ull * h->n_rules + 4ull * h->n_pages + 4 + 4ull * h->n_rows)
		return false;
	t.rules = (const struct unwind_rule *)(h + 1);
	t.pages = (const uint32_t *)(t.rules + h->n_rules);
	t.rows = t.pages + h->n_pages + 1;
	t.first_page = h->first_page;
	t.n_pages = h->n_pages;
	t.n_rules = h->n_rules;
	if (!pages_are_good(&t))
		return false;
	*out = t;
	return true;
}

bool unwind_table_is_sound(const struct unwind_table *t)
{
	const uint32_t mask = (1u << UNWIND_RULE_BITS) - 1;

	for (uint32_t p = 0; p < t->n_pages; p++)
		for (uint32_t i = t->pages[p]; i < t->pages[p + 1]; i++)
			if ((t->rows[i] & mask) >= t->n_rules ||
			    (i > t->pages[p] && t->rows[i] <= t->rows[i - 1]))
				return false;
	return true;
}

/* The rows of a page are some uncached cache lines: fetched at once, they cost one wait. */
static void fetch_rows(const uint32_t *rows, uint32_t n)
{
	for (uint32_t i = 0; i < MIN(n, FETCHED_ROWS); i += ROWS_OF_LINE)
		__builtin_prefetch(rows + i);
}

struct unwind_rule unwind_table_find(const struct unwind_table *t, uint64_t file_off)
{
	static const struct unwind_rule none;
	uint64_t page = (file_off >> UNWIND_PAGE_BITS) - t->first_page;
	struct unwind_ctx c = { .rows = t->rows };
	uint32_t first, end, rule;

	if (page >= t->n_pages)
		return none;
	first = t->pages[page];
	end = t->pages[page + 1];
	fetch_rows(t->rows + first, end - first);
	rule = unwind_search(&c, first, end, file_off & (UNWIND_PAGE_SIZE - 1));
	return rule < t->n_rules ? t->rules[rule] : none;
}

void unwind_table_fetch(const struct unwind_table *t, uint64_t file_off)
{
	uint64_t page = (file_off >> UNWIND_PAGE_BITS) - t->first_page;

	if (page < t->n_pages)
		fetch_rows(t->rows + t->pages[page], t->pages[page + 1] - t->pages[page]);
}
