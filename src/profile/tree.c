/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The call tree top-down. */
#include <stdlib.h>
#include <string.h>

#include "profile/walk.h"

struct grower {
	const struct profile *p;
	struct subtree tree;
	struct threshold threshold;
	struct rows *out;
	VEC(uint32_t) pending; /* children of the nodes on the way down */
	struct hidden rest;    /* what no row of the tree is made for */
};

struct child_order {
	const struct subtree *tree;
	bool by_period;
};

static int heavier_first(const void *a, const void *b, void *context)
{
	const struct child_order *o = context;
	const uint32_t *x = a, *y = b;
	uint64_t v = weight_value(&subtree_cells(o->tree, *x)->total, o->by_period);
	uint64_t w = weight_value(&subtree_cells(o->tree, *y)->total, o->by_period);

	if (v != w)
		return v < w ? 1 : -1;
	return walk_compare_names(o->tree->p, o->tree->p->nodes.data[*x].function,
				  o->tree->p->nodes.data[*y].function);
}

/* Pushes the children of a node, in order; the number of them. */
static size_t push_children(struct grower *g, uint32_t node)
{
	struct child_order order = { &g->tree, g->threshold.limits->by_period };
	size_t from = g->pending.n;

	for (uint32_t c = g->tree.first_child[node]; c; c = g->tree.next_sibling[c])
		vec_push(&g->pending, c);
	if (g->pending.n > from)
		qsort_r(&g->pending.data[from], g->pending.n - from, sizeof(uint32_t),
			heavier_first, &order);
	return g->pending.n - from;
}

static uint32_t add_node_row(struct grower *g, uint32_t node, uint32_t parent_row, uint32_t depth)
{
	uint32_t row = rows_add(g->out, ROW_ITEM, depth, parent_row);
	uint32_t function = g->p->nodes.data[node].function;

	g->out->list.data[row].has_total = true;
	g->out->list.data[row].value[PROFILE_SYMBOL] = function;
	g->out->list.data[row].value[PROFILE_IMAGE] =
		profile_code_value(g->p, PROFILE_IMAGE, function);
	memcpy(rows_cells(g->out, row), subtree_cells(&g->tree, node),
	       g->p->n_lanes * sizeof(struct cell));
	return row;
}

#define HIDDEN 0x80000000u

/* Marks the children that are not shown; the number of the others. */
static size_t hide_children(struct grower *g, struct hidden *hidden, size_t from, size_t n)
{
	uint64_t max = g->threshold.limits->max_rows;
	size_t n_shown = 0;

	for (size_t i = from; i < from + n; i++) {
		const struct cell *cells = subtree_cells(&g->tree, g->pending.data[i]);

		if (threshold_takes(&g->threshold, cells, true) && (!max || n_shown < max)) {
			n_shown++;
			continue;
		}
		g->pending.data[i] |= HIDDEN;
		hidden_add(hidden, cells, 1);
	}
	return n_shown;
}

/*
 * The children of a node below `parent_row`. A sole row with nothing worth a row beside it
 * stands under its parent, so that chains do not wander off to the right. Recursion
 * is bounded by PROFILE_MAX_DEPTH.
 */
static void grow(struct grower *g, uint32_t node, uint32_t parent_row, uint32_t depth,
		 uint32_t indent)
{
	size_t from = g->pending.n, n = push_children(g, node), n_shown;
	struct hidden hidden;
	bool has_other, is_chain;
	uint32_t below;

	hidden_init(&hidden, g->p);
	n_shown = hide_children(g, &hidden, from, n);
	has_other = hidden_keeps(&hidden, &g->threshold, &g->rest, parent_row);
	is_chain = n_shown == 1 && !has_other && parent_row != NO_INDEX;
	below = parent_row == NO_INDEX ? 0 : is_chain ? indent : indent + 1;
	for (size_t i = from; i < from + n; i++) {
		uint32_t child = g->pending.data[i], row;

		if (child & HIDDEN)
			continue;
		row = add_node_row(g, child, parent_row, depth);
		g->out->list.data[row].indent = (uint16_t)below;
		g->out->list.data[row].is_branch = !is_chain;
		grow(g, child, row, depth + 1, below);
	}
	hidden_put(&hidden, g->out, depth, below, parent_row);
	hidden_fini(&hidden);
	g->pending.n = from;
}

static void grow_group(void *context, const uint32_t *entries, size_t n, uint32_t heading)
{
	struct grower *g = context;

	subtree_fill(&g->tree, entries, n);
	grow(g, 0, heading, heading != NO_INDEX, 0);
}

void profile_tree(const struct profile *p, const struct row_limits *limits, struct rows *out)
{
	struct grower g = { .p = p, .out = out };

	out->n_lanes = p->n_lanes;
	subtree_init(&g.tree, p);
	threshold_init(&g.threshold, p, limits);
	hidden_init(&g.rest, p);
	each_group(p, &g.threshold, &g.rest, out, grow_group, &g);
	hidden_put(&g.rest, out, 0, 0, NO_INDEX);
	hidden_fini(&g.rest);
	vec_fini(&g.pending);
	threshold_fini(&g.threshold);
	subtree_fini(&g.tree);
}
