/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Making an index: sort, choose among aliases, repair sizes, nest, bracket, write. */
#include <assert.h>
#include <string.h>

#include "symbol/index.h"
#include "base/reserve.h"
#include "symbol/symbols.h"

#define MAX_NAME_LEN    65535U
#define MAX_NESTING     8  /* hostile tables nest without end; real ones once or twice */
#define MIN_GAP         16 /* smaller ones are padding between functions */
#define MAX_COMPARE_LEN 256U

void index_draft_fini(struct index_draft *d)
{
	vec_fini(&d->symbols);
	vec_fini(&d->code);
	vec_fini(&d->go);
	name_units_fini(&d->units);
}

void index_draft_add(struct index_draft *d, uint64_t offset, uint64_t size, const char *name,
		     uint8_t rank)
{
	if (reserve_check() < 0)
		return;
	vec_push(&d->symbols, (struct index_draft_symbol){
				      .offset = offset,
				      .size = size,
				      .name = name,
				      .name_len = (uint32_t)strnlen(name, MAX_NAME_LEN),
				      .rank = rank,
				      .is_bound = true,
			      });
}

static bool is_sorted(const struct index_draft *d)
{
	for (size_t i = 1; i < d->symbols.n; i++)
		if (d->symbols.data[i].offset < d->symbols.data[i - 1].offset)
			return false;
	return true;
}

struct sort_key {
	uint64_t offset;
	uint32_t index;
};

/* One pass of a radix sort by 11 bits; stable. False if all keys have the same bits. */
static bool sort_pass(const struct sort_key *from, struct sort_key *to, size_t n,
		      unsigned int shift)
{
	uint32_t counts[2048] = { 0 };
	uint32_t sum = 0;

	for (size_t i = 0; i < n; i++)
		counts[(from[i].offset >> shift) & 2047]++;
	if (counts[(from[0].offset >> shift) & 2047] == n)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		uint32_t count = counts[i];

		counts[i] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[counts[(from[i].offset >> shift) & 2047]++] = from[i];
	return true;
}

/* By offset, stable. Kernel symbols come sorted; dynamic ones in hash order. */
static void sort_symbols(struct index_draft *d)
{
	size_t n = d->symbols.n;
	struct sort_key *keys, *spare;
	struct index_draft_symbol *sorted;

	if (is_sorted(d))
		return;
	keys = xmalloc(n * sizeof(*keys));
	spare = xmalloc(n * sizeof(*spare));
	for (size_t i = 0; i < n; i++)
		keys[i] = (struct sort_key){ d->symbols.data[i].offset, (uint32_t)i };
	for (unsigned int shift = 0; shift < 64; shift += 11) {
		if (sort_pass(keys, spare, n, shift)) {
			struct sort_key *swap = keys;

			keys = spare;
			spare = swap;
		}
	}
	sorted = xmalloc(n * sizeof(*sorted));
	for (size_t i = 0; i < n; i++)
		sorted[i] = d->symbols.data[keys[i].index];
	free(keys);
	free(spare);
	free(d->symbols.data);
	d->symbols.data = sorted;
	d->symbols.cap = n;
}

static uint32_t leading_underscores(const struct index_draft_symbol *s)
{
	uint32_t n = 0;

	while (n < MIN(s->name_len, MAX_COMPARE_LEN) && s->name[n] == '_')
		n++;
	return n;
}

/* The rank without the difference between global and weak. */
static uint32_t visibility_rank(const struct index_draft_symbol *s)
{
	return s->rank / 3 * 2 + (s->rank % 3 == DRAFT_LOCAL);
}

bool index_draft_is_better(const struct index_draft_symbol *a, const struct index_draft_symbol *b)
{
	uint32_t under_a, under_b;

	if (!a->name || !b->name)
		return a->name && !b->name;
	if (visibility_rank(a) != visibility_rank(b))
		return visibility_rank(a) < visibility_rank(b);
	under_a = leading_underscores(a);
	under_b = leading_underscores(b);
	if (under_a != under_b)
		return under_a < under_b;
	if (a->rank != b->rank)
		return a->rank < b->rank;
	if (a->size != b->size)
		return a->size > b->size;
	if (a->name_len != b->name_len)
		return a->name_len < b->name_len;
	return memcmp(a->name, b->name, MIN(a->name_len, MAX_COMPARE_LEN)) < 0;
}

