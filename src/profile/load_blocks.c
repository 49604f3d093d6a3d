/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/load_blocks.h"

#include "profile/index.h"
#include "profile/rows_ahead.h"
#include "store/row_reader.h"

bool load_takes_block(const struct profile *p, const struct block *block)
{
	uint64_t start = p->session->info.start_ns;
	uint64_t at = block->first_ns > start ? block->first_ns - start : 0;

	return query_takes_number(p->index->query, FILTER_TIME, at);
}

enum block_state load_read_block(struct profile *p, struct load_part *part, uint32_t i)
{
	int r;

	part->rows.n = 0;
	if (!load_takes_block(p, &part->segment->blocks[i]))
		return BLOCK_LEFT_OUT;
	r = p->index->ahead ? rows_ahead_next(p->index->ahead, &part->rows)
			    : segment_read_rows(part->segment, i, &part->rows, NULL);
	return r < 0 ? BLOCK_DAMAGED : BLOCK_READ;
}

struct rows_ahead *load_read_ahead(const struct profile *p)
{
	const struct session *s = p->session;
	VEC(struct row_block) blocks = { 0 };
	struct rows_ahead *ahead;

	for (uint32_t i = 0; i < s->n_segments; i++)
		for (uint32_t b = 0; b < s->segments[i]->n_blocks; b++)
			if (load_takes_block(p, &s->segments[i]->blocks[b]))
				vec_push(&blocks, (struct row_block){ s->segments[i], b });
	ahead = rows_ahead_start(blocks.data, blocks.n);
	vec_fini(&blocks);
	return ahead;
}

void load_count_block(struct profile *p, const struct block *block, bool has_rows)
{
	for (uint32_t i = 0; i < block->n_losses; i++)
		if (block->losses[i].reason < N_LOSS_REASONS)
			p->losses[block->losses[i].reason] += block->losses[i].n;
	if (!has_rows)
		return;
	if (!p->first_ns || block->first_ns < p->first_ns)
		p->first_ns = block->first_ns;
	p->last_ns = MAX(p->last_ns, block->last_ns);
}
