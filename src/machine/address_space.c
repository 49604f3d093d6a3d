/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/address_space.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

void address_space_fini(struct address_space *a)
{
	free(a->data);
	*a = (struct address_space){ 0 };
}

void address_space_clear(struct address_space *a)
{
	a->n = 0;
}

void address_space_copy(struct address_space *to, const struct address_space *from)
{
	vec_reserve(to, from->n);
	if (from->n)
		memcpy(to->data, from->data, from->n * sizeof(*from->data));
	to->n = from->n;
}

/* The index of the first mapping that ends behind `addr`. */
static size_t mapping_lower(const struct address_space *a, uint64_t addr)
{
	size_t low = 0, high = a->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (a->data[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void mapping_insert(struct address_space *a, size_t at, const struct mapping *m)
{
	struct mapping copy = *m;

	/* sorted, and without overlaps: mapping_lower() searches by halves */
	assert(!at || a->data[at - 1].end <= m->start);
	assert(at == a->n || m->end <= a->data[at].start);
	vec_reserve(a, a->n + 1);
	memmove(a->data + at + 1, a->data + at, (a->n - at) * sizeof(*a->data));
	a->data[at] = copy;
	a->n++;
}

static void mappings_remove(struct address_space *a, size_t at, size_t n)
{
	if (!n)
		return;
	if (!n)
		return;
	memmove(a->data + at, a->data + at + n, (a->n - at - n) * sizeof(*a->data));
	a->n -= n;
}

static void mapping_cut_start(struct mapping *m, uint64_t start)
{
	m->file_off += start - m->start;
	m->start = start;
}

void address_space_map(struct address_space *a, const struct mapping *m)
{
	size_t at = mapping_lower(a, m->start), gone;

	if (m->end <= m->start)
		return;
	if (at < a->n && a->data[at].start < m->start) {
		struct mapping *below = &a->data[at];

		if (below->end > m->end) { /* the new one lies inside: the upper part stays */
			struct mapping above = *below;

			mapping_cut_start(&above, m->end);
			below->end = m->start;
			mapping_insert(a, at + 1, &above);
			mapping_insert(a, at + 1, m);
			return;
		}
		below->end = m->start;
		at++;
	}
	for (gone = 0; at + gone < a->n && a->data[at + gone].end <= m->end; gone++)
		;
	mappings_remove(a, at, gone);
	if (at < a->n && a->data[at].start < m->end)
		mapping_cut_start(&a->data[at], m->end);
	mapping_insert(a, at, m);
}

const struct mapping *address_space_find(const struct address_space *a, uint64_t addr)
{
	size_t at = mapping_lower(a, addr);

	return at < a->n && a->data[at].start <= addr ? &a->data[at] : NULL;
}
