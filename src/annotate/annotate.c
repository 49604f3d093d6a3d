/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "annotate/annotate.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guard/readable.h"
#include "store/session.h"

static void sum_places(struct annotation *a)
{
	const struct profile *p = a->profile;

	a->place_weights = xcalloc(p->places.n * p->n_lanes + 1, sizeof(*a->place_weights));
	for (size_t e = 0; e < p->entries.n; e++) {
		uint32_t place = p->node_places.data[p->entries.data[e].node];

		for (uint32_t lane = 0; place != NO_INDEX && lane < p->n_lanes; lane++)
			weight_add(&a->place_weights[(size_t)place * p->n_lanes + lane],
				   &profile_weights(p, e)[lane]);
	}
}

static uint32_t annotate_image_of(const struct profile *p, uint32_t place)
{
	return p->functions.data[p->places.data[place].function].image;
}

static int by_image_and_offset(const void *a, const void *b, void *data)
{
	const struct profile *p = data;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t from = p->places.data[x].offset, to = p->places.data[y].offset;

	if (annotate_image_of(p, x) != annotate_image_of(p, y))
		return annotate_image_of(p, x) < annotate_image_of(p, y) ? -1 : 1;
	return (from > to) - (from < to);
}

static void order_places(struct annotation *a)
{
	const struct profile *p = a->profile;

	a->order = xcalloc(p->places.n + 1, sizeof(*a->order));
	for (uint32_t i = 0; i < p->places.n; i++)
		a->order[i] = i;
	qsort_r(a->order, p->places.n, sizeof(*a->order), by_image_and_offset, (void *)p);
}

/* The kernel and its modules are root's. */
static uint32_t owner_of_image(const struct annotation *a, const struct image *image)
{
	uint32_t user;

	if (image->kind == IMAGE_KERNEL || image->kind == IMAGE_MODULE)
		return 0;
	if (image->kind == IMAGE_FILE && symbolizer_image_owner(a->symbols, image, &user))
		return user;
	return geteuid() ? geteuid() : GUARD_NOBODY;
}

static void find_owners(struct annotation *a)
{
	const struct profile *p = a->profile;

	a->owners = xcalloc(p->images.n + 1, sizeof(*a->owners));
	for (size_t i = 0; i < p->images.n; i++)
		a->owners[i] = owner_of_image(a, p->images.data[i].image);
}

void annotation_name_source(struct annotation *a, uint32_t image, const char *path)
{
	source_files_name(a->sources, path, a->owners[image]);
}

static struct annotated_line annotate_line_of(struct annotation *a, uint32_t place)
{
	const struct profile *p = a->profile;
	const struct symbol_table *table = p->images.data[annotate_image_of(p, place)].table;
	struct line_span span;

	if (!table || !lines_span(a->symbols, table, p->places.data[place].offset, &span))
		return (struct annotated_line){ 0 };
	annotation_name_source(a, annotate_image_of(p, place), span.file);
	return (struct annotated_line){ strings_add(&a->files, span.file).n, span.line };
}

/* Returns the number of the place's line in the sums. */
static uint32_t annotate_add_place(struct annotation *a, struct line_sums *sums, uint32_t place)
{
	struct annotated_line line = annotate_line_of(a, place);
	uint32_t n_lanes = a->profile->n_lanes, *index;
	bool is_new;

	index = intmap_put(&sums->index, (uint64_t)line.file << 32 | line.line, &is_new);
	if (is_new) {
		*index = (uint32_t)sums->lines.n;
		vec_push(&sums->lines, line);
		for (uint32_t lane = 0; lane < n_lanes; lane++)
			vec_push(&sums->weights, (struct weight){ 0 });
	}
	for (uint32_t lane = 0; lane < n_lanes; lane++)
		weight_add(&sums->weights.data[(size_t)*index * n_lanes + lane],
			   &annotation_place(a, place)[lane]);
	return *index;
}

void annotation_function_own(const struct annotation *a, uint32_t function, struct weight *out)
{
	const struct profile *p = a->profile;

	memset(out, 0, p->n_lanes * sizeof(*out));
	for (uint32_t i = 0; i < p->places.n; i++)
		for (uint32_t lane = 0; lane < p->n_lanes; lane++)
			if (p->places.data[i].function == function)
				weight_add(&out[lane], &annotation_place(a, i)[lane]);
}

