/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Callers and callees of every function, from the tree's inclusive weights W.
 *
 * For a node n of function f, let a be the nearest node of f above it, if any.
 *   - Without an a, n is outermost. W(n) is added to f's total and to the caller arc
 *     (function above n -> f).
 *   - Each node c below n of function g adds W(c) to the callee arc (f -> g).
 *   - With an a, n accounts for its own weight. So W(n) is subtracted from the callee arc of a that
 *     leads to n.
 * Then the callers add up to the total, and so do the callees with self.
 */
#include <stdlib.h>
#include <string.h>

#include "base/intmap.h"
#include "profile/walk.h"

struct arc {
	uint32_t of, other; /* functions; other NO_INDEX: the root */
};

/* The arcs of one direction, with the weights of arc i at [i * n_lanes]. */
struct arcs {
	struct intmap index; /* of << 32 | other */
	VEC(struct arc) list;
	VEC(struct weight) weights;
	uint32_t n_lanes;
};

struct grapher {
	const struct profile *p;
	struct subtree tree;
	struct threshold threshold;
	struct rows *out;
	struct arcs callers, callees;
	struct cell *functions;               /* [function * n_lanes + lane] */
	uint32_t *nearest;                    /* by function: its last node on the path; 0 */
	uint32_t path[PROFILE_MAX_DEPTH + 2]; /* by depth */
};

static void callgraph_arcs_fini(struct arcs *a)
{
	intmap_fini(&a->index);
	vec_fini(&a->list);
	vec_fini(&a->weights);
}

static struct weight *arc_weights(struct arcs *a, uint32_t of, uint32_t other)
{
	bool is_new;
	uint32_t *id = intmap_put(&a->index, (uint64_t)of << 32 | other, &is_new);

	if (is_new) {
		*id = (uint32_t)a->list.n;
		vec_push(&a->list, (struct arc){ of, other });
		for (uint32_t lane = 0; lane < a->n_lanes; lane++)
			vec_push(&a->weights, (struct weight){ 0 });
	}
	return &a->weights.data[(size_t)*id * a->n_lanes];
}

/* Differences wrap in between; the sums do not. */
static void arc_add(struct arcs *a, uint32_t of, uint32_t other, const struct cell *cells,
		    bool take)
{
	struct weight *w = arc_weights(a, of, other);

	for (uint32_t lane = 0; lane < a->n_lanes; lane++) {
		w[lane].samples += take ? -cells[lane].total.samples : cells[lane].total.samples;
		w[lane].period += take ? -cells[lane].total.period : cells[lane].total.period;
	}
}

static void account(struct grapher *g, uint32_t node)
{
	const struct profile_node *nodes = g->p->nodes.data;
	const struct cell *cells = subtree_cells(&g->tree, node);
	uint32_t f = nodes[node].function, parent = nodes[node].parent, above = g->nearest[f];
	struct cell *sum = &g->functions[(size_t)f * g->p->n_lanes];

	for (uint32_t lane = 0; lane < g->p->n_lanes; lane++) {
		weight_add(&sum[lane].self, &cells[lane].self);
		if (!above)
			weight_add(&sum[lane].total, &cells[lane].total);
	}
	if (!above)
		arc_add(&g->callers, f, nodes[parent].function, cells, false);
	else
		arc_add(&g->callees, f, nodes[g->path[nodes[above].depth + 1]].function, cells,
			true);
	if (parent)
		arc_add(&g->callees, nodes[parent].function, f, cells, false);
}

/* Depth first; recursion is bounded by PROFILE_MAX_DEPTH. */
static void callgraph_visit(struct grapher *g, uint32_t node)
{
	for (uint32_t c = g->tree.first_child[node]; c; c = g->tree.next_sibling[c]) {
		const struct profile_node *n = &g->p->nodes.data[c];
		uint32_t above = g->nearest[n->function];

		g->path[n->depth] = c;
		account(g, c);
		g->nearest[n->function] = c;
		callgraph_visit(g, c);
		g->nearest[n->function] = above;
	}
}

/*
 * Arcs that came without stacks. A sample whose stack has f beyond its innermost frame is in one
 * arc from f: with f's own samples they are f's total. What of it no caller has is of nobody.
 */
