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

/* Filters are by the demangled name, whichever is shown. */
static bool graph_takes_symbol(const struct op_rows *r, uint32_t function)
{
	const struct query *q = r->o->query;
	const char *name = op_symbol_name(r->p, function);

	return !q || (query_takes_function(q, FILTER_SYMBOL, name) &&
		      !(query_has(q, FILTER_SYMBOL_EXCLUDE) &&
			query_takes_function(q, FILTER_SYMBOL_EXCLUDE, name)));
}

void op_rows_of_graph(struct op_rows *r, const struct arc_graph *g,
		      const struct opreport_options *o)
{
	*r = (struct op_rows){ .p = g->p, .o = o };
	vec_foreach (&g->nodes, node)
		op_rows_add(r, node->app, node->function, op_has_symbol(r->p, node->function));
	vec_foreach (&g->own, count)
		r->counts.data[count - g->own.data] = *count;
	r->order = xcalloc(r->list.n + 1, sizeof(*r->order));
	for (uint32_t i = 0; i < r->list.n; i++)
		if (graph_takes_symbol(r, g->nodes.data[i].function) &&
		    op_share(op_row_counts(r, i)[0], r->p->lanes[0].total.samples) >= o->threshold)
			r->order[r->n_order++] = i;
	op_rows_choose_columns(r);
	qsort_r(r->order, r->n_order, sizeof(*r->order), op_rows_compare, r);
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

/* Callers or callees of a node. */
static void print_side(const struct call_graph *g, uint32_t node, bool of_callers)
{
	size_t n;
	uint32_t n_lanes = g->r.p->n_lanes;
	struct graph_line *lines = arc_graph_side(&g->arcs, node, of_callers, &n);
	uint64_t *of = xcalloc(n_lanes, sizeof(*of)), *sums = xcalloc(n_lanes, sizeof(*sums));

	for (size_t i = 0; i < n * n_lanes; i++)
		of[i % n_lanes] += lines[i / n_lanes].counts[i % n_lanes];
	for (size_t i = 0; i < n; i++)
		if (op_share(lines[i].counts[0], of[0]) >= g->r.o->threshold)
			print_graph_line(g, &lines[i], "  ", g->r.o->global_percent ? NULL : of,
					 sums);
	free(lines);
	free(of);
	free(sums);
}

#define DASHES                                                                            \
	"-------------------------------------------------------------------------------" \
	"\n"

void opreport_print_callgraph(const struct profile *p, const struct opreport_options *o, FILE *out)
{
	struct call_graph g = { .out = out };
	uint64_t *sums = xcalloc(p->n_lanes, sizeof(*sums));

	arc_graph_make(&g.arcs, p);
	op_rows_of_graph(&g.r, &g.arcs, o);
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