/* ---- totals ---- */

static void find_totals(struct annotation *a)
{
	const struct profile *p = a->profile;
	uint32_t n_lanes = p->n_lanes;

	a->node_totals = xcalloc(p->nodes.n * n_lanes + 1, sizeof(*a->node_totals));
	a->first_node = xcalloc(p->places.n + 1, sizeof(*a->first_node));
	a->next_node = xcalloc(p->nodes.n + 1, sizeof(*a->next_node));
	for (size_t e = 0; e < p->entries.n; e++)
		for (uint32_t lane = 0; lane < n_lanes; lane++)
			weight_add(
				&a->node_totals[(size_t)p->entries.data[e].node * n_lanes + lane],
				&profile_weights(p, e)[lane]);
	for (uint32_t node = (uint32_t)p->nodes.n; node-- > 1;) {
		uint32_t parent = p->nodes.data[node].parent, place = p->node_places.data[node];

		for (uint32_t lane = 0; lane < n_lanes; lane++)
			weight_add(&a->node_totals[(size_t)parent * n_lanes + lane],
				   &a->node_totals[(size_t)node * n_lanes + lane]);
		a->next_node[node] = a->first_node[place];
		a->first_node[place] = node;
	}
}

/* Adds the nodes of a place, but for those below a place of the same part: a recursion. */
static void add_total(const struct annotation *a, uint32_t place, const uint32_t *parts,
		      struct weight *out)
{
	const struct profile *p = a->profile;

	for (uint32_t node = a->first_node[place]; node; node = a->next_node[node]) {
		uint32_t n = p->nodes.data[node].parent;

		while (n && parts[p->node_places.data[n]] != parts[place])
			n = p->nodes.data[n].parent;
		for (uint32_t lane = 0; !n && lane < p->n_lanes; lane++)
			weight_add(&out[lane], &a->node_totals[(size_t)node * p->n_lanes + lane]);
	}
}

void annotation_function_total(const struct annotation *a, uint32_t function, struct weight *out)
{
	const struct profile *p = a->profile;
	uint32_t *parts = xcalloc(p->places.n + 1, sizeof(*parts));

	memset(out, 0, p->n_lanes * sizeof(*out));
	for (uint32_t i = 0; i < p->places.n; i++)
		parts[i] = p->places.data[i].function == function;
	for (uint32_t i = 0; i < p->places.n; i++)
		if (parts[i])
			add_total(a, i, parts, out);
	free(parts);
}

/* `parts` are lines by place, from 1; 0: places of other functions. */
static void annotate_add_totals(struct annotation *a, struct line_sums *sums, const uint32_t *parts)
{
	uint32_t n_lanes = a->profile->n_lanes;

	for (size_t i = 0; i < sums->weights.n; i++)
		vec_push(&sums->totals, (struct weight){ 0 });
	for (uint32_t i = 0; i < a->profile->places.n; i++)
		if (parts[i])
			add_total(a, i, parts,
				  &sums->totals.data[(size_t)(parts[i] - 1) * n_lanes]);
}

void annotation_function_lines(struct annotation *a, uint32_t function, struct line_sums *out)
{
	uint32_t *parts = xcalloc(a->profile->places.n + 1, sizeof(*parts));

	for (uint32_t i = 0; i < a->profile->places.n; i++)
		if (a->profile->places.data[i].function == function)
			parts[i] = 1 + annotate_add_place(a, out, i);
	if (a->has_totals)
		annotate_add_totals(a, out, parts);
	free(parts);
}

void line_sums_fini(struct line_sums *s)
{
	intmap_fini(&s->index);
	vec_fini(&s->lines);
	vec_fini(&s->weights);
	vec_fini(&s->totals);
}

const struct weight *line_sums_find(const struct annotation *a, const struct line_sums *s,
				    uint32_t file, uint32_t line)
{
	const uint32_t *index = intmap_find(&s->index, (uint64_t)file << 32 | line);

	return index ? &s->weights.data[(size_t)*index * a->profile->n_lanes] : NULL;
}

const struct weight *line_sums_total(const struct annotation *a, const struct line_sums *s,
				     uint32_t file, uint32_t line)
{
	const uint32_t *index = intmap_find(&s->index, (uint64_t)file << 32 | line);

	return index && s->totals.n ? &s->totals.data[(size_t)*index * a->profile->n_lanes] : NULL;
}

