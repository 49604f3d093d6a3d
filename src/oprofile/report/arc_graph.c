/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/report/arc_graph.h"

#include <stdlib.h>
#include <string.h>

#include "oprofile/report/opreport_rows.h"
#include "profile/walk.h"

static uint32_t named_function(struct arc_graph *g, uint32_t function)
{
	uint32_t *first = &g->nameless[g->p->functions.data[function].image];

	if (op_has_symbol(g->p, function))
		return function;
	if (*first == NO_INDEX)
		*first = function;
	return *first;
}

static uint32_t graph_node(struct arc_graph *g, uint32_t app, uint32_t function)
{
	bool is_new;
	uint32_t *id;

	function = named_function(g, function);
	id = intmap_put(&g->node_of, (uint64_t)app << 32 | function, &is_new);
	if (!is_new)
		return *id;
	*id = (uint32_t)g->nodes.n;
	vec_push(&g->nodes, (struct graph_node){ app, function });
	for (uint32_t lane = 0; lane < g->p->n_lanes; lane++)
		vec_push(&g->own, 0);
	return *id;
}

static uint32_t graph_arc(struct arc_graph *g, uint32_t caller, uint32_t callee)
{
	bool is_new;
	uint32_t *id = intmap_put(&g->arc_of, (uint64_t)caller << 32 | callee, &is_new);

	if (!is_new)
		return *id;
	*id = (uint32_t)g->arcs.n;
	vec_push(&g->arcs, (struct graph_arc){ caller, callee });
	for (uint32_t lane = 0; lane < g->p->n_lanes; lane++)
		vec_push(&g->counts, 0);
	return *id;
}

/* The application of a group's samples, or where applications are merged the image of `function`.
 */
static uint32_t app_of(const struct arc_graph *g, uint32_t group, uint32_t function)
{
	uint32_t image = g->p->functions.data[function].image, app;

	if (!key_list_has(&g->p->class_keys, PROFILE_APP))
		return image;
	app = profile_class_value(g->p, PROFILE_APP, group);
	return app == NO_INDEX ? image : app;
}

static void add_own(struct arc_graph *g)
{
	for (size_t i = 0; i < g->p->entries.n; i++) {
		const struct profile_entry *e = &g->p->entries.data[i];
		uint32_t function = g->p->nodes.data[e->node].function;
		uint32_t node = graph_node(g, app_of(g, e->group, function), function);

		for (uint32_t lane = 0; lane < g->p->n_lanes; lane++)
			g->own.data[(size_t)node * g->p->n_lanes + lane] +=
				profile_weights(g->p, i)[lane].samples;
	}
}

static void arc_graph_add_loaded(struct arc_graph *g)
{
	for (size_t i = 0; i < g->p->arcs.n; i++) {
		const struct profile_arc *a = &g->p->arcs.data[i];
		uint32_t app = app_of(g, a->group, a->caller);
		uint32_t caller = graph_node(g, app, a->caller);
		uint32_t arc = graph_arc(g, caller, graph_node(g, app, a->callee));

		for (uint32_t lane = 0; lane < g->p->n_lanes; lane++)
			g->counts.data[(size_t)arc * g->p->n_lanes + lane] +=
				g->p->arc_weights.data[i * g->p->n_lanes + lane].samples;
	}
}

/* ---- stacks ---- */

/* The stacks of one group as a tree, whose path from the root holds each arc once. */
struct stack_walk {
	struct arc_graph *g;
	struct subtree tree;
	uint32_t group;
	VEC(bool) on_path; /* by arc */
};

static void walk_stacks(struct stack_walk *w, uint32_t node)
{
	const struct profile *p = w->g->p;

	for (uint32_t c = w->tree.first_child[node]; c; c = w->tree.next_sibling[c]) {
		uint32_t arc = NO_INDEX;

		if (node) {
			uint32_t from = p->nodes.data[node].function,
				 to = p->nodes.data[c].function;
			uint32_t app = app_of(w->g, w->group, from);
			uint32_t caller = graph_node(w->g, app, from);

			arc = graph_arc(w->g, caller, graph_node(w->g, app, to));
			while (w->on_path.n <= arc)
				vec_push(&w->on_path, false);
			arc = w->on_path.data[arc] ? NO_INDEX : arc;
		}
		for (uint32_t lane = 0; arc != NO_INDEX && lane < p->n_lanes; lane++)
			w->g->counts.data[(size_t)arc * p->n_lanes + lane] +=
				subtree_cells(&w->tree, c)[lane].total.samples;
		if (arc != NO_INDEX)
			w->on_path.data[arc] = true;
		walk_stacks(w, c); /* bounded by PROFILE_MAX_DEPTH */
		if (arc != NO_INDEX)
			w->on_path.data[arc] = false;
	}
}

