/* SPDX-License-Identifier: GPL-2.0-or-later */
/* opreport's call graph and comparison. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "oprofile/report/opreport_rows.h"
#include "profile/rows.h"

/* ---- callers and callees ---- */

struct block {
	uint32_t self; /* row of the function itself; callers before it, callees behind it */
	uint32_t first, end;
};

struct graph {
	struct op_rows r; /* one row a function: names, addresses, own samples */
	struct rows rows;
	VEC(struct block) blocks;
	struct intmap by_function; /* function to row of r */
	uint32_t *app_of;          /* by function: its application; NO_INDEX: several */
	FILE *out;
};

/* A caller without a function stands for the outermost call. */
static bool opreport_graph_is_arc(const struct row *row)
{
	return (row->role == ROLE_CALLER || row->role == ROLE_CALLEE) &&
	       row->value[PROFILE_SYMBOL] != NO_INDEX;
}

#define NOT_SEEN (NO_INDEX - 1)

/* Finds the application of each function's stacks, if the profile keeps applications apart. */
static void find_apps(struct graph *g)
{
	const struct profile *p = g->r.p;

	g->app_of = xcalloc(p->functions.n + 1, sizeof(*g->app_of));
	for (size_t f = 0; f < p->functions.n; f++)
		g->app_of[f] = NOT_SEEN;
	for (size_t e = 0; e < p->entries.n && key_list_has(&p->class_keys, PROFILE_APP); e++) {
		uint32_t app = profile_class_value(p, PROFILE_APP, p->entries.data[e].group);

		for (uint32_t n = p->entries.data[e].node; n; n = p->nodes.data[n].parent) {
			uint32_t *of = &g->app_of[p->nodes.data[n].function];

			*of = *of == NOT_SEEN || *of == app ? app : NO_INDEX;
		}
	}
}

static uint32_t function_row(struct graph *g, uint32_t function)
{
	const struct profile *p = g->r.p;
	bool is_new;
	uint32_t *id = intmap_put(&g->by_function, function, &is_new);
	uint32_t image = p->functions.data[function].image;

	if (!is_new)
		return *id;
	*id = (uint32_t)g->r.list.n;
	vec_push(&g->r.list,
		 (struct op_row){ .app = g->app_of[function] < NOT_SEEN ? g->app_of[function]
									: image,
				  .image = image,
				  .function = function,
				  .symbol = op_symbol_name(p, function),
				  .address = op_symbol_address(p, function),
				  .detail_of = NO_INDEX });
	for (uint32_t lane = 0; lane < p->n_lanes; lane++)
		vec_push(&g->r.counts, 0);
	return *id;
}

static void opreport_graph_find_blocks(struct graph *g)
{
	uint32_t n = (uint32_t)g->rows.list.n;

	for (uint32_t i = 0; i < n;) {
		struct block b = { .first = i, .self = NO_INDEX };
		uint32_t number = g->rows.list.data[i].block;

		for (; i < n && g->rows.list.data[i].block == number; i++) {
			const struct row *row = &g->rows.list.data[i];

			if (row->value[PROFILE_SYMBOL] != NO_INDEX)
				function_row(g, row->value[PROFILE_SYMBOL]);
			if (row->role == ROLE_SELF)
				b.self = i;
		}
		b.end = i;
		if (b.self == NO_INDEX || number == NO_INDEX)
			continue;
		for (uint32_t lane = 0; lane < g->r.p->n_lanes; lane++)
			g->r.counts.data[(size_t)function_row(g, g->rows.list.data[b.self]
									 .value[PROFILE_SYMBOL]) *
						 g->r.p->n_lanes +
					 lane] = rows_cells(&g->rows, b.self)[lane].self.samples;
		vec_push(&g->blocks, b);
	}
}

static int compare_blocks(const void *x, const void *y, void *context)
{
	struct graph *g = context;
	uint32_t a = function_row(g, g->rows.list.data[((const struct block *)x)->self]
					     .value[PROFILE_SYMBOL]);
	uint32_t b = function_row(g, g->rows.list.data[((const struct block *)y)->self]
					     .value[PROFILE_SYMBOL]);

	return op_rows_compare(&a, &b, &g->r);
}

/* Sums of the rows of one role in a block, by lane. */
static void sum_role(const struct graph *g, const struct block *b, enum row_role role,
		     uint64_t *sums)
{
	memset(sums, 0, g->r.p->n_lanes * sizeof(*sums));
	for (uint32_t i = b->first; i < b->end; i++)
		if (g->rows.list.data[i].role == role &&
		    opreport_graph_is_arc(&g->rows.list.data[i]))
			for (uint32_t lane = 0; lane < g->r.p->n_lanes; lane++)
				sums[lane] += rows_cells(&g->rows, i)[lane].total.samples;
}

