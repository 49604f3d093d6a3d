/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code without names, and the lines of the hottest function. */
#include <stdlib.h>
#include <string.h>

#include "explain/gather.h"
#include "profile/query.h"
#include "profile/unnamed.h"
#include "store/session.h"
#include "symbol/debug_package.h"
#include "symbol/lines/lines.h"

/* ---- names ---- */

static bool lacks_name(const struct gather *g, uint32_t f)
{
	const struct profile_function *function = &g->p->functions.data[f];
	const struct symbol_table *table = g->p->images.data[function->image].table;

	return function->symbol == NO_SYMBOL ||
	       (table && symbol_get(table, function->symbol).name_end != NULL);
}

/* The weight of code without names, by image. */
static double *unnamed_by_image(const struct gather *g)
{
	const struct profile *p = g->p;
	double *weights = xcalloc(p->images.n + 1, sizeof(*weights));

	for (size_t i = 0; i < p->entries.n; i++) {
		uint32_t f = p->nodes.data[p->entries.data[i].node].function;

		if (f != NO_INDEX && lacks_name(g, f))
			weights[p->functions.data[f].image] +=
				(double)profile_weights(p, i)[g->cpu_lane].period;
	}
	return weights;
}

static void put_image(struct gather *g, enum explain_rule_id id, uint32_t image, double weight)
{
	struct explain_fact *fact = &g->out->fact[id];

	fact->part = weight;
	fact->whole = g->out->cpu_sum;
	fact->unit = g->out->cpu_unit;
	explain_set_text(g->out, id, EXPLAIN_TEXT_image, g->p->images.data[image].name);
}

static void put_unnamed_jit(struct gather *g, const double *weights)
{
	uint32_t best = NO_INDEX;
	double sum = 0;

	for (uint32_t i = 0; i < g->p->images.n; i++) {
		if (weights[i] <= 0 || !profile_unnamed_jit(g->p, i))
			continue;
		sum += weights[i];
		best = best == NO_INDEX || weights[i] > weights[best] ? i : best;
	}
	if (best == NO_INDEX)
		return;
	put_image(g, EXPLAIN_UNNAMED_JIT, best, sum);
	explain_set_text(g->out, EXPLAIN_UNNAMED_JIT, EXPLAIN_TEXT_text,
			 profile_unnamed_jit(g->p, best));
}

static void put_no_symbols(struct gather *g, double *weights)
{
	const struct profile_image *image;
	cleanup(free_at_exit) char *package = NULL;
	uint32_t best;

	for (uint32_t i = 0; i < g->p->images.n; i++)
		if (g->p->images.data[i].image->kind == IMAGE_JIT)
			weights[i] = 0;
	best = gather_largest(weights, g->p->images.n);
	if (best == NO_INDEX)
		return;
	image = &g->p->images.data[best];
	put_image(g, EXPLAIN_NO_SYMBOLS, best, weights[best]);
	if (image->table && symbol_table_status(image->table) == SYMBOL_GIVEN)
		explain_set_text(g->out, EXPLAIN_NO_SYMBOLS, EXPLAIN_TEXT_text,
				 "the session has no names for this code");
	else if (image->table)
		explain_set_text(g->out, EXPLAIN_NO_SYMBOLS, EXPLAIN_TEXT_text,
				 symbol_status_texts[symbol_table_status(image->table)]);
	else
		explain_set_text(g->out, EXPLAIN_NO_SYMBOLS, EXPLAIN_TEXT_text,
				 "no file is known for this code");
	if (image->image->kind == IMAGE_FILE)
		package = debug_package_command("", image->image->path);
	explain_set_text(g->out, EXPLAIN_NO_SYMBOLS, EXPLAIN_TEXT_package, package);
}

/* ---- lines ---- */

/* Of a profile with places: whether a function is the hottest one of the other profile. */
static bool is_hot_function(const struct gather *g, const struct profile *p, uint32_t f)
{
	const struct explain_fact *hot = &g->out->fact[EXPLAIN_HOT_FUNCTION];
	const struct profile_function *function = &p->functions.data[f];
	char scratch[KEY_TEXT_SIZE];

	return function->symbol != NO_SYMBOL &&
	       !strcmp(profile_key_text(p, PROFILE_SYMBOL, f, scratch),
		       explain_text(g->out, hot, EXPLAIN_TEXT_symbol)) &&
	       !strcmp(p->images.data[function->image].name,
		       explain_text(g->out, hot, EXPLAIN_TEXT_image));
}

