/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/address_space.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* A run grows and shrinks by so many mappings. */
#define RUN_STEP 16

/* A place between mappings; at the end of all, run is n_runs. */
struct position {
	size_t run;
	uint32_t at;
};

/* ---- runs ---- */

static void run_fit(struct mapping_run *r, uint32_t n)
{
	uint32_t cap = (n + RUN_STEP - 1) / RUN_STEP * RUN_STEP;

	if (cap == r->cap)
		return;
	r->data = xrealloc(r->data, cap, sizeof(*r->data));
	r->cap = cap;
}

static struct mapping_run *run_add(struct address_space *a, size_t at)
{
	if (a->n_runs == a->runs_cap) {
		a->runs_cap = MAX(a->runs_cap * 2, (size_t)1);
		a->runs = xrealloc(a->runs, a->runs_cap, sizeof(*a->runs));
	}
	memmove(a->runs + at + 1, a->runs + at, (a->n_runs - at) * sizeof(*a->runs));
	a->n_runs++;
	a->runs[at] = (struct mapping_run){ 0 };
	return &a->runs[at];
}

static void run_drop(struct address_space *a, size_t at)
{
	free(a->runs[at].data);
	a->n_runs--;
	memmove(a->runs + at, a->runs + at + 1, (a->n_runs - at) * sizeof(*a->runs));
}

static void run_append(struct mapping_run *to, const struct mapping *from, uint32_t n)
{
	run_fit(to, to->n + n);
	memcpy(to->data + to->n, from, n * sizeof(*from));
	to->n += n;
}

/* The upper half of a full run becomes a run. */
static void run_split(struct address_space *a, size_t at)
{
	struct mapping_run *upper = run_add(a, at + 1), *lower = &a->runs[at];
	uint32_t half = lower->n / 2;

	run_append(upper, lower->data + half, lower->n - half);
	lower->n = half;
	run_fit(lower, half);
}

/* Joins a run with the next if they are small. Otherwise, runs of one mapping could remain. */
static void run_join(struct address_space *a, size_t at)
{
	if (at + 1 >= a->n_runs || a->runs[at].n + a->runs[at + 1].n > MAPPINGS_RUN / 2)
		return;
	run_append(&a->runs[at], a->runs[at + 1].data, a->runs[at + 1].n);
	run_drop(a, at + 1);
}

/* ---- all ---- */

void address_space_clear(struct address_space *a)
{
	for (size_t i = 0; i < a->n_runs; i++)
		free(a->runs[i].data);
	a->n_runs = a->n = 0;
}

void address_space_fini(struct address_space *a)
{
	address_space_clear(a);
	free(a->runs);
	*a = (struct address_space){ 0 };
}

void address_space_copy(struct address_space *to, const struct address_space *from)
{
	address_space_clear(to);
	for (size_t i = 0; i < from->n_runs; i++)
		run_append(run_add(to, i), from->runs[i].data, from->runs[i].n);
	to->n = from->n;
}

/* ---- places ---- */

/* The first run that ends behind `addr`. */
static size_t run_lower(const struct address_space *a, uint64_t addr)
{
	size_t low = 0, high = a->n_runs;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (a->runs[mid].data[a->runs[mid].n - 1].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The first mapping that ends behind `addr`. */
static struct position mapping_lower(const struct address_space *a, uint64_t addr)
{
	struct position p = { a->n_runs > 1 ? run_lower(a, addr) : 0, 0 };
	uint32_t high = p.run < a->n_runs ? a->runs[p.run].n : 0;

	while (p.at < high) {
		uint32_t mid = p.at + (high - p.at) / 2;

		if (a->runs[p.run].data[mid].end <= addr)
			p.at = mid + 1;
		else
			high = mid;
	}
	return p;
}

/* NULL: it is the end. */
static struct mapping *mapping_at(const struct address_space *a, struct position p)
{
	return p.run < a->n_runs && p.at < a->runs[p.run].n ? &a->runs[p.run].data[p.at] : NULL;
}

static struct position position_next(const struct address_space *a, struct position p)
{
	return p.at + 1 < a->runs[p.run].n ? (struct position){ p.run, p.at + 1 }
					   : (struct position){ p.run + 1, 0 };
}

/* ---- changes ---- */

static void mapping_insert(struct address_space *a, const struct mapping *m)
{
	struct position p = mapping_lower(a, m->start);
	const struct mapping *above = mapping_at(a, p);
	struct mapping copy = *m;
	struct mapping_run *r;

	/* sorted, and without overlaps: mapping_lower() searches by halves */
	assert(!above || m->end <= above->start);
	if (!a->n_runs)
		run_add(a, 0);
	if (p.run == a->n_runs)
		p = (struct position){ a->n_runs - 1, a->runs[a->n_runs - 1].n };
	if (a->runs[p.run].n == MAPPINGS_RUN) {
		run_split(a, p.run);
		if (p.at > a->runs[p.run].n)
			p = (struct position){ p.run + 1, p.at - a->runs[p.run].n };
	}
	r = &a->runs[p.run];
	run_fit(r, r->n + 1);
	memmove(r->data + p.at + 1, r->data + p.at, (r->n - p.at) * sizeof(*r->data));
	r->data[p.at] = copy;
	r->n++;
	a->n++;
}

/* Removes the mappings from a place on that end at `end` or before. */
static void mappings_remove(struct address_space *a, struct position p, uint64_t end)
{
	size_t first = p.run;

	while (p.run < a->n_runs) {
		struct mapping_run *r = &a->runs[p.run];
		uint32_t n = 0;

		while (p.at + n < r->n && r->data[p.at + n].end <= end)
			n++;
		r->n -= n;
		a->n -= n;
		memmove(r->data + p.at, r->data + p.at + n, (r->n - p.at) * sizeof(*r->data));
		if (n && r->n)
			run_fit(r, r->n);
		if (p.at < r->n)
			break;
		if (r->n)
			p = (struct position){ p.run + 1, 0 };
		else
			run_drop(a, p.run);
	}
	run_join(a, first);
	if (first)
		run_join(a, first - 1);
}

static void mapping_cut_start(struct mapping *m, uint64_t start)
{
	m->file_off += start - m->start;
	m->start = start;
}

void address_space_map(struct address_space *a, const struct mapping *m)
{
	struct position p = mapping_lower(a, m->start);
	struct mapping *at = mapping_at(a, p);

	if (m->end <= m->start)
		return;
	if (at && at->start < m->start) {
		struct mapping above = *at;

		at->end = m->start;
		if (above.end > m->end) { /* the new one lies inside: the upper part stays */
			mapping_cut_start(&above, m->end);
			mapping_insert(a, &above);
		} else {
			p = position_next(a, p);
		}
	}
	at = mapping_at(a, p);
	if (at && at->start >= m->start && at->end <= m->end)
		mappings_remove(a, p, m->end);
	at = mapping_at(a, mapping_lower(a, m->start));
	if (at && at->start < m->end)
		mapping_cut_start(at, m->end);
	mapping_insert(a, m);
}

const struct mapping *address_space_next(const struct address_space *a, uint64_t addr)
{
	return mapping_at(a, mapping_lower(a, addr));
}

const struct mapping *address_space_find(const struct address_space *a, uint64_t addr)
{
	const struct mapping *at = address_space_next(a, addr);

	return at && at->start <= addr ? at : NULL;
}