static void add_loaded_arcs(struct grapher *g)
{
	const struct profile *p = g->p;
	uint32_t n = p->n_lanes;
	struct weight *called = xcalloc(p->functions.n * n + 1, sizeof(*called));

	for (uint32_t i = 0; i < p->arcs.n; i++) {
		const struct profile_arc *arc = &p->arcs.data[i];
		struct weight *callee = arc_weights(&g->callees, arc->caller, arc->callee);
		struct weight *caller = arc_weights(&g->callers, arc->callee, arc->caller);

		for (uint32_t lane = 0; lane < n; lane++) {
			const struct weight *w = &p->arc_weights.data[(size_t)i * n + lane];

			weight_add(&callee[lane], w);
			weight_add(&caller[lane], w);
			weight_add(&called[(size_t)arc->callee * n + lane], w);
			if (arc->caller != arc->callee)
				weight_add(&g->functions[(size_t)arc->caller * n + lane].total, w);
		}
	}
	for (uint32_t f = 0; f < p->functions.n; f++) {
		struct weight *nobody = arc_weights(&g->callers, f, NO_INDEX);

		for (uint32_t lane = 0; lane < n; lane++) {
			const struct weight *all = &g->functions[(size_t)f * n + lane].total;
			const struct weight *some = &called[(size_t)f * n + lane];

			nobody[lane].samples = all->samples - MIN(all->samples, some->samples);
			nobody[lane].period = all->period - MIN(all->period, some->period);
		}
	}
	free(called);
}

/* Rows of one block are made from these: arcs of one function, or functions. */
struct ranked {
	uint64_t weight;
	uint32_t id;
	uint32_t of;
};

