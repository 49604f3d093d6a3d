/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/load_part.h"

#include <string.h>

#include "base/reserve.h"
#include "machine/image.h"
#include "profile/context.h"
#include "store/session.h"

void load_part_init(struct load_part *part, const struct segment *segment)
{
	uint32_t n = segment->n_classes;

	*part = (struct load_part){
		.segment = segment,
		.images = load_column(segment->n_images, sizeof(uint32_t)),
		.groups = load_column((size_t)n * N_CONTEXTS, sizeof(uint32_t)),
		.lanes = load_column(n, sizeof(uint32_t)),
		.idle = load_column(n, sizeof(bool)),
		.has_samples = load_column(n, sizeof(bool)),
		.comms = load_column(n, sizeof(uint32_t)),
		.class_samples = load_column(n, sizeof(uint64_t)),
		.uses = load_column(segment->n_nodes, sizeof(uint8_t)),
		.as_leaf = load_column(segment->n_nodes, sizeof(uint32_t)),
		.as_caller = load_column(segment->n_nodes, sizeof(uint32_t)),
		.last = load_column(segment->n_nodes, sizeof(struct last_entry)),
	};
}

void load_part_fini(struct load_part *part)
{
	void *columns[] = { part->images,        part->has_samples,   part->groups,
			    part->lanes,         part->idle,          part->comms,
			    part->class_samples, part->uses,          part->as_leaf,
			    part->as_caller,     part->cgroups,       part->contexts,
			    part->arcs,          part->last,          part->alike,
			    part->apps,          part->waker_marks,   part->shown_leaves,
			    part->code_leaves,   part->shown_parents, part->shown_calls,
			    part->thread_kinds,  part->outermost,     part->is_cut };

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		free(columns[i]);
	load_part_rest(part);
	vec_fini(&part->chain);
	intmap_fini(&part->cut_nodes);
	intmap_fini(&part->root_numbers);
	vec_fini(&part->roots);
	intmap_fini(&part->extras);
	intmap_fini(&part->waker_of_node);
	intmap_fini(&part->extra_groups);
	vec_fini(&part->blocks);
}

void load_part_rest(struct load_part *part)
{
	vec_fini(&part->rows);
	vec_fini(&part->row_wakers);
	vec_fini(&part->times);
	vec_fini(&part->row_parallelism);
}

void load_find_arcs(struct load_part *part)
{
	const struct segment *s = part->segment;
	uint32_t marker = 0;

	while (marker < s->n_images && (s->images[marker].kind != IMAGE_NAMED ||
					strcmp(s->images[marker].path, IMAGE_ARCS_PATH) != 0))
		marker++;
	if (marker == s->n_images)
		return;
	part->arcs = load_column(s->n_nodes, sizeof(bool));
	for (uint32_t n = 1; n < s->n_nodes; n++)
		part->arcs[n] = s->nodes[n].code.image.n == marker ||
				part->arcs[(s->nodes[n].parent < n ? s->nodes[n].parent : 0)];
}

/* More than the arrays of part_init(), of sums and of indexes take for each node and class. */
#define LOAD_BYTES_NODE  160
#define LOAD_BYTES_CLASS 256
#define LOAD_BYTES_IMAGE 64

int load_part_reserve(struct reserve *room, const struct session *s)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < s->n_segments; i++)
		bytes += (uint64_t)s->segments[i]->n_nodes * LOAD_BYTES_NODE +
			 (uint64_t)s->segments[i]->n_classes * LOAD_BYTES_CLASS +
			 (uint64_t)s->segments[i]->n_images * LOAD_BYTES_IMAGE;
	return reserve_take(room, bytes, 1);
}

struct block load_part_span(const struct load_part *part)
{
	struct block span = { .first_ns = UINT64_MAX };

	vec_foreach (&part->blocks, i) {
		const struct block *b = &part->segment->blocks[*i];

		span.first_ns = MIN(span.first_ns, b->first_ns);
		span.last_ns = MAX(span.last_ns, b->last_ns);
	}
	return span;
}
