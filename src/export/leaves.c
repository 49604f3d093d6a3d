/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/leaves.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/glob.h"
#include "base/log.h"
#include "base/strings.h"
#include "export/export.h"
#include "store/history/blocks.h"
#include "store/session.h"

/* Blocks of a fleet keep none of these apart, and have functions, unless they say otherwise. */
#define MERGED_IN_BLOCKS (SEPARATE_PROCESS | SEPARATE_THREAD | SEPARATE_CPU)

static bool has_functions_alone(const struct session *s)
{
	return (s->info.merged & MERGED_IN_BLOCKS) == MERGED_IN_BLOCKS &&
	       strcmp(s->info.stacks, LEAVES_STACKS) != 0;
}

static struct weight *weights_by_place(const struct profile *p)
{
	struct weight *sums = xcalloc(p->places.n + 1, sizeof(*sums));

	for (size_t i = 0; i < p->entries.n; i++) {
		uint32_t node = p->entries.data[i].node;

		if (!node)
			continue;
		sums[p->node_places.data[node]].samples += p->weights.data[i].samples;
		sums[p->node_places.data[node]].period += p->weights.data[i].period;
	}
	return sums;
}

static bool is_asked(const struct export_options *o, const struct image *image)
{
	if (image->kind != IMAGE_FILE && !o->image)
		return false;
	return (!o->build_id.len || build_id_equal(&o->build_id, &image->build_id)) &&
	       (!o->image || glob_names_file(o->image, image->path));
}

/* By image: the first one of its build. */
static uint32_t *first_of_builds(const struct profile *p)
{
	uint32_t *first = xcalloc(p->images.n + 1, sizeof(*first));
	VEC(uint32_t) by_build = { 0 };
	struct strings builds;

	strings_init(&builds);
	for (uint32_t i = 0; i < p->images.n; i++) {
		const struct build_id *build = &p->images.data[i].image->build_id;
		uint32_t id = strings_add_n(&builds, (const char *)build->bytes, build->len).n;

		while (by_build.n <= id)
			vec_push(&by_build, i);
		first[i] = build->len ? by_build.data[id] : i;
	}
	vec_fini(&by_build);
	strings_fini(&builds);
	return first;
}

/*
 * The build with most samples: one file can be several images, as in containers, and one of
 * them has to be asked for: that one. NULL: there is none. *n_builds: so many were asked for.
 */
static const struct image *choose_build(const struct export *x, const struct weight *sums,
					uint32_t *n_builds)
{
	const struct profile *p = x->profile;
	cleanup(free_at_exit) uint64_t *of_image = xcalloc(p->images.n + 1, sizeof(*of_image));
	cleanup(free_at_exit) uint32_t *first = first_of_builds(p);
	cleanup(free_at_exit) const struct image **asked = xcalloc(p->images.n + 1, sizeof(*asked));
	const struct image *chosen = NULL;
	uint64_t most = 0;

	*n_builds = 0;
	for (size_t i = 0; i < p->places.n; i++)
		of_image[first[p->functions.data[p->places.data[i].function].image]] +=
			sums[i].samples;
	for (uint32_t i = 0; i < p->images.n; i++)
		if (!asked[first[i]] && is_asked(x->options, p->images.data[i].image))
			asked[first[i]] = p->images.data[i].image;
	for (uint32_t i = 0; i < p->images.n; i++) {
		if (!of_image[i] || !asked[i])
			continue;
		++*n_builds;
		if (of_image[i] > most) {
			most = of_image[i];
			chosen = asked[i];
		}
	}
	return chosen;
}

static bool is_of_build(const struct image *chosen, const struct image *image)
{
	return image == chosen ||
	       (chosen->build_id.len && build_id_equal(&chosen->build_id, &image->build_id));
}

static int leaf_by_place(const void *a, const void *b)
{
	const struct branch_count *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

static void add_equal(struct branch_list *list)
{
	size_t n = 0;

	if (list->n)
		qsort(list->data, list->n, sizeof(*list->data), leaf_by_place);
	for (size_t i = 0; i < list->n; i++) {
		if (n && list->data[n - 1].from == list->data[i].from)
			list->data[n - 1].count += list->data[i].count;
		else
			list->data[n++] = list->data[i];
	}
	list->n = n;
}

/* What the samples of a place count. `all`: of the build. */
static uint64_t leaf_count(const struct export_options *o, const struct weight *place,
			   const struct weight *all)
{
	long double per_event = (long double)all->samples / (long double)MAX(all->period, 1ULL);

	if (o->by_rate && all->period)
		return MAX((uint64_t)((long double)place->period * per_event + 0.5L), 1ULL);
	return o->by_period ? place->period : place->samples;
}

static void fill_leaves(const struct export *x, const struct image *chosen,
			const struct weight *sums, struct branches *out)
{
	const struct profile *p = x->profile;
	VEC(uint32_t) places = { 0 };
	struct weight all = { 0 };

	for (uint32_t i = 0; i < p->places.n; i++) {
		uint32_t image = p->functions.data[p->places.data[i].function].image;

		if (!sums[i].samples || !is_of_build(chosen, p->images.data[image].image))
			continue;
		vec_push(&places, i);
		all.samples += sums[i].samples;
		all.period += sums[i].period;
	}
	vec_foreach (&places, i) {
		uint64_t at = p->places.data[*i].offset;

		vec_push(&out->addresses,
			 (struct branch_count){ .from = at,
						.to = at,
						.count = leaf_count(x->options, &sums[*i], &all) });
	}
	out->n_samples = all.samples;
	vec_fini(&places);
	add_equal(&out->addresses);
}

int leaves_load(const struct export *x, struct branches *out, struct error *err)
{
	const struct profile *p = x->profile;
	cleanup(free_at_exit) struct weight *sums = NULL;
	const struct image *chosen;
	char hex[BUILD_ID_HEX_SIZE];
	uint32_t n_builds;

	if (has_functions_alone(p->session))
		return error_set(err, -EINVAL,
				 "it has functions and no addresses: 'assay ship --leaves' sends "
				 "addresses, too");
	if (p->n_lanes > 1)
		return error_set(err, -EINVAL,
				 "%s holds one event; choose it with event:NAME ('assay info' has "
				 "their names)",
				 x->format->name);
	sums = weights_by_place(p);
	chosen = choose_build(x, sums, &n_builds);
	if (!chosen)
		return error_set(err, -ENODATA, "no sample is in a file%s",
				 x->options->image || x->options->build_id.len
					 ? " of that name and build id"
					 : "");
	*out = (struct branches){ .path = xstrdup(chosen->path), .build_id = chosen->build_id };
	fill_leaves(x, chosen, sums, out);
	build_id_hex(&chosen->build_id, hex);
	log_info("%" PRIu64 " samples of %s, build id %s", out->n_samples, chosen->path,
		 *hex ? hex : "not known");
	if (n_builds > 1 && x->options->image)
		log_info("%" PRIu32 " builds have samples; --build-id chooses another one",
			 n_builds);
	return 0;
}

int branches_of_export(const struct export *x, struct branches *out, struct error *err)
{
	return x->replay ? branches_load(x->replay, x->options->image, out, x->damage, err)
			 : leaves_load(x, out, err);
}
