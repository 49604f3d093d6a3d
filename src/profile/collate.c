/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flat rows. Entries are visited group by group, so one array look-up finds the row of a piece of
 * code. To count a sample once in a total, the walk of a chain marks each row that it has met.
 */
#include "profile/rows.h"

#include <assert.h>
#include <stdlib.h>

#include "profile/walk.h"

struct collator {
	const struct profile *p;
	const struct key_list *keys;
	struct rows *out;
	uint32_t *codes;    /* by function: the number of its tuple of CODE keys */
	uint32_t *row_of;   /* by code: valid where … */
	uint32_t *group_of; /* … this is the group at hand + 1 */
	uint32_t *seen;     /* by code: the last entry + 1 whose chain had it */
	uint32_t group;
};

/* Numbers the tuples of the CODE keys that functions have: as many as functions, at most. */
static uint32_t *number_codes(const struct profile *p, const struct key_list *keys)
{
	uint32_t *codes = xcalloc(p->functions.n + 1, sizeof(*codes));
	struct strings tuples;

	strings_init(&tuples);
	for (uint32_t f = 0; f < p->functions.n; f++) {
		uint32_t tuple[N_PROFILE_KEYS] = { 0 };

		for (size_t i = 0; i < keys->n; i++)
			if (profile_keys[keys->key[i]].kind == KEY_CODE)
				tuple[i] = profile_code_value(p, keys->key[i], f);
		codes[f] = strings_add_n(&tuples, (const char *)tuple,
					 MAX(keys->n, 1) * sizeof(*tuple))
				   .n -
			   1;
	}
	strings_fini(&tuples);
	return codes;
}

static struct cell *cells_of(struct collator *c, uint32_t function, uint32_t code)
{
	uint32_t row;

	if (c->group_of[code] == c->group + 1)
		return rows_cells(c->out, c->row_of[code]);
	row = rows_add(c->out, ROW_ITEM, 0, NO_INDEX);
	for (size_t i = 0; i < c->keys->n; i++) {
		enum profile_key key = c->keys->key[i];

		c->out->list.data[row].value[key] =
			profile_keys[key].kind == KEY_CODE
				? profile_code_value(c->p, key, function)
				: profile_class_value(c->p, key, c->group);
	}
	if (key_list_has(c->keys, PROFILE_SYMBOL))
		c->out->list.data[row].value[PROFILE_IMAGE] =
			profile_code_value(c->p, PROFILE_IMAGE, function);
	if (key_list_has(c->keys, PROFILE_ADDRESS))
		c->out->list.data[row].value[PROFILE_LINE] =
			profile_code_value(c->p, PROFILE_LINE, function);
	c->group_of[code] = c->group + 1;
	c->row_of[code] = row;
	return rows_cells(c->out, row);
}

static void add_self(struct collator *c, uint32_t entry)
{
	const struct weight *w = profile_weights(c->p, entry);
	uint32_t function = c->p->nodes.data[c->p->entries.data[entry].node].function;
	struct cell *cells = cells_of(c, function, c->codes[function]);

	for (uint32_t lane = 0; lane < c->p->n_lanes; lane++)
		weight_add(&cells[lane].self, &w[lane]);
}

static void add_total(struct collator *c, uint32_t entry)
{
	const struct weight *w = profile_weights(c->p, entry);

	for (uint32_t n = c->p->entries.data[entry].node; n; n = c->p->nodes.data[n].parent) {
		uint32_t function = c->p->nodes.data[n].function, code = c->codes[function];
		struct cell *cells;

		if (c->seen[code] == entry + 1)
			continue;
		c->seen[code] = entry + 1;
		cells = cells_of(c, function, code);
		for (uint32_t lane = 0; lane < c->p->n_lanes; lane++)
			weight_add(&cells[lane].total, &w[lane]);
	}
}

/*
 * Given totals of a group, as samples. Their events are those of as many samples of the lane.
 * `first` has the first of `arcs`, which are in the order of groups, for each group.
 */
static void add_given_totals(struct collator *c, const uint32_t *arcs, const uint32_t *first)
{
	const struct profile *p = c->p;

	for (uint32_t i = first[c->group]; i < first[c->group + 1]; i++) {
		uint32_t function = p->arcs.data[arcs[i]].callee;
		struct cell *cells = cells_of(c, function, c->codes[function]);

		for (uint32_t lane = 0; lane < p->n_lanes; lane++) {
			const struct weight *all = &p->lanes[lane].total;
			uint64_t n =
				p->arc_weights.data[(size_t)arcs[i] * p->n_lanes + lane].samples;
			double each = all->samples ? (double)all->period / (double)all->samples : 0;

			cells[lane].total.samples += n;
			cells[lane].total.period += (uint64_t)(each * (double)n);
		}
	}
}

