/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/walk.h"

#include <stdlib.h>
#include <string.h>

uint32_t *entries_by_group(const struct profile *p)
{
	uint32_t *order = xcalloc(p->entries.n + 1, sizeof(*order));
	uint32_t *start = xcalloc((size_t)p->n_groups + 2, sizeof(*start));

	vec_foreach (&p->entries, e)
		start[e->group + 1]++;
	for (uint32_t g = 0; g < p->n_groups; g++)
		start[g + 1] += start[g];
	for (uint32_t i = 0; i < p->entries.n; i++)
		order[start[p->entries.data[i].group]++] = i;
	free(start);
	return order;
}

void subtree_init(struct subtree *t, const struct profile *p)
{
	size_t n = p->nodes.n;

	*t = (struct subtree){
		.p = p,
		.mark = xcalloc(n, sizeof(uint32_t)),
		.first_child = xcalloc(n, sizeof(uint32_t)),
		.next_sibling = xcalloc(n, sizeof(uint32_t)),
		.cells = xcalloc(n * p->n_lanes, sizeof(struct cell)),
	};
}

void subtree_fini(struct subtree *t)
{
	vec_fini(&t->touched);
	free(t->mark);
	free(t->first_child);
	free(t->next_sibling);
	free(t->cells);
}

static void reset_node(struct subtree *t, uint32_t node)
{
	t->mark[node] = t->pass;
	t->first_child[node] = t->next_sibling[node] = 0;
	memset(&t->cells[(size_t)node * t->p->n_lanes], 0, t->p->n_lanes * sizeof(struct cell));
}

static void touch_chain(struct subtree *t, uint32_t node)
{
	for (; node && t->mark[node] != t->pass; node = t->p->nodes.data[node].parent) {
		reset_node(t, node);
		vec_push(&t->touched, node);
	}
}

static int walk_by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void subtree_fill(struct subtree *t, const uint32_t *entries, size_t n)
{
	uint32_t n_lanes = t->p->n_lanes;

	t->pass++;
	t->touched.n = 0;
	reset_node(t, 0);
	for (size_t i = 0; i < n; i++) {
		const struct weight *w = profile_weights(t->p, entries[i]);
		uint32_t node = t->p->entries.data[entries[i]].node;

		touch_chain(t, node);
		for (uint32_t lane = 0; lane < n_lanes; lane++) {
			weight_add(&t->cells[(size_t)node * n_lanes + lane].self, &w[lane]);
			weight_add(&t->cells[(size_t)node * n_lanes + lane].total, &w[lane]);
		}
	}
	if (t->touched.n)
		qsort(t->touched.data, t->touched.n, sizeof(uint32_t), walk_by_number);
	/* Children have larger numbers than their parents: backward, a node is complete. */
	for (size_t i = t->touched.n; i-- > 0;) {
		uint32_t node = t->touched.data[i], parent = t->p->nodes.data[node].parent;

		for (uint32_t lane = 0; lane < n_lanes; lane++)
			weight_add(&t->cells[(size_t)parent * n_lanes + lane].total,
				   &t->cells[(size_t)node * n_lanes + lane].total);
		t->next_sibling[node] = t->first_child[parent];
		t->first_child[parent] = node;
	}
}

void threshold_init(struct threshold *t, const struct profile *p, const struct row_limits *limits)
{
	*t = (struct threshold){
		.limits = limits,
		.n_lanes = p->n_lanes,
		.least = xcalloc(p->n_lanes, sizeof(double)),
	};
	for (uint32_t lane = 0; lane < p->n_lanes; lane++)
		t->least[lane] = limits->min_percent / 100.0 *
				 (double)weight_value(&p->lanes[lane].total, limits->by_period);
}

void threshold_fini(struct threshold *t)
{
	free(t->least);
}

bool threshold_takes(const struct threshold *t, const struct cell *cells, bool of_total)
{
	for (uint32_t lane = 0; lane < t->n_lanes; lane++) {
		const struct weight *w = of_total ? &cells[lane].total : &cells[lane].self;
		uint64_t value = weight_value(w, t->limits->by_period);

		if ((value || !t->limits->min_percent) && (double)value >= t->least[lane])
			return true;
	}
	return false;
}

void hidden_init(struct hidden *h, const struct profile *p)
{
	*h = (struct hidden){ .cells = xcalloc(p->n_lanes, sizeof(struct cell)),
			      .n_lanes = p->n_lanes };
}

void hidden_fini(struct hidden *h)
{
	free(h->cells);
}

void hidden_add(struct hidden *h, const struct cell *cells, uint32_t n_rows)
{
	h->n_rows += n_rows;
	for (uint32_t lane = 0; lane < h->n_lanes; lane++)
		weight_add(&h->cells[lane].total, &cells[lane].total);
}

static void hidden_clear(struct hidden *h)
{
	h->n_rows = 0;
	memset(h->cells, 0, h->n_lanes * sizeof(*h->cells));
}