/* One line; `of` the sums that its percentages are of, NULL: the totals. */
static void print_arc(struct graph *g, uint32_t function, const uint64_t *counts,
		      const uint64_t *of, const char *indent, const char *suffix)
{
	const struct op_row *row = &g->r.list.data[function_row(g, function)];
	const struct profile *p = g->r.p;
	struct buf line = { 0 };
	char text[32];

	buf_str(&line, indent);
	if (g->r.o->with_addresses) {
		snprintf(text, sizeof(text), "%0*" PRIx64, g->r.address_digits, row->address);
		op_put(&line, text, MAX(OP_ADDRESS_WIDTH, (size_t)g->r.address_digits + 1));
	}
	for (uint32_t lane = 0; lane < p->n_lanes; lane++) {
		uint64_t whole =
			of && !g->r.o->global_percent ? of[lane] : p->lanes[lane].total.samples;

		snprintf(text, sizeof(text), "%" PRIu64, counts[lane]);
		op_put(&line, text, OP_COUNT_WIDTH);
		opreport_percent(text, sizeof(text), op_share(counts[lane], whole));
		op_put(&line, text, OP_PERCENT_WIDTH);
	}
	op_put_names(&g->r, row, suffix, &line);
	op_print_line(&line, g->out);
	buf_fini(&line);
}

static bool is_light(const struct graph *g, uint64_t count, uint64_t of)
{
	return op_share(count, of) < g->r.o->threshold;
}

static void print_role(struct graph *g, const struct block *b, enum row_role role,
		       const uint64_t *of)
{
	uint64_t *counts = xcalloc(g->r.p->n_lanes + 1, sizeof(*counts));

	for (uint32_t i = b->first; i < b->end; i++) {
		const struct row *row = &g->rows.list.data[i];

		if (row->role != role || !opreport_graph_is_arc(row))
			continue;
		for (uint32_t lane = 0; lane < g->r.p->n_lanes; lane++)
			counts[lane] = rows_cells(&g->rows, i)[lane].total.samples;
		if (!is_light(g, counts[0], of[0]))
			print_arc(g, row->value[PROFILE_SYMBOL], counts, of, "  ", "");
	}
	free(counts);
}

#define DASHES                                                                            \
	"-------------------------------------------------------------------------------" \
	"\n"

static void print_block(struct graph *g, const struct block *b)
{
	uint32_t function = g->rows.list.data[b->self].value[PROFILE_SYMBOL];
	const uint64_t *own = op_row_counts(&g->r, function_row(g, function));
	uint64_t *of = xcalloc(g->r.p->n_lanes + 1, sizeof(*of));

	sum_role(g, b, ROLE_CALLER, of);
	print_role(g, b, ROLE_CALLER, of);
	print_arc(g, function, own, NULL, "", "");
	sum_role(g, b, ROLE_CALLEE, of);
	for (uint32_t lane = 0; lane < g->r.p->n_lanes; lane++)
		of[lane] += own[lane];
	print_role(g, b, ROLE_CALLEE, of);
	print_arc(g, function, own, of, "  ", " [self]");
	fputs(DASHES, g->out);
	free(of);
}

void opreport_print_callgraph(const struct profile *p, const struct opreport_options *o, FILE *out)
{
	const struct row_limits all = { 0 };
	struct graph g = { .r = { .p = p, .o = o }, .out = out };
	size_t n = 0;

	profile_callgraph(p, &all, &g.rows);
	find_apps(&g);
	opreport_graph_find_blocks(&g);
	/* Main lines and arcs alike decide on the columns. */
	g.r.order = xcalloc(g.r.list.n + 1, sizeof(*g.r.order));
	for (uint32_t i = 0; i < g.r.list.n; i++)
		g.r.order[g.r.n_order++] = i;
	op_rows_choose_columns(&g.r);
	g.r.shows_image |= g.r.shows_app;
	if (g.blocks.n)
		qsort_r(g.blocks.data, g.blocks.n, sizeof(*g.blocks.data), compare_blocks, &g);
	op_print_titles(&g.r, false, out);
	fputs(DASHES, out);
	for (; n < g.blocks.n; n++) {
		const struct block *b = &g.blocks.data[n];
		uint64_t own = rows_cells(&g.rows, b->self)[0].self.samples;

		if (!is_light(&g, own, p->lanes[0].total.samples))
			print_block(&g, b);
	}
	vec_fini(&g.blocks);
	intmap_fini(&g.by_function);
	free(g.app_of);
	rows_fini(&g.rows);
	op_rows_fini(&g.r);
}

/* ---- comparison ---- */

/* A symbol in the new and in the old profile. One of the two may be missing. */
struct pair {
	uint32_t old, new; /* rows; NO_INDEX */
};

