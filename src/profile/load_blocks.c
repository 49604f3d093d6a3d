/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/load_blocks.h"

#include "profile/index.h"
#include "profile/parallel.h"
#include "profile/wakers.h"
#include "profile/rows_ahead.h"
#include "store/row_reader.h"
#include "store/times.h"

static uint64_t load_since_start(const struct profile *p, uint64_t ns)
{
	uint64_t start = p->session->info.start_ns;

	return ns > start ? ns - start : 0;
}

static bool takes_time(const struct profile *p, uint64_t ns)
{
	return query_takes_number(p->index->query, FILTER_TIME, load_since_start(p, ns));
}

bool load_takes_block(const struct profile *p, const struct block *block)
{
	uint64_t first = MIN(block->first_ns, block->timed_ns);

	if (!block->timed_ns)
		return takes_time(p, block->first_ns);
	return query_takes_some(p->index->query, FILTER_TIME, load_since_start(p, first),
				load_since_start(p, block->last_ns));
}

static bool has_times(const struct session *s)
{
	for (uint32_t i = 0; i < s->n_segments; i++)
		for (uint32_t b = 0; b < s->segments[i]->n_blocks; b++)
			if (s->segments[i]->blocks[b].timed_ns)
				return true;
	return false;
}

/* A wait is many samples with one time, and a time takes a bit or more. */
static uint64_t times_at_most(const struct session *s)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->n_segments; i++)
		for (uint32_t b = 0; b < s->segments[i]->n_blocks; b++) {
			const struct block *block = &s->segments[i]->blocks[b];

			if (block->timed_ns)
				n += MIN(block->samples, block->size_bytes * 8);
		}
	return n;
}

bool load_wants_moments(const struct profile *p)
{
	uint32_t most = p->index->request->most_moments;

	return most && has_times(p->session) && times_at_most(p->session) <= most;
}

bool profile_needs_times(const struct profile_request *r)
{
	return r->most_moments || r->with_slices || r->with_samples || r->wall_weight ||
	       key_list_has(&r->keys, PROFILE_PARALLELISM) || r->query->has_window ||
	       query_has(r->query, FILTER_TIME) || query_has(r->query, FILTER_PARALLELISM);
}

bool load_needs_times(const struct profile *p)
{
	return (query_has(p->index->query, FILTER_TIME) || index_wants_parallelism(p)) &&
	       has_times(p->session);
}

void load_spread_samples(struct profile *p)
{
	p->index->is_spread = true;
	p->index->needs_times = has_times(p->session);
}

static bool choice_takes(const void *profile, uint64_t time_ns)
{
	return takes_time(profile, time_ns);
}

static void add_spread_row(struct load_part *part, struct count_rows *rows,
			   const struct count_row *row, uint64_t time_ns, uint32_t parallelism)
{
	vec_push(rows, *row);
	vec_push(&part->times, time_ns);
	vec_push(&part->row_parallelism, parallelism);
}

/* Makes each sample with a time a row. The rest of the rows comes first. */
static void spread_rows(const struct profile *p, struct load_part *part,
			const struct sample_times *times)
{
	cleanup(free_at_exit) double *parallelism =
		index_wants_parallelism(p) ? load_parallelism(p, part, times, part->rows.data)
					   : NULL;
	struct count_rows rows = { 0 };

	vec_foreach (times, t) {
		part->rows.data[t->row].samples -= t->samples;
		part->rows.data[t->row].period -= t->period;
	}
	vec_foreach (&part->rows, row)
		if (row->samples)
			add_spread_row(part, &rows, row, 0, 0);
	for (size_t i = 0; i < times->n; i++) {
		const struct timed_sample *t = &times->data[i];
		double n = parallelism ? parallelism[i] : 0;
		struct count_row row = part->rows.data[t->row];

		row.samples = t->samples;
		row.period = t->period;
		if (p->index->request->wall_weight && n > 0)
			row.period = (uint64_t)((double)t->period / n + 0.5);
		add_spread_row(part, &rows, &row, t->time_ns, (uint32_t)(n + 0.5));
	}
	vec_fini(&part->rows);
	part->rows = rows;
}

/* Reduces the rows to the samples that the query takes. */
static void read_times(const struct profile *p, struct load_part *part, uint32_t i)
{
	const struct block *block = &part->segment->blocks[i];
	const struct times_choice choice = { choice_takes, p, takes_time(p, block->first_ns) };
	struct sample_times times = { 0 };

	/* Of damaged times, the session has warned. The block counts as one without times. */
	segment_read_times(part->segment, i, &part->rows, &times);
	times_choose(&choice, part->rows.data, &part->rows.n, &times);
	if (times.n && !choice.takes_untimed) {
		part->first_ns = times.data[0].time_ns;
		part->last_ns = times.data[times.n - 1].time_ns;
	}
	if (p->index->is_spread || index_wants_parallelism(p))
		spread_rows(p, part, &times);
	vec_fini(&times);
}

bool load_is_unwanted(const struct profile *p)
{
	const atomic_bool *is_unwanted = p->index->request->is_unwanted;

	return is_unwanted && atomic_load_explicit(is_unwanted, memory_order_relaxed);
}

enum block_state load_read_block(struct profile *p, struct load_part *part, uint32_t i)
{
	const struct block *block = &part->segment->blocks[i];
	int r;

	part->rows.n = part->times.n = part->row_parallelism.n = 0;
	part->first_ns = block->first_ns;
	part->last_ns = block->last_ns;
	if (load_is_unwanted(p) || !load_takes_block(p, block))
		return BLOCK_LEFT_OUT;
	r = p->index->ahead ? rows_ahead_next(p->index->ahead, &part->rows)
			    : segment_read_rows(part->segment, i, &part->rows, NULL);
	if (r >= 0 && block->timed_ns && p->index->needs_times)
		read_times(p, part, i);
	load_cut_wakers(p, part);
	return r < 0 ? BLOCK_DAMAGED : BLOCK_READ;
}

struct rows_ahead *load_read_ahead(const struct profile *p)
{
	const struct session *s = p->session;
	VEC(struct row_block) blocks = { 0 };
	struct rows_ahead *ahead;

	if (p->index->needs_times) /* the segment's reader decodes them, too */
		return NULL;
	for (uint32_t i = 0; i < s->n_segments; i++)
		for (uint32_t b = 0; b < s->segments[i]->n_blocks; b++)
			if (load_takes_block(p, &s->segments[i]->blocks[b]))
				vec_push(&blocks, (struct row_block){ s->segments[i], b });
	ahead = rows_ahead_start(blocks.data, blocks.n);
	vec_fini(&blocks);
	return ahead;
}

void load_count_block(struct profile *p, const struct load_part *part, const struct block *block,
		      bool has_rows)
{
	for (uint32_t i = 0; i < block->n_losses; i++)
		if (block->losses[i].reason < N_LOSS_REASONS)
			p->losses[block->losses[i].reason] += block->losses[i].n;
	if (!has_rows)
		return;
	if (!p->first_ns || part->first_ns < p->first_ns)
		p->first_ns = part->first_ns;
	p->last_ns = MAX(p->last_ns, part->last_ns);
}
