/* SPDX-License-Identifier: GPL-2.0-or-later */
/* opreport's comparison of two profiles. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oprofile/report/opreport_rows.h"

/* A symbol in the new and in the old profile. One of the two may be missing. */
struct pair {
	uint32_t old, new; /* rows; NO_INDEX */
};

struct comparison {
	struct op_rows sides[2];
	VEC(struct pair) pairs;
};

static bool opreport_diff_is_same(const struct comparison *c, uint32_t old, uint32_t new)
{
	const struct op_rows *a = &c->sides[0], *b = &c->sides[1];
	const struct op_row *x = &a->list.data[old], *y = &b->list.data[new];

	return !strcmp(x->symbol, y->symbol) &&
	       !strcmp(op_image_path(a->p, x->image), op_image_path(b->p, y->image)) &&
	       !strcmp(op_image_path(a->p, x->app), op_image_path(b->p, y->app));
}

/* A hash of the properties that pair symbols. */
static uint64_t pair_hash(const struct op_rows *r, uint32_t row)
{
	const struct op_row *x = &r->list.data[row];
	const char *texts[] = { x->symbol, op_image_path(r->p, x->image),
				op_image_path(r->p, x->app) };
	uint64_t h = 1469598103934665603u; /* FNV-1a */

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		for (const char *at = texts[i];; at++) {
			h = (h ^ (uint8_t)*at) * 1099511628211u;
			if (!*at)
				break;
		}
	return h;
}

static void pair_up(struct comparison *c)
{
	const struct op_rows *old = &c->sides[0], *new = &c->sides[1];
	bool *is_taken = xcalloc(old->n_order + 1, sizeof(*is_taken));
	struct intmap index = { 0 };

	for (uint32_t i = 0; i < old->n_order; i++)
		*intmap_put(&index, pair_hash(old, old->order[i]), NULL) = i;
	for (size_t i = 0; i < new->n_order; i++) {
		const uint32_t *at = intmap_find(&index, pair_hash(new, new->order[i]));
		struct pair pair = { NO_INDEX, new->order[i] };

		if (at && !is_taken[*at] &&
		    opreport_diff_is_same(c, old->order[*at], new->order[i])) {
			is_taken[*at] = true;
			pair.old = old->order[*at];
		}
		vec_push(&c->pairs, pair);
	}
	for (size_t i = 0; i < old->n_order; i++)
		if (!is_taken[i])
			vec_push(&c->pairs, (struct pair){ old->order[i], NO_INDEX });
	intmap_fini(&index);
	free(is_taken);
}

static double pair_share(const struct comparison *c, const struct pair *pair, int side,
			 uint32_t lane)
{
	uint32_t row = side ? pair->new : pair->old;

	return row == NO_INDEX ? 0
			       : op_share(op_row_counts(&c->sides[side], row)[lane],
					  c->sides[side].p->lanes[lane].total.samples);
}

/* The row that is shown: the new one, or that of a symbol that is gone. */
static const struct op_rows *pair_side(const struct comparison *c, const struct pair *pair,
				       uint32_t *row)
{
	*row = pair->new != NO_INDEX ? pair->new : pair->old;
	return &c->sides[pair->new != NO_INDEX];
}

static int compare_pairs(const void *x, const void *y, void *context)
{
	const struct comparison *c = context;
	uint32_t a, b;
	const struct op_rows *of_a = pair_side(c, x, &a), *of_b = pair_side(c, y, &b);

	return op_rows_compare_of(of_a, a, of_b, b);
}

/* The change of the share, in percent of the old share. */
static double pair_change(const struct comparison *c, const struct pair *pair, uint32_t lane)
{
	double before = pair_share(c, pair, 0, lane), after = pair_share(c, pair, 1, lane);

	return before > 0 ? (after - before) / before * 100 : 0;
}

static void put_change(const struct comparison *c, const struct pair *pair, uint32_t lane,
		       struct buf *line)
{
	double change = pair_change(c, pair, lane);
	char text[32];

