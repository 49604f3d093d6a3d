/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/page_code.h"

#include <stdio.h>
#include <stdlib.h>

#include "annotate/annotate.h"
#include "cli/output.h"
#include "machine/image.h"
#include "picture/picture.h"
#include "profile/profile.h"
#include "symbol/symbols.h"

#define MOST_FUNCTIONS 40
#define LEAST_SHARE    0.005
#define MOST_BYTES     (8u << 20) /* of text; compressed, it is a tenth */

struct weighed {
	uint32_t function;
	double share;
};

static int heavier_function(const void *a, const void *b)
{
	const struct weighed *x = a, *y = b;

	if (x->share != y->share)
		return x->share < y->share ? 1 : -1;
	return (x->function > y->function) - (x->function < y->function);
}

/* The share of each function in its event; the largest counts. */
static struct weighed *weigh_functions(const struct annotation *a)
{
	const struct profile *p = a->profile;
	struct weighed *all = xcalloc(p->functions.n + 1, sizeof(*all));
	double *sums = xcalloc(p->functions.n + 1, sizeof(*sums));

	for (uint32_t f = 0; f < p->functions.n; f++)
		all[f].function = f;
	for (uint32_t lane = 0; lane < p->n_lanes; lane++) {
		double total = (double)weight_value(&p->lanes[lane].total, a->by_period);

		for (uint32_t f = 0; f < p->functions.n; f++)
			sums[f] = 0;
		for (uint32_t i = 0; i < p->places.n && total > 0; i++)
			sums[p->places.data[i].function] +=
				(double)weight_value(&annotation_place(a, i)[lane], a->by_period) /
				total;
		for (uint32_t f = 0; f < p->functions.n; f++)
			all[f].share = MAX(all[f].share, sums[f]);
	}
	free(sums);
	return all;
}

/* Whether there may be a file with its code. */
static bool may_have_code(const struct profile *p, uint32_t function)
{
	const struct profile_function *f = &p->functions.data[function];
	enum image_kind kind = p->images.data[f->image].image->kind;

	return f->symbol != NO_SYMBOL && (kind == IMAGE_FILE || kind == IMAGE_KERNEL ||
					  kind == IMAGE_MODULE || kind == IMAGE_VDSO);
}

/* The ids of the functions worth a look, the heaviest first. */
static size_t choose_heavy(const struct annotation *a, uint32_t ids[static MOST_FUNCTIONS])
{
	const struct profile *p = a->profile;
	cleanup(free_at_exit) struct weighed *all = weigh_functions(a);
	size_t n = 0;

	if (p->functions.n)
		qsort(all, p->functions.n, sizeof(*all), heavier_function);
	for (size_t i = 0; i < p->functions.n && n < MOST_FUNCTIONS; i++)
		if (all[i].share >= LEAST_SHARE && may_have_code(p, all[i].function))
			ids[n++] = all[i].function;
	return n;
}

static char *print_functions(struct annotation *a, const uint32_t *ids, size_t n)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = n ? open_memstream(&text, &size) : NULL;

	if (!out)
		return NULL;
	annotation_print_json(a, ids, n, out);
	fclose(out);
	if (size <= MOST_BYTES)
		return text;
	free(text);
	return print_functions(a, ids, n / 2);
}

char *page_code(const struct profile_request *of)
{
	static const struct source_search nowhere;
	const struct profile_request request = { .session = of->session,
						 .symbols = of->symbols,
						 .query = of->query,
						 .with_functions = true,
						 .with_places = true };
	cleanup(profile_free_at_exit) struct profile *profile = NULL;
	cleanup(source_files_free_at_exit) struct source_files *sources = NULL;
	cleanup(annotation_free_at_exit) struct annotation *a = NULL;
	uint32_t ids[MOST_FUNCTIONS];

	if (!of->symbols)
		return NULL;
	profile = profile_load(&request);
	sources = source_files_new(&nowhere);
	a = annotation_new(profile, of->symbols, sources);
	a->with_source = a->with_assembly = true;
	return print_functions(a, ids, choose_heavy(a, ids));
}

int picture_write(const struct picture_source *source,
		  void (*print)(const struct picture *pic, FILE *out), const char *path,
		  struct error *err)
{
	cleanup(picture_free_at_exit) struct picture *pic = NULL;
	cleanup(free_at_exit) char *text = NULL;
	size_t size = 0;
	FILE *out = path ? open_memstream(&text, &size) : NULL;

	if (!out)
		return 0;
	pic = picture_new(source);
	print(pic, out);
	fclose(out);
	return output_whole(path, text, size, err);
}
