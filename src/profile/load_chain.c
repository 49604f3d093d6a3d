/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/load_chain.h"

#include "base/reserve.h"
#include "profile/cut_roots.h"
#include "profile/index.h"
#include "profile/shown_frames.h"

uint32_t load_node_image(const struct load_part *part, uint32_t node)
{
	return load_image_of(part, part->segment->nodes[node].code.image);
}

uint64_t load_node_offset(const struct load_part *part, uint32_t node, int use)
{
	uint64_t offset = part->segment->nodes[node].code.offset;

	return offset - (use == USE_CALLER && offset > 0);
}

const uint32_t *load_node_frames(struct profile *p, const struct load_part *part, uint32_t node,
				 int use, uint32_t *n)
{
	return index_frames(p, load_node_image(part, node), load_node_offset(part, node, use), n);
}

static enum code_mode node_mode(const struct profile *p, const struct load_part *part,
				uint32_t node)
{
	return image_code_mode(p->images.data[load_node_image(part, node)].image);
}

int load_caller_use(const struct profile *p, const struct load_part *part, uint32_t caller,
		    uint32_t node)
{
	bool is_interrupted =
		node_mode(p, part, node) == CODE_KERNEL && node_mode(p, part, caller) == CODE_USER;

	return is_interrupted ? USE_LEAF : USE_CALLER;
}

int load_leaf_use(const struct load_part *part, uint32_t node)
{
	return shown_leaf_calls(part, node) ? USE_CALLER : USE_LEAF;
}

static uint32_t add_node(struct profile *p, const struct load_part *part, uint32_t parent,
			 uint32_t node, int use)
{
	uint32_t n;
	const uint32_t *frames = load_node_frames(p, part, node, use, &n);

	for (uint32_t i = 0; i < n; i++)
		parent = index_node(p, parent, frames[i], load_node_offset(part, node, use));
	return parent;
}

/* Of a cut stack (`kind`), a node has several places in the profile: one below each holder. */
static uint64_t cut_key(uint32_t kind, const struct chain_step *step)
{
	return (uint64_t)kind << 33 | (uint64_t)step->node << 1 | (step->use == USE_CALLER);
}

static uint32_t *node_place(struct load_part *part, uint32_t kind, const struct chain_step *step)
{
	if (kind)
		return intmap_put(&part->cut_nodes, cut_key(kind, step), NULL);
	return step->use == USE_LEAF ? &part->as_leaf[step->node] : &part->as_caller[step->node];
}

static uint32_t add_chain_of(struct profile *p, struct load_part *part, uint32_t kind,
			     uint32_t node)
{
	struct chain_step step = { shown_leaf(part, node), load_leaf_use(part, node) };
	uint32_t parent = cut_roots_holder(p, kind), known;

	while (step.node && !(known = *node_place(part, kind, &step))) {
		uint32_t caller =
			p->index->request->with_chains ? shown_parent(part, step.node) : 0;

		vec_push(&part->chain, step);
		index_fetch_frames(p, load_node_image(part, step.node),
				   load_node_offset(part, step.node, step.use));
		if (caller)
			step.use = load_caller_use(p, part, caller, step.node);
		step.node = caller;
	}
	if (step.node)
		parent = known;
	while (part->chain.n) {
		step = part->chain.data[--part->chain.n];
		parent = add_node(p, part, parent, step.node, step.use);
		*node_place(part, kind, &step) = parent;
	}
	return parent;
}

uint32_t load_add_chain(struct profile *p, struct load_part *part, const struct count_row *row)
{
	uint32_t kind = cut_roots_kind(part, row);

	if (kind)
		return add_chain_of(p, part, kind, row->node);
	if (!part->as_leaf[row->node])
		part->as_leaf[row->node] = add_chain_of(p, part, 0, row->node);
	return part->as_leaf[row->node];
}

uint32_t load_known_leaf(const struct profile *p, const struct load_part *part,
			 const struct count_row *row)
{
	const struct chain_step leaf = { shown_leaf(part, row->node),
					 load_leaf_use(part, row->node) };
	uint32_t kind = cut_roots_kind(part, row), *known;

	if (!kind)
		return cut_roots_node(p, part->as_leaf[row->node]);
	known = intmap_find(&part->cut_nodes, cut_key(kind, &leaf));
	return known ? cut_roots_node(p, *known) : 0;
}

void load_mark_callers(const struct profile *p, struct load_part *part)
{
	for (uint32_t n = part->segment->n_nodes; n-- > 1;) {
		uint32_t caller = shown_parent(part, n);

		if (caller && (part->uses[n] & (USE_LEAF | USE_CALLER)))
			part->uses[caller] |= (uint8_t)load_caller_use(p, part, caller, n);
	}
}

/* So many nodes before it is looked up, a node's place is fetched. */
#define FETCH_AHEAD 8

static void fetch_node(const struct profile *p, const struct load_part *part, uint32_t node)
{
	int use;

	if (node >= part->segment->n_nodes || !part->uses[node])
		return;
	use = part->uses[node] & USE_CALLER ? USE_CALLER : USE_LEAF;
	index_fetch_frames(p, load_node_image(part, node), load_node_offset(part, node, use));
}

void load_add_nodes(struct profile *p, struct load_part *part)
{
	index_reserve_nodes(p, part->segment->n_nodes);
	for (uint32_t n = 1; n < part->segment->n_nodes && reserve_check() >= 0; n++) {
		uint32_t caller = shown_parent(part, n), parent = 0;

		fetch_node(p, part, n + FETCH_AHEAD);
		if (caller && p->index->request->with_chains)
			parent = load_caller_use(p, part, caller, n) == USE_LEAF
					 ? part->as_leaf[caller]
					 : part->as_caller[caller];
		if (part->uses[n] & USE_LEAF)
			part->as_leaf[n] = add_node(p, part, parent, n, USE_LEAF);
		if (part->uses[n] & USE_CALLER)
			part->as_caller[n] = add_node(p, part, parent, n, USE_CALLER);
		if (shown_leaf(part, n) != n)
			part->as_leaf[n] = load_leaf_use(part, n) == USE_LEAF
						   ? part->as_leaf[shown_leaf(part, n)]
						   : part->as_caller[shown_leaf(part, n)];
	}
}