static void add_stacks(struct arc_graph *g)
{
	struct stack_walk w = { .g = g };
	uint32_t *order = entries_by_group(g->p);

	subtree_init(&w.tree, g->p);
	for (size_t from = 0, end; from < g->p->entries.n; from = end) {
		w.group = g->p->entries.data[order[from]].group;
		for (end = from;
		     end < g->p->entries.n && g->p->entries.data[order[end]].group == w.group;)
			end++;
		subtree_fill(&w.tree, order + from, end - from);
		walk_stacks(&w, 0);
	}
	subtree_fini(&w.tree);
	vec_fini(&w.on_path);
	free(order);
}

/* ---- the whole ---- */

/* Arcs in the order of one of their ends, and where each node's begin. */
static uint32_t *arcs_by(const struct arc_graph *g, bool of_callee, uint32_t **first)
{
	uint32_t *order = xcalloc(g->arcs.n + 1, sizeof(*order));
	uint32_t *start = xcalloc(g->nodes.n + 2, sizeof(*start));

	vec_foreach (&g->arcs, a)
		start[(of_callee ? a->callee : a->caller) + 2]++;
	for (size_t n = 0; n <= g->nodes.n; n++)
		start[n + 1] += start[n];
	for (uint32_t i = 0; i < g->arcs.n; i++) {
		const struct graph_arc *a = &g->arcs.data[i];

		order[start[(of_callee ? a->callee : a->caller) + 1]++] = i;
	}
	*first = start;
	return order;
}

void arc_graph_make(struct arc_graph *g, const struct profile *p)
{
	*g = (struct arc_graph){ .p = p };
	g->nameless = xcalloc(p->images.n + 1, sizeof(*g->nameless));
	for (size_t i = 0; i < p->images.n; i++)
		g->nameless[i] = NO_INDEX;
	add_own(g);
	arc_graph_add_loaded(g);
	if (p->has_chains)
		add_stacks(g);
	g->callers = arcs_by(g, true, &g->first_caller);
	g->callees = arcs_by(g, false, &g->first_callee);
}

void arc_graph_fini(struct arc_graph *g)
{
	vec_fini(&g->nodes);
	vec_fini(&g->arcs);
	vec_fini(&g->own);
	vec_fini(&g->counts);
	intmap_fini(&g->node_of);
	intmap_fini(&g->arc_of);
	free(g->callers);
	free(g->callees);
	free(g->first_caller);
	free(g->first_callee);
	free(g->nameless);
}

/* Heaviest first, the function itself behind others of its weight. */
static int by_weight(const void *x, const void *y, void *context)
{
	const struct arc_graph *g = context;
	const struct graph_line *a = x, *b = y;
	int order = (a->counts[0] < b->counts[0]) - (a->counts[0] > b->counts[0]);

	order = order ? order : (a->arc == NO_INDEX) - (b->arc == NO_INDEX);
	return order ? order
		     : strcmp(op_symbol_name(g->p, g->nodes.data[a->node].function),
			      op_symbol_name(g->p, g->nodes.data[b->node].function));
}

struct graph_line *arc_graph_side(const struct arc_graph *g, uint32_t node, bool of_callers,
				  size_t *n)
{
	const uint32_t *first = of_callers ? g->first_caller : g->first_callee;
	const uint32_t *arcs = of_callers ? g->callers : g->callees;
	struct graph_line *lines;

	*n = first[node + 1] - first[node];
	lines = xcalloc(*n + 1, sizeof(*lines));
	for (size_t i = 0; i < *n; i++) {
		uint32_t arc = arcs[first[node] + i];
		const struct graph_arc *a = &g->arcs.data[arc];

		lines[i] = (struct graph_line){ arc, of_callers ? a->caller : a->callee,
						arc_graph_counts(g, arc) };
	}
	if (!of_callers)
		lines[(*n)++] = (struct graph_line){ NO_INDEX, node, arc_graph_own(g, node) };
	qsort_r(lines, *n, sizeof(*lines), by_weight, (void *)g);
	for (size_t i = 0; of_callers && i < *n / 2; i++) {
		struct graph_line other = lines[i];

		lines[i] = lines[*n - 1 - i];
		lines[*n - 1 - i] = other;
	}
	return lines;
}