struct line_weight {
	const char *file;
	uint32_t line;
	double weight;
};

static int by_line(const void *a, const void *b)
{
	const struct line_weight *x = a, *y = b;
	int r = strcmp(x->file, y->file);

	return r ? r : (x->line > y->line) - (x->line < y->line);
}

/* Adds up equal lines; returns the heaviest. The array is sorted then, and not empty. */
static struct line_weight heaviest_line(struct line_weight *lines, size_t n)
{
	struct line_weight best = { 0 };

	qsort(lines, n, sizeof(*lines), by_line);
	for (size_t i = 0; i < n; i++) {
		if (i && !by_line(&lines[i - 1], &lines[i]))
			lines[i].weight += lines[i - 1].weight;
		if (lines[i].weight > best.weight)
			best = lines[i];
	}
	return best;
}

static void choose_look(struct gather *g, const struct profile *p, uint32_t f, bool has_line)
{
	const struct image *image = p->images.data[p->functions.data[f].image].image;
	struct explain_fact *hot = &g->out->fact[EXPLAIN_HOT_FUNCTION];

	if (image->kind == IMAGE_FILE && symbolizer_has_file(g->symbols, image))
		hot->look = has_line ? LOOK_SOURCE : LOOK_ASSEMBLY;
}

/* The line that has half of the hottest function or more, and how its code can be shown. */
static void take_places(struct gather *g, const struct profile *p, uint32_t lane)
{
	VEC(struct line_weight) lines = { 0 };
	struct line_weight best = { 0 };
	uint32_t hot = NO_INDEX, n_namesakes = 0;
	double sum = 0;

	for (uint32_t f = 0; f < p->functions.n; f++)
		if (is_hot_function(g, p, f)) {
			hot = f;
			n_namesakes++;
		}
	for (size_t i = 0; i < p->entries.n && hot != NO_INDEX; i++) {
		uint32_t node = p->entries.data[i].node;
		const struct profile_place *place =
			node ? &p->places.data[p->node_places.data[node]] : NULL;
		struct line_frame frame;

		if (!place || place->function != hot)
			continue;
		sum += (double)profile_weights(p, i)[lane].period;
		if (lines_find(g->symbols, p->images.data[p->functions.data[hot].image].table,
			       place->offset, &frame, 1) &&
		    frame.line)
			vec_push(&lines, (struct line_weight){
						 frame.file, frame.line,
						 (double)profile_weights(p, i)[lane].period });
	}
	if (lines.n)
		best = heaviest_line(lines.data, lines.n);
	if (best.weight > sum / 2) {
		const char *slash = strrchr(best.file, '/');
		cleanup(free_at_exit) char *where =
			xasprintf("%s:%u", slash ? slash + 1 : best.file, best.line);

		explain_set_text(g->out, EXPLAIN_HOT_FUNCTION, EXPLAIN_TEXT_where, where);
	}
	if (n_namesakes == 1)
		choose_look(g, p, hot, lines.n > 0);
	vec_fini(&lines);
}

static void gather_lines(struct gather *g)
{
	const struct query all = { 0 };
	const struct profile_request request = {
		.session = g->session,
		.symbols = g->symbols,
		.query = &all,
		.with_functions = true,
		.with_places = true,
	};
	struct profile *p;

	if (!g->out->fact[EXPLAIN_HOT_FUNCTION].whole)
		return;
	p = profile_load(&request);
	for (uint32_t lane = 0; lane < p->n_lanes; lane++)
		if (p->lanes[lane].counter == g->p->lanes[g->cpu_lane].counter)
			take_places(g, p, lane);
	profile_free(p);
}

void gather_code(struct gather *g)
{
	cleanup(free_at_exit) double *weights = unnamed_by_image(g);

	put_unnamed_jit(g, weights);
	put_no_symbols(g, weights);
	gather_lines(g);
}