void hidden_put(struct hidden *h, struct rows *out, uint32_t depth, uint32_t indent,
		uint32_t parent)
{
	struct row *row;
	uint32_t at;

	if (!h->n_rows)
		return;
	at = rows_add(out, ROW_OTHER, depth, parent);
	row = &out->list.data[at];
	row->has_total = row->is_branch = true;
	row->indent = (uint16_t)MIN(indent, UINT16_MAX);
	row->n_hidden = h->n_rows;
	for (uint32_t lane = 0; lane < h->n_lanes; lane++)
		rows_cells(out, at)[lane].self = rows_cells(out, at)[lane].total =
			h->cells[lane].total;
	hidden_clear(h);
}

bool hidden_keeps(struct hidden *h, const struct threshold *t, struct hidden *rest, uint32_t parent)
{
	if (h->n_rows && parent != NO_INDEX && threshold_takes(t, h->cells, true))
		return true;
	hidden_add(rest, h->cells, h->n_rows);
	hidden_clear(h);
	return false;
}

static int compare_texts(const struct profile *p, enum profile_key key, uint32_t a, uint32_t b)
{
	char scratch_a[KEY_TEXT_SIZE], scratch_b[KEY_TEXT_SIZE];

	return a == b ? 0
		      : strverscmp(profile_key_text(p, key, a, scratch_a),
				   profile_key_text(p, key, b, scratch_b));
}

int walk_compare_names(const struct profile *p, uint32_t function, uint32_t other)
{
	int order = compare_texts(p, PROFILE_SYMBOL, function, other);

	if (!order)
		order = compare_texts(p, PROFILE_IMAGE,
				      profile_code_value(p, PROFILE_IMAGE, function),
				      profile_code_value(p, PROFILE_IMAGE, other));
	return order ? order : (function > other) - (function < other);
}

/* The entries of one group. */
struct group_run {
	const uint32_t *entries;
	size_t n;
	uint32_t group;
	uint64_t weight; /* in lane 0 */
};

static int walk_heavier_run(const void *a, const void *b, void *profile)
{
	const struct group_run *x = a, *y = b;
	const struct profile *p = profile;
	int order = 0;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	for (size_t i = 0; i < p->class_keys.n && !order; i++) {
		enum profile_key key = p->class_keys.key[i];

		order = compare_texts(p, key, profile_class_value(p, key, x->group),
				      profile_class_value(p, key, y->group));
	}
	return order ? order : (x->group > y->group) - (x->group < y->group);
}

/* A run of entries for each group, heaviest first. */
static size_t find_runs(const struct profile *p, const uint32_t *order, bool by_period,
			struct group_run *runs)
{
	size_t n = 0;

	for (size_t i = 0; i < p->entries.n; i++) {
		uint32_t group = p->entries.data[order[i]].group;

		if (!n || runs[n - 1].group != group)
			runs[n++] = (struct group_run){ .entries = &order[i], .group = group };
		runs[n - 1].n++;
		runs[n - 1].weight += weight_value(profile_weights(p, order[i]), by_period);
	}
	qsort_r(runs, n, sizeof(*runs), walk_heavier_run, (void *)p);
	return n;
}

static void walk_sum_run(const struct profile *p, const struct group_run *run, struct cell *sum)
{
	memset(sum, 0, p->n_lanes * sizeof(*sum));
	for (size_t i = 0; i < run->n; i++)
		for (uint32_t lane = 0; lane < p->n_lanes; lane++)
			weight_add(&sum[lane].total, &profile_weights(p, run->entries[i])[lane]);
}

/* The heading of a group, above its tree. */
static uint32_t add_heading(const struct profile *p, uint32_t group, const struct cell *sum,
			    struct rows *out)
{
	uint32_t row = rows_add(out, ROW_GROUP, 0, NO_INDEX);

	for (size_t i = 0; i < p->class_keys.n; i++) {
		enum profile_key key = p->class_keys.key[i];

		out->list.data[row].value[key] = profile_class_value(p, key, group);
	}
	out->list.data[row].has_total = true;
	memcpy(rows_cells(out, row), sum, p->n_lanes * sizeof(*sum));
	return row;
}

void each_group(const struct profile *p, const struct threshold *t, struct hidden *rest,
		struct rows *out,
		void (*grow)(void *context, const uint32_t *entries, size_t n, uint32_t heading),
		void *context)
{
	uint32_t *order = entries_by_group(p);
	struct group_run *runs = xcalloc((size_t)p->n_groups + 1, sizeof(*runs));
	struct cell *sum = xcalloc(p->n_lanes, sizeof(*sum));
	uint64_t n_shown = 0, max = t->limits->max_rows;
	size_t n = p->class_keys.n ? find_runs(p, order, t->limits->by_period, runs) : 0;

	if (!p->class_keys.n)
		grow(context, order, p->entries.n, NO_INDEX);
	for (size_t i = 0; i < n; i++) {
		walk_sum_run(p, &runs[i], sum);
		if (!threshold_takes(t, sum, true) || (max && n_shown >= max)) {
			hidden_add(rest, sum, 1);
			continue;
		}
		n_shown++;
		grow(context, runs[i].entries, runs[i].n, add_heading(p, runs[i].group, sum, out));
	}
	free(order);
	free(runs);
	free(sum);
}
