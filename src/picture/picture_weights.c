/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "picture/picture_weights.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/intmap.h"
#include "profile/query.h"
#include "profile/wakers.h"
#include "store/history/history.h"
#include "store/session.h"

static int compare_cells(const void *a, const void *b)
{
	const struct picture_cell *x = a, *y = b;

	return (x->node > y->node) - (x->node < y->node);
}

/* The cells of one bucket, each node once, in the order of nodes; the number that is left. */
static size_t settle_bucket(struct picture_cell *cells, size_t n, uint32_t *place)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t *at = &place[cells[i].node]; /* its place + 1 */

		if (*at) {
			weight_add(&cells[*at - 1].weight, &cells[i].weight);
		} else {
			cells[kept++] = cells[i];
			*at = (uint32_t)kept;
		}
	}
	for (size_t i = 0; i < kept; i++)
		place[cells[i].node] = 0;
	if (kept)
		qsort(cells, kept, sizeof(*cells), compare_cells);
	return kept;
}

/* By node: zeros, which settle_bucket() leaves as they were. */
static uint32_t *new_places(const struct picture *pic)
{
	return xcalloc(pic->nodes.n + 1, sizeof(uint32_t));
}

/*
 * Sorts the cells from `from` on, whose buckets are in order: each (bucket, node) once. Returns the
 * number of all that are left. Many cells are of few nodes, so they are added up first. `place` is
 * of new_places().
 */
static size_t picture_weights_settle(struct picture_cell *cells, size_t from, size_t n,
				     uint32_t *place)
{
	size_t kept = from;

	for (size_t i = from, next; i < n; i = next) {
		for (next = i; next < n && cells[next].bucket == cells[i].bucket;)
			next++;
		memmove(&cells[kept], &cells[i], (next - i) * sizeof(*cells));
		kept += settle_bucket(&cells[kept], next - i, place);
	}
	return kept;
}

static uint64_t since_start(const struct profile *p, uint64_t ns)
{
	uint64_t start = p->session->info.start_ns;

	return ns > start ? ns - start : 0;
}

/* A time that only a damaged session has goes to the last bucket. */
static uint32_t picture_weights_bucket_of(const struct picture *pic, uint64_t ns)
{
	return (uint32_t)MIN(since_start(pic->report->profile, ns) / NS_PER_SECOND / pic->bucket_s,
			     PICTURE_MAX_BUCKETS - 1);
}

static uint64_t slice_ns(const struct profile_slice *slice)
{
	return slice->last_ns > slice->first_ns ? slice->last_ns - slice->first_ns : 0;
}

/* A block of minutes or hours counts where its middle is. */
static uint32_t bucket_of_slice(const struct picture *pic, const struct profile_slice *slice)
{
	return picture_weights_bucket_of(pic,
					 slice->first_ns +
						 (pic->is_of_overviews ? slice_ns(slice) / 2 : 0));
}

static void add_slice(struct picture *pic, const struct profile_slice *slice, uint32_t bucket,
		      const uint32_t *node_of)
{
	const struct profile *p = pic->report->profile;

	for (uint32_t lane = 0; lane < p->n_lanes; lane++)
		for (size_t i = slice->first; i < slice->first + slice->n; i++) {
			const struct weight *w = &profile_weights(p, i)[lane];

			if (w->samples || w->period)
				vec_push(&pic->lanes[lane].cells,
					 (struct picture_cell){ bucket, node_of[i], *w });
		}
}

/* Slices are in the order of time: a bucket is settled when it is over. */
static void add_slices(struct picture *pic, const uint32_t *node_of)
{
	uint32_t *place = new_places(pic);
	const struct profile *p = pic->report->profile;
	const struct profile_slice all = { .n = p->entries.n };
	const struct profile_slice *slices = p->slices.n ? p->slices.data : &all;
	size_t n = MAX(p->slices.n, (size_t)1), *from = xcalloc(p->n_lanes, sizeof(*from));

	for (size_t s = 0; s < n; s++) {
		uint32_t bucket = bucket_of_slice(pic, &slices[s]);

		add_slice(pic, &slices[s], bucket, node_of);
		if (s + 1 < n && bucket_of_slice(pic, &slices[s + 1]) == bucket)
			continue;
		for (uint32_t lane = 0; lane < p->n_lanes; lane++) {
			struct picture_lane *l = &pic->lanes[lane];

			from[lane] = l->cells.n = picture_weights_settle(l->cells.data, from[lane],
									 l->cells.n, place);
		}
	}
	free(place);
	free(from);
}

/* Halves the number of buckets. */
static void picture_weights_widen(struct picture *pic)
{
	uint32_t *place = new_places(pic);

	pic->bucket_s *= 2;
	for (uint32_t lane = 0; lane < pic->report->profile->n_lanes; lane++) {
		struct picture_lane *l = &pic->lanes[lane];

		vec_foreach (&l->cells, c)
			c->bucket /= 2;
		l->cells.n = picture_weights_settle(l->cells.data, 0, l->cells.n, place);
	}
	free(place);
}

static size_t count_cells(const struct picture *pic)
{
	size_t n = 0;

	for (uint32_t lane = 0; lane < pic->report->profile->n_lanes; lane++)
		n += pic->lanes[lane].cells.n;
	return n;
}

static uint64_t block_losses(const struct block *block)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < block->n_losses; i++)
		if (block->losses[i].reason < N_LOSS_REASONS &&
		    loss_texts[block->losses[i].reason].kind == LOSS_LOST)
			n += block->losses[i].n;
	return n;
}

static int compare_lost(const void *a, const void *b)
{
	const struct picture_lost *x = a, *y = b;

	return (x->bucket > y->bucket) - (x->bucket < y->bucket);
}

