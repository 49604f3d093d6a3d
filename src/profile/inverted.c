/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tree bottom-up: the executing function, and below it its callers.
 *
 * The tree is never built. A row is a run of chains that agree so far, and each chain has a cursor
 * on its next frame. Sorting a run by that frame splits it into its children. A run below the
 * threshold is not split. So only the entries take memory.
 */
#include <stdlib.h>

#include "profile/walk.h"

struct chain {
	uint32_t entry;
	uint32_t node;     /* the next frame; 0: the chain has ended */
	uint32_t function; /* of it; NO_INDEX at the end */
};

struct run {
	size_t from, n;
	uint64_t weight; /* in lane 0 */
};

struct inverter {
	const struct profile *p;
	struct threshold threshold;
	struct rows *out;
	struct chain *chains;
	VEC(struct run) runs; /* of the rows on the way down */
	struct cell *scratch; /* one row's cells */
	struct hidden rest;   /* what no row of the tree is made for */
};

static int by_function(const void *a, const void *b)
{
	const struct chain *x = a, *y = b;

	return (x->function > y->function) - (x->function < y->function);
}

static int inverted_heavier_run(const void *a, const void *b, void *context)
{
	const struct run *x = a, *y = b;
	const struct inverter *v = context;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return walk_compare_names(v->p, v->chains[x->from].function, v->chains[y->from].function);
}

static void set_node(struct inverter *v, struct chain *chain, uint32_t node)
{
	chain->node = node;
	chain->function = node ? v->p->nodes.data[node].function : NO_INDEX;
}

/* Sums the weights of chains [from, from + n) into the scratch cells' totals. */
static void inverted_sum_run(struct inverter *v, size_t from, size_t n)
{
	for (uint32_t lane = 0; lane < v->p->n_lanes; lane++)
		v->scratch[lane] = (struct cell){ 0 };
	for (size_t i = from; i < from + n; i++) {
		const struct weight *w = profile_weights(v->p, v->chains[i].entry);

		for (uint32_t lane = 0; lane < v->p->n_lanes; lane++)
			weight_add(&v->scratch[lane].total, &w[lane]);
	}
}

/* Splits chains [from, from + n) by the frame that comes next; ended ones are left out. */
static void inverted_split(struct inverter *v, size_t from, size_t n)
{
	size_t first = v->runs.n, end = from + n;

	qsort(&v->chains[from], n, sizeof(struct chain), by_function);
	while (from < end && v->chains[from].node) {
		struct run run = { .from = from };

		while (from < end && v->chains[from].function == v->chains[run.from].function)
			from++;
		run.n = from - run.from;
		inverted_sum_run(v, run.from, run.n);
		run.weight = weight_value(&v->scratch[0].total, v->threshold.limits->by_period);
		vec_push(&v->runs, run);
	}
	if (v->runs.n > first)
		qsort_r(&v->runs.data[first], v->runs.n - first, sizeof(struct run),
			inverted_heavier_run, v);
}

/*
 * The row of a run. Its self weight is the weight of the chains that end at it, which are not below
 * it. The cursors of its chains move on to the callers.
 */
static uint32_t add_run_row(struct inverter *v, const struct run *run, uint32_t depth,
			    uint32_t parent)
{
	uint32_t function = v->chains[run->from].function;
	uint32_t row = rows_add(v->out, ROW_ITEM, depth, parent);
	struct cell *cells = rows_cells(v->out, row);

	v->out->list.data[row].has_total = true;
	v->out->list.data[row].value[PROFILE_SYMBOL] = function;
	v->out->list.data[row].value[PROFILE_IMAGE] =
		profile_code_value(v->p, PROFILE_IMAGE, function);
	for (uint32_t lane = 0; lane < v->p->n_lanes; lane++)
		cells[lane].total = v->scratch[lane].total;
	for (size_t i = run->from; i < run->from + run->n; i++) {
		struct chain *chain = &v->chains[i];
		const struct weight *w = profile_weights(v->p, chain->entry);

		set_node(v, chain, v->p->nodes.data[chain->node].parent);
		for (uint32_t lane = 0; !chain->node && lane < v->p->n_lanes; lane++)
			weight_add(&cells[lane].self, &w[lane]);
	}
	return row;
}

/* Takes the chains out of the runs that are not shown (n = 0); the number of the others. */
static size_t hide_runs(struct inverter *v, struct hidden *hidden, size_t first, size_t n)
{
	uint64_t max = v->threshold.limits->max_rows;
	size_t n_shown = 0;

	for (size_t i = first; i < first + n; i++) {
		inverted_sum_run(v, v->runs.data[i].from, v->runs.data[i].n);
		if (threshold_takes(&v->threshold, v->scratch, true) && (!max || n_shown < max)) {
			n_shown++;
			continue;
		}
		hidden_add(hidden, v->scratch, 1);
		v->runs.data[i].n = 0;
	}
	return n_shown;
}

/* The rows below one row, as grow() in tree.c; recursion is bounded by PROFILE_MAX_DEPTH. */
static void invert(struct inverter *v, size_t from, size_t n, uint32_t parent, uint32_t depth,
		   uint32_t indent)
{
	size_t first = v->runs.n, n_runs, n_shown;
	struct hidden hidden;
	bool has_other, is_chain;
	uint32_t row, below;

	inverted_split(v, from, n);
	n_runs = v->runs.n - first;
	hidden_init(&hidden, v->p);
	n_shown = hide_runs(v, &hidden, first, n_runs);
	has_other = hidden_keeps(&hidden, &v->threshold, &v->rest, parent);
	is_chain = n_shown == 1 && !has_other && parent != NO_INDEX;
	below = parent == NO_INDEX ? 0 : is_chain ? indent : indent + 1;
	for (size_t i = first; i < first + n_runs; i++) {
		struct run run = v->runs.data[i];

		if (!run.n)
			continue;
		inverted_sum_run(v, run.from, run.n);
		row = add_run_row(v, &run, depth, parent);
		v->out->list.data[row].indent = (uint16_t)below;
		v->out->list.data[row].is_branch = !is_chain;
		invert(v, run.from, run.n, row, depth + 1, below);
	}
	hidden_put(&hidden, v->out, depth, below, parent);
	hidden_fini(&hidden);
	v->runs.n = first;
}

static void invert_group(void *context, const uint32_t *entries, size_t n, uint32_t heading)
{
	struct inverter *v = context;

	for (size_t i = 0; i < n; i++) {
		v->chains[i].entry = entries[i];
		set_node(v, &v->chains[i], v->p->entries.data[entries[i]].node);
	}
	invert(v, 0, n, heading, heading != NO_INDEX, 0);
}

void profile_inverted(const struct profile *p, const struct row_limits *limits, struct rows *out)
{
	struct inverter v = {
		.p = p,
		.out = out,
		.chains = xcalloc(p->entries.n + 1, sizeof(struct chain)),
		.scratch = xcalloc(p->n_lanes, sizeof(struct cell)),
	};

	out->n_lanes = p->n_lanes;
	threshold_init(&v.threshold, p, limits);
	hidden_init(&v.rest, p);
	each_group(p, &v.threshold, &v.rest, out, invert_group, &v);
	hidden_put(&v.rest, out, 0, 0, NO_INDEX);
	hidden_fini(&v.rest);
	vec_fini(&v.runs);
	threshold_fini(&v.threshold);
	free(v.chains);
	free(v.scratch);
}
