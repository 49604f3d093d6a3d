/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The samples of a profile, one by one. Blocks are read in the order of their earliest times. A
 * sample waits until no later block can have an older one.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/reserve.h"
#include "profile/index.h"
#include "profile/load.h"
#include "profile/load_blocks.h"
#include "profile/load_chain.h"

struct samples_block {
	uint64_t earliest_ns;
	uint32_t part, block;
};

struct waiting_sample {
	struct profile_sample sample;
	uint64_t block, row; /* their places in the session: the order of samples of one time */
};

struct samples_reading {
	struct profile *p;
	profile_sample_visitor *visit;
	void *context;
	VEC(struct samples_block) blocks;
	VEC(struct waiting_sample) waiting;
};

static int samples_by_earliest(const void *a, const void *b)
{
	const struct samples_block *x = a, *y = b;

	if (x->earliest_ns != y->earliest_ns)
		return x->earliest_ns < y->earliest_ns ? -1 : 1;
	if (x->part != y->part)
		return x->part < y->part ? -1 : 1;
	return (x->block > y->block) - (x->block < y->block);
}

static void find_blocks(struct samples_reading *r)
{
	const struct session *s = r->p->session;

	for (uint32_t i = 0; i < s->n_segments; i++)
		for (uint32_t b = 0; b < s->segments[i]->n_blocks; b++) {
			const struct block *block = &s->segments[i]->blocks[b];
			uint64_t earliest = block->timed_ns ? MIN(block->first_ns, block->timed_ns)
							    : block->first_ns;

			if (block->n_rows)
				vec_push(&r->blocks, (struct samples_block){ earliest, i, b });
		}
	if (r->blocks.n)
		qsort(r->blocks.data, r->blocks.n, sizeof(*r->blocks.data), samples_by_earliest);
}

static int samples_by_time(const void *a, const void *b)
{
	const struct waiting_sample *x = a, *y = b;

	if (x->sample.time_ns != y->sample.time_ns)
		return x->sample.time_ns < y->sample.time_ns ? -1 : 1;
	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/* Gives away the samples that are older than all blocks that follow; NULL: none follows. */
static int give_samples(struct samples_reading *r, const struct samples_block *next)
{
	size_t n = 0;
	int answer = 0;

	if (r->waiting.n)
		qsort(r->waiting.data, r->waiting.n, sizeof(*r->waiting.data), samples_by_time);
	while (n < r->waiting.n && !answer &&
	       (!next || r->waiting.data[n].sample.time_ns < next->earliest_ns))
		answer = r->visit(r->context, &r->waiting.data[n++].sample);
	r->waiting.n -= n;
	if (n && r->waiting.n)
		memmove(r->waiting.data, r->waiting.data + n,
			r->waiting.n * sizeof(*r->waiting.data));
	return answer;
}

/* A row that the first pass has not seen is of a file that has changed since. */
static void wait_with_row(struct samples_reading *r, const struct samples_block *at, size_t i)
{
	struct load_part *part = &r->p->index->parts[at->part];
	const struct count_row *row = &part->rows.data[i];
	uint64_t time_ns = i < part->times.n ? part->times.data[i] : 0;
	uint32_t node = load_known_leaf(r->p, part, row), group;

	if (node >= r->p->leaf_rows.n || !r->p->leaf_rows.data[node] ||
	    !load_takes_sample(r->p, part, row))
		return;
	group = load_known_group(r->p, part, row);
	if (group == NO_GROUP)
		return;
	vec_push(&r->waiting,
		 (struct waiting_sample){
			 { time_ns ? time_ns : part->segment->blocks[at->block].first_ns,
			   group,
			   node,
			   { row->samples, row->period },
			   time_ns > 0 },
			 (uint64_t)at->part << 32 | at->block,
			 i,
		 });
}

static int read_samples(struct samples_reading *r, size_t i)
{
	const struct samples_block *at = &r->blocks.data[i];
	bool is_last = i + 1 == r->blocks.n;
	struct load_part *part = &r->p->index->parts[at->part];

	if (load_read_block(r->p, part, at->block) == BLOCK_READ)
		for (size_t row = 0; row < part->rows.n; row++)
			wait_with_row(r, at, row);
	if (is_last || at[1].part != at->part)
		load_part_rest(part);
	if (reserve_check() < 0)
		return -ENOMEM;
	return give_samples(r, is_last ? NULL : at + 1);
}

int profile_each_sample(struct profile *p, profile_sample_visitor *visit, void *context)
{
	struct samples_reading r = { .p = p, .visit = visit, .context = context };
	int answer = 0;

	assert(p->index && p->n_lanes == 1);
	if (!p->index->parts) /* there was not enough memory to load it */
		return 0;
	load_spread_samples(p);
	find_blocks(&r);
	for (size_t i = 0; i < r.blocks.n && !answer; i++)
		answer = read_samples(&r, i);
	vec_fini(&r.blocks);
	vec_fini(&r.waiting);
	return answer;
}
