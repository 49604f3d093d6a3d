/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The segments that a merge reads: their nodes, and the functions of these. */
#include "store/history/merge_state.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/reserve.h"
#include "store/separation_words.h"
#include "store/needed_nodes.h"
#include "store/sort.h"

void merge_sources_init(struct merge *m)
{
	m->n_sources = m->from->n_segments;
	m->sources = xcalloc(m->n_sources + 1, sizeof(*m->sources));
	for (uint32_t i = 0; i < m->n_sources; i++) {
		struct segment *segment = m->from->segments[i];
		struct source *s = &m->sources[i];

		*s = (struct source){ .segment = segment,
				      .number = i,
				      .end_block = segment->n_blocks };
		s->classes = xcalloc(segment->n_classes + 1, sizeof(*s->classes));
		s->taken = xcalloc(segment->n_classes + 1, sizeof(*s->taken));
		s->forgotten = xcalloc(segment->n_classes + 1, sizeof(*s->forgotten));
	}
}

int merge_source_open(struct merge *m, struct source *s, struct error *err)
{
	uint32_t n;

	if (segment_load_nodes_of(s->segment, s->first_block, s->end_block) < 0)
		return reserve_error(err);
	n = s->segment->n_nodes;
	for (int use = 0; use < N_CODE_USES; use++) {
		bool is_shared = use && !m->names.functions;

		s->places[use] = is_shared ? s->places[0] : xcalloc(n + 1, sizeof(*s->places[use]));
		s->has_place[use] =
			is_shared ? s->has_place[0] : xcalloc(n + 1, sizeof(*s->has_place[use]));
	}
	return 0;
}

int merge_open_sources(struct merge *m, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; i < m->n_sources && !r; i++)
		r = merge_source_open(m, &m->sources[i], err);
	return r;
}

void merge_source_close(struct merge *m, struct source *s)
{
	for (int use = 0; use < N_CODE_USES; use++) {
		bool is_shared = use && !m->names.functions;

		free(is_shared ? NULL : s->places[use]);
		free(is_shared ? NULL : s->has_place[use]);
		free(take_ptr(s->functions[use]));
		s->places[use] = NULL;
		s->has_place[use] = NULL;
	}
	vec_fini(&s->offsets);
	free(take_ptr(s->has_rows));
	free(take_ptr(s->is_cut));
	segment_drop_nodes(s->segment);
}

/* ---- functions ---- */

static image_id image_of(const struct merge *m, const struct source *s, uint32_t node)
{
	return m->names.image_ids[s->number][s->segment->nodes[node].code.image.n];
}

static bool is_kernel_node(const struct merge *m, const struct source *s, uint32_t node)
{
	return image_is_kernel_code(image_get(m->names.images, image_of(m, s, node)));
}

enum code_use merge_use_of_parent(const struct merge *m, const struct source *s, uint32_t parent,
				  uint32_t node)
{
	return m->names.functions && is_kernel_node(m, s, node) && !is_kernel_node(m, s, parent)
		       ? CODE_LEAF
		       : CODE_CALLER;
}

struct code_addr merge_source_code(const struct merge *m, const struct source *s, uint32_t node,
				   enum code_use use)
{
	if (s->functions[use])
		return (struct code_addr){ image_of(m, s, node),
					   s->offsets.data[s->functions[use][node]] };
	return merge_code(&m->names, s->number, &s->segment->nodes[node], use);
}

/* By node: a bit for each use. The caller frees it. */
static uint8_t *find_uses(const struct merge *m, const struct source *s)
{
	uint8_t *uses = xcalloc(s->segment->n_nodes + 1, sizeof(*uses));

	for (uint32_t n = s->segment->n_nodes; n-- > 1;) {
		uint32_t parent = merge_parent_of(s->segment, n);

		uses[n] |= s->has_rows[n] ? 1 << CODE_LEAF : 0;
		if (uses[n] && parent)
			uses[parent] |= (uint8_t)(1 << merge_use_of_parent(m, s, parent, n));
	}
	return uses;
}

/* Nodes that are sorted at once. */
#define SORTED_NODES 8192u

struct node_list {
	struct sort_item items[SORTED_NODES], scratch[SORTED_NODES];
	uint32_t n;
};

/* Lists nodes with a use from *node on, by image and offset. */
static void list_by_code(const struct merge *m, const struct source *s, const uint8_t *uses,
			 uint32_t *node, struct node_list *list)
{
	for (list->n = 0; *node < s->segment->n_nodes && list->n < SORTED_NODES; (*node)++)
		if (uses[*node])
			list->items[list->n++] =
				(struct sort_item){ s->segment->nodes[*node].code.offset, *node };
	sort_items(list->items, list->scratch, list->n);
	for (uint32_t i = 0; i < list->n; i++)
		list->items[i].key = image_of(m, s, list->items[i].value).n;
	sort_items(list->items, list->scratch, list->n);
}

/* The code that was looked up last, and its places: indexes into offsets, or NO_PLACE. */
#define NO_PLACE UINT32_MAX
struct last_code {
	struct code_addr code;
	uint32_t places[N_CODE_USES];
};

/* Of a large index, pages are given back after so many places, which are in the order of the file.
 */
#define PLACES_AT_ONCE 32u

static uint32_t find_place(struct merge *m, struct source *s, struct last_code *last,
			   enum code_use use)
{
	uint64_t offset;

	if (last->places[use] != NO_PLACE)
		return last->places[use];
	offset = functions_place(m->names.functions, last->code, use).offset;
	if (!s->offsets.n || s->offsets.data[s->offsets.n - 1] != offset)
		vec_push(&s->offsets, offset);
	last->places[use] = (uint32_t)s->offsets.n - 1;
	if (s->offsets.n % PLACES_AT_ONCE == 0 &&
	    functions_are_many(m->names.functions, last->code.image))
		functions_rest(m->names.functions, last->code.image);
	return last->places[use];
}

static void find_listed(struct merge *m, struct source *s, const uint8_t *uses,
			const struct node_list *list)
{
	struct last_code last;

	for (uint32_t i = 0; i < list->n; i++) {
		uint32_t node = list->items[i].value;
		struct code_addr code = { image_of(m, s, node),
					  s->segment->nodes[node].code.offset };

		if (i && code.image.n != last.code.image.n)
			functions_rest(m->names.functions, last.code.image);
		if (!i || code.image.n != last.code.image.n || code.offset != last.code.offset)
			last = (struct last_code){ code, { NO_PLACE, NO_PLACE } };
		for (int use = 0; use < N_CODE_USES; use++)
			if (uses[node] >> use & 1)
				s->functions[use][node] = find_place(m, s, &last, use);
	}
	if (list->n)
		functions_rest(m->names.functions, last.code.image);
}

void merge_find_functions(struct merge *m, struct source *s)
{
	cleanup(free_at_exit) uint8_t *uses = find_uses(m, s);
	cleanup(free_at_exit) struct node_list *list = xmalloc(sizeof(*list));

	for (int use = 0; use < N_CODE_USES; use++)
		s->functions[use] = xcalloc(s->segment->n_nodes + 1, sizeof(*s->functions[use]));
	vec_push(&s->offsets, 0); /* of nodes without a use */
	for (uint32_t node = 1; node < s->segment->n_nodes;) {
		list_by_code(m, s, uses, &node, list);
		find_listed(m, s, uses, list);
	}
}