struct annotation *annotation_new(const struct profile *profile, struct symbolizer *symbols,
				  struct source_files *sources)
{
	struct annotation *a = xcalloc(1, sizeof(*a));

	a->profile = profile;
	a->symbols = symbols;
	a->sources = sources;
	a->code = code_files_new(symbols, 0);
	a->by_period = profile_weighs_by_period(profile);
	strings_init(&a->files);
	find_owners(a);
	sum_places(a);
	order_places(a);
	a->has_totals = profile->has_chains && profile->node_places.n;
	if (a->has_totals)
		find_totals(a);
	return a;
}

void annotation_sum_lines(struct annotation *a)
{
	for (uint32_t i = 0; i < a->profile->places.n; i++)
		annotate_add_place(a, &a->lines, i);
}

void annotation_free(struct annotation *a)
{
	if (!a)
		return;
	free(a->place_weights);
	free(a->node_totals);
	free(a->first_node);
	free(a->next_node);
	free(a->order);
	free(a->owners);
	strings_fini(&a->files);
	line_sums_fini(&a->lines);
	code_files_free(a->code);
	free(a);
}

/* The first place in order at or behind an offset of an image. */
static size_t first_place(const struct annotation *a, uint32_t image, uint64_t offset)
{
	const struct profile *p = a->profile;
	size_t low = 0, high = p->places.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint32_t place = a->order[middle], at = annotate_image_of(p, place);

		if (at < image || (at == image && p->places.data[place].offset < offset))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void annotation_sum(const struct annotation *a, uint32_t image, uint64_t start, uint64_t end,
		    struct weight *out)
{
	const struct profile *p = a->profile;

	memset(out, 0, p->n_lanes * sizeof(*out));
	for (size_t i = first_place(a, image, start); i < p->places.n; i++) {
		uint32_t place = a->order[i];

		if (annotate_image_of(p, place) != image || p->places.data[place].offset >= end)
			return;
		for (uint32_t lane = 0; lane < p->n_lanes; lane++)
			weight_add(&out[lane], &annotation_place(a, place)[lane]);
	}
}

void annotation_total(const struct annotation *a, uint32_t image, uint64_t start, uint64_t end,
		      struct weight *out)
{
	const struct profile *p = a->profile;
	uint32_t *parts = xcalloc(p->places.n + 1, sizeof(*parts));
	size_t first = first_place(a, image, start), last = first;

	memset(out, 0, p->n_lanes * sizeof(*out));
	for (; last < p->places.n && annotate_image_of(p, a->order[last]) == image &&
	       p->places.data[a->order[last]].offset < end;
	     last++)
		parts[a->order[last]] = 1;
	for (size_t i = first; i < last; i++)
		add_total(a, a->order[i], parts, out);
	free(parts);
}

/* The number of letters p behind the last colon of the event's specification. */
static int precision_of(const char *spec)
{
	const char *modifiers = strrchr(spec, ':');
	int n = 0;

	for (; modifiers && *modifiers; modifiers++)
		n += *modifiers == 'p';
	return n;
}

void annotation_put_skid(const struct annotation *a, uint32_t lane, struct buf *out)
{
	const struct session_info *info = &a->profile->session->info;
	uint32_t i = a->profile->lanes[lane].counter;
	const struct counter_info *counter = i < info->n_counters ? &info->counters[i] : NULL;

	if (!counter)
		return;
	if (precision_of(counter->spec) >= 2)
		buf_printf(out, "%s is precise: a sample is of the instruction that it is at",
			   counter->name);
	else if (precision_of(counter->spec) == 1)
		buf_printf(out,
			   "%s is precise except for a constant skid: a sample may be at the "
			   "next instruction",
			   counter->name);
	else if (!strcmp(counter->unit, "ns"))
		buf_printf(
			out,
			"%s is a timer: a sample is at the instruction that was about to run. The "
			"time "
			"may belong to the instruction before it, or to a slow one a little before",
			counter->name);
	else
		buf_printf(out,
			   "%s is not precise: a sample is mostly at the instruction behind its "
			   "cause, sometimes dozens behind; try %s:pp",
			   counter->name, counter->name);
}
