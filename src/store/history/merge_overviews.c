/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which overviews a merged session has. */
#include <math.h>
#include <stdlib.h>

#include "store/history/history.h"
#include "store/history/merge_state.h"
#include "store/row_reader.h"
#include "store/tables.h"

/*
 * Rows of a block that are kept apart when rows are counted. Of larger blocks, some rows count
 * twice.
 */
#define GROUP_ROWS_COUNTED (1u << 19)

/* The cost of reading blocks of this length, in rows, with the trees. */
static uint64_t cost_of(struct merge *m, uint32_t **paths, uint64_t block_ns, uint32_t n_paths)
{
	struct class_table classes = { 0 };
	uint64_t cost = n_paths, key = UINT64_MAX;
	struct tally tally = { 0 };

	merge_list_blocks(m, block_ns);
	vec_foreach (&m->blocks, ref) {
		const struct source *s = &m->sources[ref->source];

		if (ref->key != key || tally.n > GROUP_ROWS_COUNTED) {
			cost += tally.n;
			tally_clear(&tally);
			key = ref->key;
		}
		m->rows.n = 0;
		segment_read_rows(s->segment, ref->block, &m->rows, NULL);
		vec_foreach (&m->rows, row) {
			struct profile_class class =
				merge_class(&m->names, s->segment, s->number, row->class);

			tally_add(&tally, classes_intern(&classes, &class),
				  paths[ref->source][row->node], 0, 0);
		}
	}
	cost += tally.n;
	tally_fini(&tally);
	classes_fini(&classes);
	return cost;
}

static bool lasts(const struct merge *m, uint64_t block_ns)
{
	uint64_t first_ns = UINT64_MAX;

	vec_foreach (&m->blocks, ref)
		first_ns =
			MIN(first_ns, m->sources[ref->source].segment->blocks[ref->block].first_ns);
	/* For a shorter part, a coarser block would have the same content. */
	return m->blocks.n && m->end_ns - first_ns >= block_ns / 2;
}

/* All that last long enough. */
static void take_overviews(struct merge *m, bool *pays)
{
	merge_list_blocks(m, m->config->block_ns);
	for (size_t l = 0; l < N_HISTORY_LEVELS; l++)
		pays[l] = history_levels[l].block_ns > m->config->block_ns &&
			  lasts(m, history_levels[l].block_ns);
}

/* Begins with the finest: each overview is compared with the blocks that it replaces. */
void merge_choose_overviews(struct merge *m, bool *pays)
{
	struct shares x = { 0 };
	uint32_t **paths = xcalloc(m->n_sources + 1, sizeof(*paths));
	uint64_t below;

	if (isinf(m->config->overviews.most)) {
		take_overviews(m, pays);
		free(paths);
		return;
	}
	for (uint32_t i = 0; i < m->n_sources; i++)
		paths[i] = merge_source_paths(&x, m, &m->sources[i]);
	below = cost_of(m, paths, m->config->block_ns, (uint32_t)x.samples.n);
	for (size_t l = 0; l < N_HISTORY_LEVELS; l++) {
		uint64_t block_ns = history_levels[l].block_ns, cost;

		if (block_ns <= m->config->block_ns || below < m->config->overviews.min_cost ||
		    !lasts(m, block_ns))
			continue;
		cost = cost_of(m, paths, block_ns, (uint32_t)x.samples.n);
		pays[l] = (double)cost <= m->config->overviews.most * (double)below;
		below = pays[l] ? cost : below;
	}
	for (uint32_t i = 0; i < m->n_sources; i++)
		free(paths[i]);
	free(paths);
	intmap_fini(&x.index);
	vec_fini(&x.samples);
}