	if (change == 0)
		snprintf(text, sizeof(text), "%7s", "0");
	else
		snprintf(text, sizeof(text), fabs(change) > 0.001 ? "%+7.4f" : "%+7.1e", change);
	op_put(line,
	       pair->new == NO_INDEX   ? "---"
	       : pair->old == NO_INDEX ? "+++"
				       : text,
	       OP_DIFF_WIDTH);
}

static void print_pair(const struct comparison *c, const struct pair *pair, uint64_t *sums,
		       FILE *out)
{
	bool is_gone = pair->new == NO_INDEX;
	uint32_t row;
	const struct op_rows *r = pair_side(c, pair, &row);
	const uint64_t *counts = op_row_counts(r, row);
	struct buf line = { 0 };

	if (r->o->with_addresses)
		op_put_address(&c->sides[1], r->list.data[row].address, &line);
	for (uint32_t lane = 0; lane < r->p->n_lanes; lane++) {
		uint64_t of = c->sides[1].p->lanes[lane].total.samples;

		sums[lane] += is_gone ? 0 : counts[lane];
		op_put_number(&line, counts[lane], OP_COUNT_WIDTH);
		if (r->o->accumulated && is_gone)
			op_put(&line, "---", OP_CUM_WIDTH);
		else if (r->o->accumulated)
			op_put_number(&line, sums[lane], OP_CUM_WIDTH);
		if (is_gone)
			op_put(&line, "---", OP_PERCENT_WIDTH);
		else
			op_put_percent(&line, op_share(counts[lane], of), OP_PERCENT_WIDTH);
		if (r->o->accumulated && is_gone)
			op_put(&line, "---", OP_CUM_PERCENT_WIDTH);
		else if (r->o->accumulated)
			op_put_percent(&line, op_share(sums[lane], of), OP_CUM_PERCENT_WIDTH);
		put_change(c, pair, lane, &line);
	}
	op_put_names(r, &r->list.data[row], "", &line);
	op_print_line(&line, out);
	buf_fini(&line);
}

/* The columns are those that a shown symbol of either side needs. */
static void choose_columns(struct comparison *c)
{
	for (int side = 0; side < 2; side++)
		c->sides[side].n_order = 0;
	vec_foreach (&c->pairs, pair) {
		struct op_rows *r = &c->sides[pair->new != NO_INDEX];

		r->order[r->n_order++] = pair->new != NO_INDEX ? pair->new : pair->old;
	}
	for (int side = 0; side < 2; side++)
		op_rows_choose_columns(&c->sides[side]);
	c->sides[0].shows_image = c->sides[1].shows_image |= c->sides[0].shows_image;
	c->sides[1].address_digits = MAX(c->sides[0].address_digits, c->sides[1].address_digits);
}

/* The threshold is one of the change. */
static void drop_small_changes(struct comparison *c, double threshold)
{
	size_t n = 0;

	vec_foreach (&c->pairs, pair)
		if (pair->old == NO_INDEX || pair->new == NO_INDEX ||
		    fabs(pair_change(c, pair, 0)) >= threshold)
			c->pairs.data[n++] = *pair;
	c->pairs.n = n;
}

void opreport_print_diff(const struct profile *const profiles[2], const struct opreport_options *o,
			 FILE *out)
{
	uint64_t *sums = xcalloc(profiles[1]->n_lanes, sizeof(*sums));
	struct opreport_options all = *o;
	struct comparison c = { 0 };

	all.threshold = 0;
	for (int side = 0; side < 2; side++)
		op_rows_make(&c.sides[side], profiles[side], &all);
	pair_up(&c);
	drop_small_changes(&c, o->threshold);
	choose_columns(&c);
	if (c.pairs.n)
		qsort_r(c.pairs.data, c.pairs.n, sizeof(*c.pairs.data), compare_pairs, &c);
	op_print_titles(&c.sides[1], true, out);
	vec_foreach (&c.pairs, pair)
		print_pair(&c, pair, sums, out);
	vec_fini(&c.pairs);
	for (int side = 0; side < 2; side++)
		op_rows_fini(&c.sides[side]);
	free(sums);
}
