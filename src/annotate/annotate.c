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

static void annotate_add_place(struct annotation *a, struct line_sums *sums, uint32_t place)
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
}

void annotation_function_lines(struct annotation *a, uint32_t function, struct line_sums *out)
{
	for (uint32_t i = 0; i < a->profile->places.n; i++)
		if (a->profile->places.data[i].function == function)
			annotate_add_place(a, out, i);
}

void line_sums_fini(struct line_sums *s)
{
	intmap_fini(&s->index);
	vec_fini(&s->lines);
	vec_fini(&s->weights);
}

const struct weight *line_sums_find(const struct annotation *a, const struct line_sums *s,
				    uint32_t file, uint32_t line)
{
	const uint32_t *index = intmap_find(&s->index, (uint64_t)file << 32 | line);

	return index ? &s->weights.data[(size_t)*index * a->profile->n_lanes] : NULL;
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
