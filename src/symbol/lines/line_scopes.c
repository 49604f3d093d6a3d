/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "symbol/lines/line_draft.h"

/* Nodes are numbered outer before inner. */
static inline uint64_t scope_rank(const struct scope_interval *x)
{
	return (uint64_t)x->start << 32 | x->node;
}

static void merge_scopes(const struct scope_interval *a, size_t n, const struct scope_interval *b,
			 size_t m, struct scope_interval *out)
{
	while (n && m) {
		bool is_b = scope_rank(b) < scope_rank(a);

		*out++ = is_b ? *b : *a;
		b += is_b;
		m -= is_b;
		a += !is_b;
		n -= !is_b;
	}
	memcpy(out, n ? a : b, (n + m) * sizeof(*out));
}

static void sort_few_scopes(struct scope_interval *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct scope_interval x = v[i];
		size_t at = i;

		for (; at && scope_rank(&v[at - 1]) > scope_rank(&x); at--)
			v[at] = v[at - 1];
		v[at] = x;
	}
}

#define SORTED_AT_ONCE 16

/* Sorts pieces of a few, then merges pairs: several times as fast as qsort(3). */
static struct scope_interval *sort_scopes(struct line_scan *s, struct scope_interval *v, size_t n)
{
	struct scope_interval *from = v, *to;

	for (size_t i = 0; i < n; i += SORTED_AT_ONCE)
		sort_few_scopes(v + i, MIN(n - i, (size_t)SORTED_AT_ONCE));
	if (n <= SORTED_AT_ONCE)
		return v;
	vec_reserve(&s->merged, n);
	to = s->merged.data;
	for (size_t width = SORTED_AT_ONCE; width < n; width *= 2) {
		struct scope_interval *other = from;

		for (size_t i = 0; i < n; i += 2 * width) {
			size_t half = MIN(n - i, width);

			merge_scopes(from + i, half, from + i + half, MIN(n - i - half, width),
				     to + i);
		}
		from = to;
		to = other;
	}
	return from;
}

static void emit_scope(struct line_scopes *out, uint32_t first, uint32_t start, uint32_t node)
{
	struct line_scope *last = out->list.n > first ? &out->list.data[out->list.n - 1] : NULL;

	if (last && last->start == start)
		last->node = node;
	else if (!last || last->node != node)
		vec_push(&out->list, (struct line_scope){ start, node });
}

/* Cuts the list into runs: a gap without a node may hold another function. */
static void cut_runs(struct line_scan *s, uint32_t first)
{
	const struct line_scope *list = s->scopes.list.data;
	uint32_t start = first;

	for (uint32_t i = first; i < s->scopes.list.n; i++) {
		if (list[i].node != NO_NODE)
			continue;
		if (i > start)
			vec_push(&s->scopes.runs,
				 (struct line_run){ list[start].start, list[i].start, start,
						    i - start, s->unit });
		start = i + 1;
	}
}

static void pop_nest(struct line_scan *s, uint32_t first, uint32_t up_to)
{
	while (s->nest.n && s->nest.data[s->nest.n - 1].end <= up_to) {
		uint32_t end = s->nest.data[--s->nest.n].end;

		emit_scope(&s->scopes, first, end,
			   s->nest.n ? s->nest.data[s->nest.n - 1].node : NO_NODE);
	}
}

void line_scan_flatten(struct line_scan *s, size_t from)
{
	size_t n = s->intervals.n - from;
	struct scope_interval *v;
	uint32_t first = (uint32_t)s->scopes.list.n;

	if (!n)
		return;
	v = sort_scopes(s, s->intervals.data + from, n);
	s->nest.n = 0;
	for (size_t i = 0; i < n; i++) {
		struct scope_interval x = v[i];

		pop_nest(s, first, x.start);
		if (s->nest.n)
			x.end = MIN(x.end, s->nest.data[s->nest.n - 1].end);
		vec_push(&s->nest, x);
		emit_scope(&s->scopes, first, x.start, x.node);
	}
	pop_nest(s, first, UINT32_MAX);
	cut_runs(s, first);
	s->intervals.n = from;
}