struct comparison {
	struct op_rows sides[2];
	VEC(struct pair) pairs;
};

static bool opreport_graph_is_same(const struct comparison *c, uint32_t old, uint32_t new)
{
	const struct op_rows *a = &c->sides[0], *b = &c->sides[1];
	const struct op_row *x = &a->list.data[old], *y = &b->list.data[new];

	return !strcmp(x->symbol, y->symbol) &&
	       !strcmp(op_image_name(a->p, a->o, x->image), op_image_name(b->p, b->o, y->image)) &&
	       !strcmp(op_image_name(a->p, a->o, x->app), op_image_name(b->p, b->o, y->app));
}

/* A hash of the properties that pair symbols. */
static uint64_t pair_hash(const struct op_rows *r, uint32_t row)
{
	const struct op_row *x = &r->list.data[row];
	const char *texts[] = { x->symbol, op_image_name(r->p, r->o, x->image),
				op_image_name(r->p, r->o, x->app) };
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
		    opreport_graph_is_same(c, old->order[*at], new->order[i])) {
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

/* Of what is to be seen: the new counts, for symbols that are gone the old ones. */
static int compare_pairs(const void *x, const void *y, void *context)
{
	const struct comparison *c = context;
	const struct pair *a = x, *b = y;
	uint64_t m = op_row_counts(&c->sides[a->new != NO_INDEX],
				   a->new != NO_INDEX ? a->new : a->old)[0];
	uint64_t n = op_row_counts(&c->sides[b->new != NO_INDEX],
				   b->new != NO_INDEX ? b->new : b->old)[0];
	int order = (m < n) - (m > n);

	if (!order)
		order = (a->new == NO_INDEX) - (b->new == NO_INDEX);
	if (!order)
		order = a->new == NO_INDEX ? (a->old > b->old) - (a->old < b->old)
					   : (a->new > b->new) - (a->new < b->new);
	return c->sides[0].o->is_reversed ? -order : order;
}

/* The change of the share, in percent of the old share. */
static double pair_change(const struct comparison *c, const struct pair *pair, uint32_t lane)
{
	double before = pair_share(c, pair, 0, lane), after = pair_share(c, pair, 1, lane);

	return before > 0 ? (after - before) / before * 100 : 0;
}

static void print_pair(const struct comparison *c, const struct pair *pair, FILE *out)
{
	bool is_gone = pair->new == NO_INDEX, is_new = pair->old == NO_INDEX;
	const struct op_rows *r = &c->sides[is_gone ? 0 : 1];
	uint32_t row = is_gone ? pair->old : pair->new;
	struct buf line = { 0 };
	char text[32];

	for (uint32_t lane = 0; lane < r->p->n_lanes; lane++) {
		snprintf(text, sizeof(text), "%" PRIu64, op_row_counts(r, row)[lane]);
		op_put(&line, text, OP_COUNT_WIDTH);
		if (r->o->accumulated)
			op_put(&line, "---", OP_CUM_WIDTH);
		opreport_percent(text, sizeof(text), pair_share(c, pair, 1, lane));
		op_put(&line, is_gone ? "---" : text, OP_PERCENT_WIDTH);
		if (r->o->accumulated)
			op_put(&line, "---", OP_CUM_PERCENT_WIDTH);
		snprintf(text, sizeof(text), "%+7.4f", pair_change(c, pair, lane));
		op_put(&line, is_gone ? "---" : is_new ? "+++" : text, OP_DIFF_WIDTH);
	}
	op_put_names(r, &r->list.data[row], "", &line);
	op_print_line(&line, out);
	buf_fini(&line);
}

void opreport_print_diff(const struct profile *const profiles[2], const struct opreport_options *o,
			 FILE *out)
{
	struct opreport_options all = *o;
	struct comparison c = { 0 };

	all.threshold = 0; /* of the change, not of shares */
	for (int side = 0; side < 2; side++)
		op_rows_make(&c.sides[side], profiles[side], &all);
	pair_up(&c);
	c.sides[0].shows_image = c.sides[1].shows_image |= c.sides[0].shows_image;
	c.sides[0].shows_app = c.sides[1].shows_app |= c.sides[0].shows_app;
	if (c.pairs.n)
		qsort_r(c.pairs.data, c.pairs.n, sizeof(*c.pairs.data), compare_pairs, &c);
	op_print_titles(&c.sides[1], true, out);
	vec_foreach (&c.pairs, pair) {
		double change = pair_change(&c, pair, 0);
		bool has_both = pair->old != NO_INDEX && pair->new != NO_INDEX;

		if (!has_both || (change < 0 ? -change : change) >= o->threshold)
			print_pair(&c, pair, out);
	}
	vec_fini(&c.pairs);
	for (int side = 0; side < 2; side++)
		op_rows_fini(&c.sides[side]);
}