/* The arcs in the order of groups. Returns where each group begins, and the end. */
static uint32_t *arcs_by_group(const struct profile *p, uint32_t *arcs)
{
	uint32_t *first = xcalloc((size_t)p->n_groups + 2, sizeof(*first));

	vec_foreach (&p->arcs, arc)
		first[arc->group + 2]++;
	for (uint32_t g = 0; g < p->n_groups; g++)
		first[g + 2] += first[g + 1];
	for (uint32_t i = 0; i < p->arcs.n; i++)
		arcs[first[p->arcs.data[i].group + 1]++] = i;
	return first;
}

/* The entries group by group, and behind each group its totals. */
static void collate_given(struct collator *c, const uint32_t *order)
{
	const struct profile *p = c->p;
	cleanup(free_at_exit) uint32_t *arcs = xcalloc(p->arcs.n + 1, sizeof(*arcs));
	cleanup(free_at_exit) uint32_t *first = arcs_by_group(p, arcs);
	size_t i = 0;

	for (c->group = 0; c->group < p->n_groups; c->group++) {
		for (; i < p->entries.n && p->entries.data[order[i]].group == c->group; i++)
			add_self(c, order[i]);
		add_given_totals(c, arcs, first);
	}
	assert(i == p->entries.n); /* entries_by_group() goes up */
}

/* A sum of functions is not the total of their file: a stack has several of them. */
static bool can_have_totals(const struct profile *p, const struct key_list *keys)
{
	return !p->has_totals || key_list_has(keys, PROFILE_SYMBOL);
}

static bool has_code_key(const struct key_list *keys)
{
	for (size_t i = 0; i < keys->n; i++)
		if (profile_keys[keys->key[i]].kind == KEY_CODE)
			return true;
	return false;
}

size_t profile_collate_bytes(const struct profile *p)
{
	/* A tuple of number_codes() has its text, and the table of texts may just grow. */
	size_t of_function = (N_PROFILE_KEYS + 6) * sizeof(uint32_t) + 64;

	return (p->entries.n + p->nodes.n + (size_t)p->n_groups * 2 + p->arcs.n + 8) *
		       sizeof(uint32_t) +
	       (p->functions.n + 1) * of_function;
}

size_t profile_most_rows(const struct profile *p, const struct key_list *keys, bool with_total,
			 const uint32_t *order)
{
	cleanup(free_at_exit) uint32_t *nodes = NULL, *functions = NULL;
	size_t n = 0;

	if (!has_code_key(keys))
		return MIN(p->entries.n, p->n_groups);
	if (p->has_totals)
		return p->entries.n + p->arcs.n;
	nodes = xcalloc(p->nodes.n + 1, sizeof(*nodes));
	functions = xcalloc(p->functions.n + 1, sizeof(*functions));
	for (size_t i = 0; i < p->entries.n; i++) {
		const struct profile_entry *e = &p->entries.data[order[i]];

		/* The callers of a node that the group has met are met, too. */
		for (uint32_t node = e->node; node && nodes[node] != e->group + 1;
		     node = with_total ? p->nodes.data[node].parent : 0) {
			uint32_t *last = &functions[p->nodes.data[node].function];

			nodes[node] = e->group + 1;
			n += *last != e->group + 1;
			*last = e->group + 1;
		}
	}
	return n;
}

void profile_collate_ordered(const struct profile *p, const struct key_list *keys, bool with_total,
			     const uint32_t *order, struct rows *out)
{
	size_t n_codes = p->functions.n + 1;
	struct collator c = {
		.p = p,
		.keys = keys,
		.out = out,
		.codes = number_codes(p, keys),
		.row_of = xcalloc(n_codes, sizeof(uint32_t)),
		.group_of = xcalloc(n_codes, sizeof(uint32_t)),
		.seen = xcalloc(n_codes, sizeof(uint32_t)),
	};

	with_total = with_total && has_code_key(keys) && can_have_totals(p, keys);
	out->n_lanes = p->n_lanes;
	if (with_total && p->has_totals)
		collate_given(&c, order);
	for (size_t i = 0; i < p->entries.n && !(with_total && p->has_totals); i++) {
		c.group = p->entries.data[order[i]].group;
		add_self(&c, order[i]);
		if (with_total)
			add_total(&c, order[i]);
	}
	vec_foreach (&out->list, row)
		row->has_total = with_total;
	free(c.codes);
	free(c.row_of);
	free(c.group_of);
	free(c.seen);
}

void profile_collate(const struct profile *p, const struct key_list *keys, bool with_total,
		     struct rows *out)
{
	cleanup(free_at_exit) uint32_t *order = entries_by_group(p);

	profile_collate_ordered(p, keys, with_total, order, out);
}