static int by_owner_then_weight(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

/* Arcs with weight, function by function, heaviest first; `start` by function. */
static struct ranked *rank_arcs(const struct arcs *a, bool by_period, size_t n_functions,
				uint32_t *start)
{
	struct ranked *ranked = xcalloc(a->list.n + 1, sizeof(*ranked));
	size_t n = 0;

	for (uint32_t i = 0; i < a->list.n; i++) {
		const struct weight *w = &a->weights.data[(size_t)i * a->n_lanes];
		uint64_t samples = 0;

		for (uint32_t lane = 0; lane < a->n_lanes; lane++)
			samples |= w[lane].samples;
		if (samples)
			ranked[n++] = (struct ranked){ weight_value(w, by_period), i,
						       a->list.data[i].of };
	}
	qsort(ranked, n, sizeof(*ranked), by_owner_then_weight);
	for (size_t i = 0; i < n; i++)
		start[ranked[i].of + 1] = (uint32_t)i + 1;
	for (size_t f = 0; f < n_functions; f++)
		start[f + 1] = MAX(start[f + 1], start[f]);
	return ranked;
}

static uint32_t callgraph_add_row(struct grapher *g, enum row_kind kind, enum row_role role,
				  uint32_t block, uint32_t function)
{
	uint32_t row = rows_add(g->out, kind, role != ROLE_SELF, NO_INDEX);
	struct row *r = &g->out->list.data[row];

	r->role = role;
	r->block = block;
	r->has_total = true;
	if (function != NO_INDEX) {
		r->value[PROFILE_SYMBOL] = function;
		r->value[PROFILE_IMAGE] = profile_code_value(g->p, PROFILE_IMAGE, function);
	}
	return row;
}

static bool arc_is_light(const struct grapher *g, const struct weight *w, const struct cell *of)
{
	double min = g->threshold.limits->min_percent / 100.0;

	for (uint32_t lane = 0; lane < g->p->n_lanes; lane++) {
		bool by_period = g->threshold.limits->by_period;
		uint64_t whole = weight_value(&of[lane].total, by_period);

		if (whole && (double)weight_value(&w[lane], by_period) >= min * (double)whole)
			return false;
	}
	return true;
}

static void put_arc(struct grapher *g, uint32_t row, const struct weight *w)
{
	for (uint32_t lane = 0; lane < g->p->n_lanes; lane++)
		weight_add(&rows_cells(g->out, row)[lane].total, &w[lane]);
}

/*
 * The arcs of one side of a block: those with a share of the block's total of
 * at least the threshold, the rest in one row. Heaviest next to the function.
 */
static void add_side(struct grapher *g, const struct arcs *arcs, const struct ranked *ranked,
		     size_t n, enum row_role role, uint32_t block, uint32_t function)
{
	const struct cell *of = &g->functions[(size_t)function * g->p->n_lanes];
	uint64_t max = g->threshold.limits->max_rows;
	size_t shown = 0;
	uint32_t other = NO_INDEX;

	while (shown < n && (!max || shown < max) &&
	       !arc_is_light(g, &arcs->weights.data[(size_t)ranked[shown].id * g->p->n_lanes], of))
		shown++;
	for (size_t i = 0; i < n; i++) {
		size_t at = role == ROLE_CALLER ? n - 1 - i : i;
		uint32_t row, id = ranked[at].id;

		if (at >= shown && other == NO_INDEX)
			other = callgraph_add_row(g, ROW_OTHER, role, block, NO_INDEX);
		if (at >= shown)
			g->out->list.data[other].n_hidden++;
		row = at >= shown ? other
				  : callgraph_add_row(g, ROW_ITEM, role, block,
						      arcs->list.data[id].other);
		put_arc(g, row, &arcs->weights.data[(size_t)id * g->p->n_lanes]);
	}
}

static struct ranked *rank_functions(const struct grapher *g)
{
	const struct profile *p = g->p;
	struct ranked *ranked = xcalloc(p->functions.n + 1, sizeof(*ranked));

	for (uint32_t f = 0; f < p->functions.n; f++) {
		const struct cell *cells = &g->functions[(size_t)f * p->n_lanes];

		ranked[f].id = f;
		ranked[f].weight = weight_value(&cells[0].total, g->threshold.limits->by_period);
	}
	qsort(ranked, p->functions.n, sizeof(*ranked), by_owner_then_weight);
	return ranked;
}

static bool has_weight(const struct grapher *g, uint32_t function)
{
	const struct cell *cells = &g->functions[(size_t)function * g->p->n_lanes];

	for (uint32_t lane = 0; lane < g->p->n_lanes; lane++)
		if (cells[lane].total.samples)
			return true;
	return false;
}

/* The self weights of the functions without a block: the rest of the total. */
static void add_hidden_functions(struct grapher *g, const struct ranked *order, const bool *shown)
{
	uint32_t other = NO_INDEX;

	for (size_t i = 0; i < g->p->functions.n; i++) {
		uint32_t f = order[i].id;

		if (shown[f] || !has_weight(g, f))
			continue;
		if (other == NO_INDEX) {
			other = callgraph_add_row(g, ROW_OTHER, ROLE_SELF, NO_INDEX, NO_INDEX);
			g->out->list.data[other].has_total = false;
		}
		g->out->list.data[other].n_hidden++;
		for (uint32_t lane = 0; lane < g->p->n_lanes; lane++)
			weight_add(&rows_cells(g->out, other)[lane].self,
				   &g->functions[(size_t)f * g->p->n_lanes + lane].self);
	}
}

static void callgraph_add_blocks(struct grapher *g)
{
	const struct row_limits *limits = g->threshold.limits;
	size_t n = g->p->functions.n;
	uint32_t *caller_start = xcalloc(n + 1, sizeof(uint32_t));
	uint32_t *callee_start = xcalloc(n + 1, sizeof(uint32_t));
	struct ranked *callers = rank_arcs(&g->callers, limits->by_period, n, caller_start);
	struct ranked *callees = rank_arcs(&g->callees, limits->by_period, n, callee_start);
	struct ranked *order = rank_functions(g);
	bool *shown = xcalloc(n + 1, sizeof(bool));
	uint32_t block = 0;

	for (size_t i = 0; i < n && (!limits->max_rows || block < limits->max_rows); i++) {
		uint32_t f = order[i].id, row;
		const struct cell *cells = &g->functions[(size_t)f * g->p->n_lanes];

		if (!has_weight(g, f) || !threshold_takes(&g->threshold, cells, true))
			continue;
		shown[f] = true;
		add_side(g, &g->callers, &callers[caller_start[f]],
			 caller_start[f + 1] - caller_start[f], ROLE_CALLER, block, f);
		row = callgraph_add_row(g, ROW_ITEM, ROLE_SELF, block, f);
		memcpy(rows_cells(g->out, row), cells, g->p->n_lanes * sizeof(*cells));
		add_side(g, &g->callees, &callees[callee_start[f]],
			 callee_start[f + 1] - callee_start[f], ROLE_CALLEE, block, f);
		block++;
	}
	add_hidden_functions(g, order, shown);
	free(caller_start);
	free(callee_start);
	free(callers);
	free(callees);
	free(order);
	free(shown);
}

void profile_callgraph(const struct profile *p, const struct row_limits *limits, struct rows *out)
{
	struct grapher *g = xcalloc(1, sizeof(*g));
	uint32_t *order = entries_by_group(p);

	g->p = p;
	g->out = out;
	out->n_lanes = g->callers.n_lanes = g->callees.n_lanes = p->n_lanes;
	g->functions = xcalloc((p->functions.n + 1) * p->n_lanes, sizeof(struct cell));
	g->nearest = xcalloc(p->functions.n + 1, sizeof(uint32_t));
	subtree_init(&g->tree, p);
	subtree_fill(&g->tree, order, p->entries.n);
	threshold_init(&g->threshold, p, limits);
	callgraph_visit(g, 0);
	if (p->arcs.n)
		add_loaded_arcs(g);
	callgraph_add_blocks(g);
	callgraph_arcs_fini(&g->callers);
	callgraph_arcs_fini(&g->callees);
	threshold_fini(&g->threshold);
	subtree_fini(&g->tree);
	free(g->functions);
	free(g->nearest);
	free(order);
	free(g);
}