static void add_lost(struct picture *pic)
{
	const struct profile *p = pic->report->profile;
	const struct session *s = p->session;
	size_t n = 0;

	for (uint32_t i = 0; i < s->n_segments; i++)
		for (uint32_t b = 0; b < s->segments[i]->n_blocks; b++) {
			const struct block *block = &s->segments[i]->blocks[b];
			uint64_t lost = block_losses(block);

			if (lost && query_takes_number(pic->report->query, FILTER_TIME,
						       since_start(p, block->first_ns)))
				vec_push(&pic->lost,
					 (struct picture_lost){
						 picture_weights_bucket_of(pic, block->first_ns),
						 lost });
		}
	if (pic->lost.n)
		qsort(pic->lost.data, pic->lost.n, sizeof(struct picture_lost), compare_lost);
	vec_foreach (&pic->lost, l) {
		if (n && pic->lost.data[n - 1].bucket == l->bucket)
			pic->lost.data[n - 1].n += l->n;
		else
			pic->lost.data[n++] = *l;
	}
	pic->lost.n = n;
}

/* A bucket is no shorter than the blocks of merged parts and overviews. */
static uint32_t least_bucket_s(struct picture *pic)
{
	const struct profile *p = pic->report->profile;
	uint64_t longest = 0;

	vec_foreach (&p->slices, slice)
		longest = MAX(longest, slice_ns(slice));
	for (size_t i = N_HISTORY_LEVELS; i-- > 0;)
		if (longest > history_levels[i].block_ns / 2 &&
		    longest <= history_levels[i].block_ns) {
			pic->is_of_overviews = true;
			return (uint32_t)(history_levels[i].block_ns / NS_PER_SECOND);
		}
	return p->slice_s;
}

static void add_own(struct picture *pic, const uint32_t *node_of)
{
	const struct profile *p = pic->report->profile;
	uint64_t last_s = p->slices.n ? since_start(p, p->slices.data[p->slices.n - 1].first_ns) /
						NS_PER_SECOND
				      : 0;

	pic->bucket_s = least_bucket_s(pic);
	while (last_s / pic->bucket_s >= PICTURE_MAX_BUCKETS && pic->bucket_s < 1U << 30)
		pic->bucket_s *= 2;
	add_slices(pic, node_of);
	while (count_cells(pic) > pic->max_cells && last_s / pic->bucket_s > 0)
		picture_weights_widen(pic);
	add_lost(pic);
}

/* The picture's lane of the same event as another profile's. */
static uint32_t matching_lane(const struct profile *p, const struct profile *other, uint32_t lane)
{
	uint32_t counter = other->lanes[lane].counter;

	for (uint32_t i = 0; counter != NO_INDEX && i < p->n_lanes; i++)
		if (p->lanes[i].counter != NO_INDEX &&
		    !strcmp(p->session->info.counters[p->lanes[i].counter].name,
			    other->session->info.counters[counter].name))
			return i;
	return NO_INDEX;
}

static void add_base(struct picture *pic, const struct profile *p, const uint32_t *node_of)
{
	uint32_t *place = new_places(pic);

	for (uint32_t lane = 0; lane < p->n_lanes; lane++) {
		uint32_t to = matching_lane(pic->report->profile, p, lane);
		struct picture_lane *l = &pic->lanes[to == NO_INDEX ? 0 : to];

		if (to == NO_INDEX)
			continue;
		for (uint32_t i = 0; i < p->entries.n; i++) {
			const struct weight *w = &profile_weights(p, i)[lane];

			if (w->samples || w->period)
				vec_push(&l->base, (struct picture_cell){ 0, node_of[i], *w });
		}
		l->base.n = picture_weights_settle(l->base.data, 0, l->base.n, place);
	}
	free(place);
}

void picture_add_weights(struct picture *pic, const struct profile *p, const uint32_t *node_of)
{
	if (p == pic->report->profile)
		add_own(pic, node_of);
	else
		add_base(pic, p, node_of);
}

static int by_thread_and_time(const void *a, const void *b)
{
	const struct picture_moment *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->at_us != y->at_us)
		return x->at_us < y->at_us ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

/* Many waits are at one node: `known` has their reasons, by event and node. */
static uint32_t reason_at(const struct profile *p, struct intmap *known,
			  const struct profile_moment *m)
{
	uint32_t counter = p->lanes[m->lane].counter, *reason;
	bool is_new;

	if (counter == NO_INDEX || !counter_is_wait(&p->session->info.counters[counter]))
		return REASON_TO_WAIT_NONE;
	reason = intmap_put(known, (uint64_t)counter << 32 | m->node, &is_new);
	if (is_new)
		*reason = profile_wait_reason(p, counter, m->node);
	return *reason;
}

void picture_add_moments(struct picture *pic, const uint32_t *node_of)
{
	const struct profile *p = pic->report->profile;
	struct intmap reasons = { 0 };

	for (size_t i = 0; i < p->moments.n; i++) {
		const struct profile_moment *m = &p->moments.data[i];

		vec_push(&pic->lanes[m->lane].moments,
			 (struct picture_moment){ since_start(p, m->time_ns) / NS_PER_US, m->thread,
						  node_of[i], reason_at(p, &reasons, m),
						  m->weight });
	}
	intmap_fini(&reasons);
	for (uint32_t lane = 0; lane < p->n_lanes; lane++) {
		struct picture_lane *l = &pic->lanes[lane];

		if (l->moments.n)
			qsort(l->moments.data, l->moments.n, sizeof(*l->moments.data),
			      by_thread_and_time);
	}
}
