/* SPDX-License-Identifier: GPL-2.0-or-later */
/* opreport's call graph: a block for each function of an application. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "oprofile/report/arc_graph.h"
#include "oprofile/report/opreport_rows.h"
#include "profile/query.h"

/* Row i of `r` is node i of the graph. */
struct call_graph {
	struct op_rows r;
	struct arc_graph arcs;
	FILE *out;
};

/* A line of a block: an arc, or for NO_INDEX the function itself among its callees. */
struct graph_line {
	uint32_t arc, node;
	const uint64_t *counts;
};

static bool takes_symbol(const struct call_graph *g, uint32_t node)
{
	const struct query *q = g->r.o->query;
	const struct op_row *row = &g->r.list.data[node];

	return !q || (query_takes_function(q, FILTER_SYMBOL, row->symbol) &&
		      !(query_has(q, FILTER_SYMBOL_EXCLUDE) &&
			query_takes_function(q, FILTER_SYMBOL_EXCLUDE, row->symbol)));
}

static void make_rows(struct call_graph *g)
{
	struct op_rows *r = &g->r;

	vec_foreach (&g->arcs.nodes, node)
		op_rows_add(r, node->app, node->function, op_has_symbol(r->p, node->function));
	vec_foreach (&g->arcs.own, count)
		r->counts.data[count - g->arcs.own.data] = *count;
	r->order = xcalloc(r->list.n + 1, sizeof(*r->order));
	for (uint32_t i = 0; i < r->list.n; i++)
		if (takes_symbol(g, i) && op_share(op_row_counts(r, i)[0],
						   r->p->lanes[0].total.samples) >= r->o->threshold)
			r->order[r->n_order++] = i;
	op_rows_choose_columns(r);
	qsort_r(r->order, r->n_order, sizeof(*r->order), op_rows_compare, r);
}

/* Heaviest first, the function itself behind others of its weight. */
static int by_weight(const void *x, const void *y, void *context)
{
	const struct call_graph *g = context;
	const struct graph_line *a = x, *b = y;
	int order = (a->counts[0] < b->counts[0]) - (a->counts[0] > b->counts[0]);

	order = order ? order : (a->arc == NO_INDEX) - (b->arc == NO_INDEX);
	return order ? order
		     : strcmp(g->r.list.data[a->node].symbol, g->r.list.data[b->node].symbol);
}

static void print_graph_line(const struct call_graph *g, const struct graph_line *l,
			     const char *indent, const uint64_t *of, uint64_t *sums)
{
	struct buf line = { 0 };

	buf_str(&line, indent);
	op_put_counts(&g->r, g->r.list.data[l->node].address, l->counts, of, sums, &line);
	op_put_names(&g->r, &g->r.list.data[l->node],
		     *indent && l->arc == NO_INDEX ? " [self]" : "", &line);
	op_print_line(&line, g->out);
	buf_fini(&line);
}

/* Callers (lightest first) or callees of a node; the latter with the node itself. */
static void print_side(const struct call_graph *g, uint32_t node, bool of_callers)
{
	const struct arc_graph *a = &g->arcs;
	const uint32_t *first = of_callers ? a->first_caller : a->first_callee;
	const uint32_t *arcs = of_callers ? a->callers : a->callees;
	size_t n = first[node + 1] - first[node];
	uint32_t n_lanes = g->r.p->n_lanes;
	struct graph_line *lines = xcalloc(n + 1, sizeof(*lines));
	uint64_t *of = xcalloc(n_lanes, sizeof(*of)), *sums = xcalloc(n_lanes, sizeof(*sums));

	for (size_t i = 0; i < n; i++) {
		uint32_t arc = arcs[first[node] + i];

		lines[i] = (struct graph_line){ arc,
						of_callers ? a->arcs.data[arc].caller
							   : a->arcs.data[arc].callee,
						arc_graph_counts(a, arc) };
	}
	if (!of_callers)
		lines[n++] = (struct graph_line){ NO_INDEX, node, arc_graph_own(a, node) };
	for (size_t i = 0; i < n * n_lanes; i++)
		of[i % n_lanes] += lines[i / n_lanes].counts[i % n_lanes];
	qsort_r(lines, n, sizeof(*lines), by_weight, (void *)g);
	for (size_t i = 0; i < n; i++) {
		const struct graph_line *l = &lines[of_callers ? n - 1 - i : i];

		if (op_share(l->counts[0], of[0]) >= g->r.o->threshold)
			print_graph_line(g, l, "  ", g->r.o->global_percent ? NULL : of, sums);
	}
	free(lines);
	free(of);
	free(sums);
}

#define DASHES                                                                            \
	"-------------------------------------------------------------------------------" \
	"\n"

void opreport_print_callgraph(const struct profile *p, const struct opreport_options *o, FILE *out)
{
	struct call_graph g = { .r = { .p = p, .o = o }, .out = out };
	uint64_t *sums = xcalloc(p->n_lanes, sizeof(*sums));

	arc_graph_make(&g.arcs, p);
	make_rows(&g);
	op_print_titles(&g.r, false, out);
	fputs(DASHES, out);
	for (size_t i = 0; i < g.r.n_order; i++) {
		uint32_t node = g.r.order[i];
		const struct graph_line self = { NO_INDEX, node, arc_graph_own(&g.arcs, node) };

		print_side(&g, node, true);
		print_graph_line(&g, &self, "", NULL, sums);
		print_side(&g, node, false);
		fputs(DASHES, out);
	}
	free(sums);
	op_rows_fini(&g.r);
	arc_graph_fini(&g.arcs);
}
