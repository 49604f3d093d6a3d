/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of several segments in one set of ids for merging: images, thread names and code
 * symbols, each once.
 */
#pragma once

#include "base/intmap.h"
#include "base/strings.h"
#include "store/history/functions.h"
#include "store/session.h"

struct merge_names {
	struct image_table *images;
	struct strings strings;
	image_id **image_ids; /* by segment, then by image */
	uint32_t n_segments;
	image_id other;        /* IMAGE_OTHER_PATH */
	image_id forgotten;    /* IMAGE_FORGOTTEN_PATH; 0: nothing is forgotten */
	struct intmap symbols; /* hash of (image, offset) to the hash of the newest symbol there */
	struct functions
		*functions; /* code becomes the starts of functions; NULL: addresses stay */
};

void merge_names_init(struct merge_names *m, const struct session *from);
/* From now on, code becomes the starts of functions. The segments must outlive `m`. */
void merge_names_to_functions(struct merge_names *m, const struct session *from,
			      struct symbolizer *symbols);
/* Frees what only finding functions needs. */
void merge_names_end_functions(struct merge_names *m);
void merge_names_fini(struct merge_names *m);

/* Returns the class with the ids of `m`. */
struct profile_class merge_class(struct merge_names *m, const struct segment *segment,
				 uint32_t segment_number, uint32_t class);

/*
 * Tells the store the code symbols of a segment that it does not have yet. `has_rows`, by node:
 * only those of code in the stacks of these nodes. NULL: all.
 */
void merge_symbols(struct merge_names *m, const struct segment *segment, uint32_t segment_number,
		   const bool *has_rows, struct store *store);

/* The code of a node, which is used as `use`. */
static inline struct code_addr merge_code(const struct merge_names *m, uint32_t segment_number,
					  const struct tree_node *node, enum code_use use)
{
	const struct code_addr code = { m->image_ids[segment_number][node->code.image.n],
					node->code.offset };

	return m->functions ? functions_place(m->functions, code, use) : code;
}
