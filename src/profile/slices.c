/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/slices.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "profile/index.h"
#include "profile/load_part.h"
#include "store/session.h"

/* An entry and its weights may take so many bytes, before slices become longer. */
#define ENTRIES_BYTES ((size_t)64 << 20)
#define LONGEST_S     (1u << 30)

static int by_time(const void *a, const void *b)
{
	const struct profile_slice *x = a, *y = b;

	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

void slices_sort(struct profile *p)
{
	if (p->slices.n)
		qsort(p->slices.data, p->slices.n, sizeof(*p->slices.data), by_time);
}

static size_t entries_limit(const struct profile *p)
{
	if (p->index->request->max_entries)
		return p->index->request->max_entries;
	return ENTRIES_BYTES / (sizeof(struct profile_entry) + p->n_lanes * sizeof(struct weight));
}

/* Entries of the same group and node come together. */
struct placed {
	struct profile_entry entry;
	size_t at;
};

static int by_entry(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->entry.group != y->entry.group)
		return x->entry.group < y->entry.group ? -1 : 1;
	if (x->entry.node != y->entry.node)
		return x->entry.node < y->entry.node ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

/* The profile's entries while they are joined. */
struct joined {
	struct profile *p;
	VEC(struct profile_slice) slices;
	VEC(struct profile_entry) entries;
	VEC(struct weight) weights;
	VEC(struct placed) placed; /* of the new slice */
};

static void add_weights_of(struct joined *j, size_t from)
{
	uint32_t n_lanes = j->p->n_lanes;

	for (uint32_t lane = 0; lane < n_lanes; lane++)
		weight_add(&j->weights.data[j->weights.n - n_lanes + lane],
			   &profile_weights(j->p, from)[lane]);
}

static void end_slice(struct joined *j, struct profile_slice *slice)
{
	slice->first = j->entries.n;
	if (j->placed.n)
		qsort(j->placed.data, j->placed.n, sizeof(*j->placed.data), by_entry);
	vec_foreach (&j->placed, x) {
		const struct profile_entry *last =
			j->entries.n > slice->first ? &j->entries.data[j->entries.n - 1] : NULL;

		if (!last || last->group != x->entry.group || last->node != x->entry.node) {
			vec_push(&j->entries, x->entry);
			for (uint32_t lane = 0; lane < j->p->n_lanes; lane++)
				vec_push(&j->weights, (struct weight){ 0 });
		}
		add_weights_of(j, x->at);
	}
	slice->n = j->entries.n - slice->first;
	vec_push(&j->slices, *slice);
	j->placed.n = 0;
}

static uint64_t slice_number(const struct profile *p, const struct profile_slice *slice)
{
	uint64_t start = p->session->info.start_ns;

	return (slice->first_ns > start ? slice->first_ns - start : 0) / NS_PER_SECOND / p->slice_s;
}

/* Makes one slice of all that begin in the same slice_s seconds. */
static void join(struct profile *p)
{
	struct joined j = { .p = p };

	for (size_t s = 0; s < p->slices.n; s++) {
		struct profile_slice slice = p->slices.data[s];
		uint64_t number = slice_number(p, &slice);

		for (;; s++) {
			const struct profile_slice *part = &p->slices.data[s];

			slice.last_ns = MAX(slice.last_ns, part->last_ns);
			for (size_t i = part->first; i < part->first + part->n; i++)
				vec_push(&j.placed, (struct placed){ p->entries.data[i], i });
			if (s + 1 == p->slices.n || slice_number(p, part + 1) != number)
				break;
		}
		end_slice(&j, &slice);
	}
	vec_fini(&j.placed);
	vec_fini(&p->slices);
	vec_fini(&p->entries);
	vec_fini(&p->weights);
	memcpy(&p->slices, &j.slices, sizeof(p->slices));
	memcpy(&p->entries, &j.entries, sizeof(p->entries));
	memcpy(&p->weights, &j.weights, sizeof(p->weights));
}

static bool slices_are_one(const struct profile *p, uint64_t first_ns, uint64_t last_ns)
{
	const struct session_info *info = &p->session->info;
	uint64_t length_ns = p->slice_s * NS_PER_SECOND;

	return p->slice_s > 1 && session_wall_ns(info, first_ns) / length_ns ==
					 session_wall_ns(info, last_ns) / length_ns;
}

bool slices_have_one(const struct profile *p, const struct load_part *part)
{
	struct block span = load_part_span(part);

	return !p->index->request->with_slices || !part->blocks.n ||
	       slices_are_one(p, span.first_ns, MAX(span.last_ns, span.first_ns + 1) - 1);
}

/* Whether the block is of the same seconds as the last slice, and no overview of them. */
static bool goes_on(const struct profile *p, const struct block *block)
{
	const struct profile_slice *last = p->slices.n ? &p->slices.data[p->slices.n - 1] : NULL;
	uint64_t length_ns = p->slice_s * NS_PER_SECOND;

	return last && last->first + last->n == p->entries.n &&
	       block->last_ns - block->first_ns < length_ns / 2 &&
	       block->first_ns >= last->last_ns &&
	       slices_are_one(p, last->first_ns, block->first_ns);
}

void slices_begin(struct profile *p, const struct block *block)
{
	if (!p->index->request->with_slices)
		return;
	if (p->index->request->slice_s <= 1)
		p->index->first_entry = UINT32_MAX;
	else if (!goes_on(p, block))
		p->index->first_entry = (uint32_t)p->entries.n;
}

void slices_add(struct profile *p, const struct block *block, size_t first)
{
	bool is_joined = p->slices.n && p->index->first_entry < first;

	if (!p->index->request->with_slices)
		return;
	if (is_joined) {
		struct profile_slice *last = &p->slices.data[p->slices.n - 1];

		last->last_ns = MAX(last->last_ns, block->last_ns);
		last->n = p->entries.n - last->first;
	} else if (p->entries.n > first) {
		vec_push(&p->slices, (struct profile_slice){ block->first_ns, block->last_ns, first,
							     p->entries.n - first });
	}
	if (p->entries.n <= entries_limit(p) || p->slice_s >= LONGEST_S)
		return;
	slices_sort(p);
	do {
		p->slice_s *= 2;
		join(p);
	} while (p->entries.n > entries_limit(p) / 2 && p->slices.n > 1 && p->slice_s < LONGEST_S);
	if (p->index->first_entry != UINT32_MAX) /* joined slices are over */
		p->index->first_entry = (uint32_t)p->entries.n;
}
