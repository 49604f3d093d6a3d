/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/load_part.h"

#include "profile/context.h"

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
	void *columns[] = { part->images,  part->has_samples, part->groups,        part->lanes,
			    part->idle,    part->comms,       part->class_samples, part->uses,
			    part->as_leaf, part->as_caller,   part->cgroups,       part->contexts,
			    part->arcs,    part->rows.data,   part->last,          part->alike };

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		free(columns[i]);
	vec_fini(&part->chain);
	vec_fini(&part->blocks);
}