/* Leaves one symbol an address. If it has no size, it gets the largest size of its aliases. */
static void settle_aliases(struct index_draft *d)
{
	struct index_draft_symbol *s = d->symbols.data;
	size_t kept = 0;

	for (size_t i = 0, next; i < d->symbols.n; i = next) {
		struct index_draft_symbol best = s[i];
		uint64_t size = s[i].size;

		for (next = i + 1; next < d->symbols.n && s[next].offset == best.offset; next++) {
			size = MAX(size, s[next].size);
			if (index_draft_is_better(&s[next], &best))
				best = s[next];
		}
		if (!best.size)
			best.size = size;
		s[kept++] = best;
	}
	d->symbols.n = kept;
}

static int index_draft_by_start(const void *a, const void *b)
{
	const struct code_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* The range of n sorted ones that holds the offset, or NULL; `*at` moves up with ascending offsets.
 */
static const struct code_range *range_of(const struct code_range *ranges, size_t n, size_t *at,
					 uint64_t offset)
{
	while (*at < n && ranges[*at].end <= offset)
		++*at;
	return *at < n && ranges[*at].start <= offset ? &ranges[*at] : NULL;
}

/* The end of the code range that holds the offset. */
static uint64_t code_end(const struct index_draft *d, size_t *at, uint64_t offset)
{
	const struct code_range *range = range_of(d->code.data, d->code.n, at, offset);

	return range ? range->end : UINT64_MAX;
}

/* Drops symbols without news inside a sized symbol: labels, nameless functions. */
static void drop_labels(struct index_draft *d)
{
	struct index_draft_symbol *s = d->symbols.data;
	uint64_t covered = 0; /* end of the furthest-reaching symbol with name and size so far */
	size_t kept = 0;

	for (size_t i = 0; i < d->symbols.n; i++) {
		if (s[i].offset < covered && (!s[i].size || !s[i].name))
			continue;
		if (s[i].size > UINT64_MAX - s[i].offset)
			s[i].size = UINT64_MAX - s[i].offset;
		if (s[i].size && s[i].name)
			covered = MAX(covered, s[i].offset + s[i].size);
		s[kept++] = s[i];
	}
	d->symbols.n = kept;
}

static void give_sizes(struct index_draft *d)
{
	struct index_draft_symbol *s = d->symbols.data;
	size_t kept = 0, range = 0;

	for (size_t i = 0; i < d->symbols.n; i++) {
		uint64_t end = i + 1 < d->symbols.n ? s[i + 1].offset : UINT64_MAX;

		if (s[i].size)
			continue;
		end = MIN(end, code_end(d, &range, s[i].offset));
		s[i].size = end == UINT64_MAX ? 1 : end - s[i].offset;
	}
	for (size_t i = 0; i < d->symbols.n; i++)
		if (!s[i].is_end)
			s[kept++] = s[i];
	d->symbols.n = kept;
}

static void add_gap(struct index_draft *d, uint64_t start, uint64_t end)
{
	if (end > start && end - start >= MIN_GAP)
		vec_push(&d->symbols,
			 (struct index_draft_symbol){ .offset = start, .size = end - start });
}

/* Code without a symbol and without unwind information, as assembly often is. */
static void fill_gaps(struct index_draft *d)
{
	size_t n = d->symbols.n, i = 0;
	uint64_t covered = 0;

	vec_foreach (&d->code, range) {
		covered = MAX(covered, range->start);
		for (; i < n && d->symbols.data[i].offset < range->end; i++) {
			uint64_t offset = d->symbols.data[i].offset;
			uint64_t end = offset + d->symbols.data[i].size;

			add_gap(d, covered, MAX(offset, range->start));
			covered = MAX(covered, end);
		}
		add_gap(d, covered, range->end);
		covered = MAX(covered, range->end);
	}
	if (d->symbols.n > n)
		sort_symbols(d);
}

/* outers[i]: the nearest earlier symbol that reaches beyond i's end, NO_SYMBOL if none. */
static bool nest_symbols(const struct index_draft *d, uint32_t *outers)
{
	uint32_t stack[MAX_NESTING], depth = 0;
	bool any = false;

	for (size_t i = 0; i < d->symbols.n; i++) {
		const struct index_draft_symbol *s = &d->symbols.data[i];

		while (depth && d->symbols.data[stack[depth - 1]].offset +
						d->symbols.data[stack[depth - 1]].size <=
					s->offset)
			depth--;
		outers[i] = depth ? stack[depth - 1] : NO_SYMBOL;
		any |= depth > 0;
		if (depth < MAX_NESTING)
			stack[depth++] = (uint32_t)i;
	}
	return any;
}

struct text {
	char *data;
	size_t size, cap;
};

/*
 * The place of the name in the text. Names beyond 4 GiB of text, or of its share of it, become "".
 */
static uint32_t index_draft_add_name(struct text *t, const char *name, uint32_t len)
{
	uint32_t at = (uint32_t)t->size;

	if (!len || t->size + len + 1 > t->cap)
		return 0;
	memcpy(t->data + at, name, len);
	t->data[at + len] = '\0';
	t->size += len + 1;
	return at;
}

/* Fills names[] and ends[]: a nameless symbol gets those of the bounds around it. */
static bool name_symbols(const struct index_draft *d, uint32_t *names, uint32_t *ends,
			 struct text *t)
{
	uint32_t low = 0, high = 0;
	bool any = false;

	for (size_t i = 0; i < d->symbols.n; i++) {
		const struct index_draft_symbol *s = &d->symbols.data[i];

		names[i] = s->name ? index_draft_add_name(t, s->name, s->name_len) : low;
		if (s->name && s->is_bound)
			low = names[i];
	}
	for (size_t i = d->symbols.n; i-- > 0;) {
		const struct index_draft_symbol *s = &d->symbols.data[i];

		ends[i] = s->name ? NO_SYMBOL : high;
		any |= !s->name;
		if (s->name && s->is_bound)
			high = names[i];
	}
	return any;
}

/* Room for all names; a hostile table that names one long string a million times gets less. */
static size_t text_limit(const struct index_draft *d)
{
	uint64_t sum = 1 + (d->debug_link ? strlen(d->debug_link) + 1 : 0);

	vec_foreach (&d->symbols, s) {
		sum += s->name_len + 1;
	}
	return MIN(sum, MIN((uint64_t)UINT32_MAX, 512 * (uint64_t)d->symbols.n + (16 << 20)));
}

/* The columns that are computed before the block is laid out. */
struct columns {
	uint32_t *names, *outers, *ends;
	uint8_t *languages;
	struct text text;
};

/* Returns whether any name needs its image to know its language. */
static bool find_languages(struct index_draft *d, uint8_t *languages)
{
	bool any = false;
	size_t at = 0;

	name_units_settle(&d->units);
	for (size_t i = 0; i < d->symbols.n; i++) {
		const struct index_draft_symbol *s = &d->symbols.data[i];

		languages[i] = NAME_ANY;
		if (range_of(d->go.data, d->go.n, &at, s->offset))
			languages[i] = NAME_GO;
		else if (s->name)
			languages[i] =
				(uint8_t)name_units_language(&d->units, s->name, s->name_len);
		any |= languages[i] != NAME_ANY;
	}
	return any;
}

static uint32_t make_columns(struct index_draft *d, struct columns *c)
{
	size_t n = d->symbols.n;
	uint32_t flags = 0;

	c->names = xmalloc(3 * n * sizeof(*c->names));
	c->outers = c->names + n;
	c->ends = c->outers + n;
	c->languages = xmalloc(n);
	c->text = (struct text){ .size = 1, .cap = text_limit(d) };
	c->text.data = xmalloc(c->text.cap);
	c->text.data[0] = '\0';
	if (nest_symbols(d, c->outers))
		flags |= INDEX_NESTED;
	if (name_symbols(d, c->names, c->ends, &c->text))
		flags |= INDEX_BRACKETED;
	if (find_languages(d, c->languages))
		flags |= INDEX_LANGUAGES;
	return flags;
}

static uint8_t *put_column(uint8_t *at, const uint32_t *column, size_t n)
{
	memcpy(at, column, n * sizeof(*column));
	return at + n * sizeof(*column);
}

static uint8_t *put_starts(uint8_t *at, const struct index_draft *d)
{
	uint64_t *starts = (uint64_t *)at;

	for (size_t i = 0; i < d->symbols.n; i++) {
		starts[i] = d->symbols.data[i].offset;
		assert(!i || starts[i - 1] <= starts[i]);
	}
	return (uint8_t *)(starts + d->symbols.n);
}

static uint8_t *put_sizes(uint8_t *at, const struct index_draft *d)
{
	uint32_t *sizes = (uint32_t *)at;

	for (size_t i = 0; i < d->symbols.n; i++)
		sizes[i] = (uint32_t)MIN(d->symbols.data[i].size, (uint64_t)UINT32_MAX);
	return (uint8_t *)(sizes + d->symbols.n);
}

/* Lays the block out as index.h shows. */
static struct index_header *put_block(const struct index_header *header,
				      const struct index_draft *d, const struct columns *c,
				      size_t *size)
{
	size_t n = d->symbols.n;
	uint8_t *block = xmalloc(sizeof(*header) + 25 * n + c->text.size);
	uint8_t *at = block + sizeof(*header);

	memcpy(block, header, sizeof(*header));
	at = put_starts(at, d);
	at = put_sizes(at, d);
	at = put_column(at, c->names, n);
	if (header->flags & INDEX_NESTED)
		at = put_column(at, c->outers, n);
	if (header->flags & INDEX_BRACKETED)
		at = put_column(at, c->ends, n);
	if (header->flags & INDEX_LANGUAGES) {
		memcpy(at, c->languages, n);
		at += n;
	}
	memcpy(at, c->text.data, c->text.size);
	*size = (size_t)(at - block) + c->text.size;
	return (struct index_header *)block;
}

/* More than sorting, the columns and the block take for each symbol. The text is there twice. */
#define FINISH_BYTES_SYMBOL 256

struct index_header *index_draft_finish(struct index_draft *d, size_t *size)
{
	cleanup(reserve_drop) struct reserve room = { 0 };
	struct index_header header = { .version = INDEX_VERSION };
	struct index_header *block;
	struct columns c;

	if (reserve_take(&room, d->symbols.n, FINISH_BYTES_SYMBOL) < 0 ||
	    reserve_take(&room, text_limit(d), 2) < 0)
		d->symbols.n = 0;
	memcpy(header.magic, INDEX_MAGIC, sizeof(header.magic));
	sort_symbols(d);
	settle_aliases(d);
	if (d->code.n)
		qsort(d->code.data, d->code.n, sizeof(*d->code.data), index_draft_by_start);
	if (d->go.n)
		qsort(d->go.data, d->go.n, sizeof(*d->go.data), index_draft_by_start);
	drop_labels(d);
	give_sizes(d);
	if (d->fill_gaps)
		fill_gaps(d);

	header.n = (uint32_t)d->symbols.n;
	header.flags = make_columns(d, &c);
	if (d->debug_link)
		header.debug_link =
			index_draft_add_name(&c.text, d->debug_link,
					     (uint32_t)strnlen(d->debug_link, MAX_NAME_LEN));
	header.text_size = c.text.size;
	block = put_block(&header, d, &c, size);
	free(c.names);
	free(c.languages);
	free(c.text.data);
	index_draft_fini(d);
	return block;
}
