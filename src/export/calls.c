/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/calls.h"

#include <stdlib.h>

#include "base/intmap.h"

struct gatherer {
	const struct profile *p;
	struct calls *c;
	struct intmap index; /* caller << 32 | callee: the call */
	uint32_t *call_of;   /* by node; NO_INDEX */
	uint32_t *open;      /* by call: its number of entries in the current chain */
	uint32_t *first_child, *next_sibling; /* by node; 0: none */
	struct weight *totals;                /* by node, with all nodes below */
};

static void *calls_column(size_t n, size_t size)
{
	return xcalloc(n + 1, size);
}

static void calls_add_all(struct weight *to, const struct weight *from, uint32_t n_lanes)
{
	for (uint32_t lane = 0; lane < n_lanes; lane++)
		weight_add(&to[lane], &from[lane]);
}

/*
 * Adds up the weights that ended in each node and place; then, from the leaves up, the weights that
 * passed through each node.
 */
static void calls_add_weights(struct gatherer *g)
{
	const struct profile *p = g->p;
	uint32_t n = p->n_lanes;

	for (size_t i = 0; i < p->entries.n; i++) {
		uint32_t node = p->entries.data[i].node;

		calls_add_all(&g->totals[(size_t)node * n], profile_weights(p, i), n);
		if (node)
			calls_add_all(&g->c->self[(size_t)p->node_places.data[node] * n],
				      profile_weights(p, i), n);
	}
	for (uint32_t i = (uint32_t)p->nodes.n; i-- > 1;)
		calls_add_all(&g->totals[(size_t)p->nodes.data[i].parent * n],
			      &g->totals[(size_t)i * n], n);
}

static void find_calls(struct gatherer *g)
{
	const struct profile *p = g->p;

	for (uint32_t i = (uint32_t)p->nodes.n; i-- > 1;) {
		uint32_t parent = p->nodes.data[i].parent, caller = p->node_places.data[parent],
			 *id;
		bool is_new;

		g->next_sibling[i] = g->first_child[parent];
		g->first_child[parent] = i;
		g->call_of[i] = NO_INDEX;
		if (!parent)
			continue;
		id = intmap_put(&g->index, (uint64_t)caller << 32 | p->nodes.data[i].function,
				&is_new);
		if (is_new) {
			*id = (uint32_t)g->c->list.n;
			vec_push(&g->c->list, (struct call){ caller, p->nodes.data[i].function });
		}
		g->call_of[i] = *id;
	}
}

static uint32_t find_arc_call(struct gatherer *g, const struct profile_arc *arc)
{
	bool is_new;
	uint32_t *id = intmap_put(&g->index, (uint64_t)arc->place << 32 | arc->callee, &is_new);

	if (is_new) {
		*id = (uint32_t)g->c->list.n;
		vec_push(&g->c->list, (struct call){ arc->place, arc->callee });
	}
	return *id;
}

/* Arcs without stacks are already calls. */
static void calls_add_arcs(struct gatherer *g)
{
	uint32_t n = g->p->n_lanes;

	for (uint32_t i = 0; i < g->p->arcs.n; i++)
		calls_add_all(&g->c->weights[(size_t)find_arc_call(g, &g->p->arcs.data[i]) * n],
			      &g->p->arc_weights.data[(size_t)i * n], n);
}

static void calls_enter(struct gatherer *g, uint32_t node)
{
	uint32_t call = g->call_of[node], n = g->p->n_lanes;

	if (call != NO_INDEX && !g->open[call]++)
		calls_add_all(&g->c->weights[(size_t)call * n], &g->totals[(size_t)node * n], n);
}

static void calls_leave(struct gatherer *g, uint32_t node)
{
	if (g->call_of[node] != NO_INDEX)
		g->open[g->call_of[node]]--;
}

/* Depth first, so that a call that is already in the chain counts once. */
static void calls_walk(struct gatherer *g)
{
	uint32_t node = g->first_child[0];

	while (node) {
		calls_enter(g, node);
		if (g->first_child[node]) {
			node = g->first_child[node];
			continue;
		}
		calls_leave(g, node);
		while (!g->next_sibling[node] && g->p->nodes.data[node].parent) {
			node = g->p->nodes.data[node].parent;
			calls_leave(g, node);
		}
		node = g->next_sibling[node];
	}
}

static int calls_by_place(const struct profile *p, uint32_t a, uint32_t b)
{
	const struct profile_place *x = &p->places.data[a], *y = &p->places.data[b];

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static int compare_call_places(const void *a, const void *b, void *p)
{
	return calls_by_place(p, *(const uint32_t *)a, *(const uint32_t *)b);
}

static int compare_calls(const void *a, const void *b, void *calls)
{
	const struct gatherer *g = calls;
	const struct call *x = &g->c->list.data[*(const uint32_t *)a],
			  *y = &g->c->list.data[*(const uint32_t *)b];
	int order = calls_by_place(g->p, x->caller, y->caller);

	return order ? order : (x->callee > y->callee) - (x->callee < y->callee);
}

static void sort_calls(struct gatherer *g)
{
	size_t n = g->c->list.n, n_lanes = g->p->n_lanes;
	uint32_t *order = calls_column(n, sizeof(*order));
	struct call *list = calls_column(n, sizeof(*list));
	struct weight *weights = calls_column(n * n_lanes, sizeof(*weights));

	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), compare_calls, g);
	for (size_t i = 0; i < n; i++) {
		list[i] = g->c->list.data[order[i]];
		calls_add_all(&weights[i * n_lanes], &g->c->weights[order[i] * n_lanes],
			      (uint32_t)n_lanes);
	}
	free(order);
	free(g->c->list.data);
	free(g->c->weights);
	g->c->list.data = list;
	g->c->list.cap = n + 1;
	g->c->weights = weights;
}

void calls_init(struct calls *c, const struct profile *p)
{
	size_t n = p->nodes.n;
	struct gatherer g = {
		.p = p,
		.c = c,
		.call_of = calls_column(n, sizeof(uint32_t)),
		.first_child = calls_column(n, sizeof(uint32_t)),
		.next_sibling = calls_column(n, sizeof(uint32_t)),
		.totals = calls_column(n * p->n_lanes, sizeof(struct weight)),
	};

	*c = (struct calls){ .self = calls_column(p->places.n * p->n_lanes,
						  sizeof(struct weight)) };
	calls_add_weights(&g);
	find_calls(&g);
	vec_foreach (&p->arcs, arc)
		find_arc_call(&g, arc);
	g.open = calls_column(c->list.n, sizeof(uint32_t));
	c->weights = calls_column(c->list.n * p->n_lanes, sizeof(struct weight));
	calls_walk(&g);
	calls_add_arcs(&g);
	sort_calls(&g);
	intmap_fini(&g.index);
	free(g.call_of);
	free(g.open);
	free(g.first_child);
	free(g.next_sibling);
	free(g.totals);
}

void calls_fini(struct calls *c)
{
	vec_fini(&c->list);
	free(c->weights);
	free(c->self);
}

uint32_t *places_by_function(const struct profile *p)
{
	uint32_t *order = calls_column(p->places.n, sizeof(*order));

	for (uint32_t i = 0; i < p->places.n; i++)
		order[i] = i;
	qsort_r(order, p->places.n, sizeof(*order), compare_call_places, (void *)p);
	return order;
}
