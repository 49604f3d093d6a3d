/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/regressions.h"

#include <math.h>
#include <stdlib.h>

#include "base/build_id.h"
#include "base/buf.h"
#include "base/intmap.h"
#include "base/path.h"
#include "base/strings.h"
#include "machine/image.h"

/* Chance reports a function in so many of all answers. */
#define REGRESSIONS_CHANCE 0.01
/* Less growth of a share is no row. */
#define REGRESSIONS_MIN_GROWTH 0.005
/* The test takes counts for normally distributed. */
#define REGRESSIONS_MIN_SAMPLES 10

struct regression_item {
	uint32_t slice, function;
	uint64_t samples;
};

/* Of one file in one group. */
struct build_change {
	uint32_t group, old, new; /* images */
	uint32_t begin, at, end;  /* slices: the change before, this one, the next one */
	bool has_begin, has_end;
};

/* What a function has in an equal change of several hosts. */
struct change_row {
	uint32_t function;
	double growth, variance; /* of counts, as regressions.h has them */
	double old_sum, new_sum; /* of shares by weight */
	uint64_t samples;
	uint32_t n_grew;
};

/* An equal change of several hosts. */
struct change_sum {
	struct build_change first;
	double weight;
	uint32_t n_hosts;
	struct intmap row_of; /* by function */
	VEC(struct change_row) rows;
};

struct function_counts {
	uint32_t function;
	uint64_t before, after; /* the change */
};

struct regression_finder {
	const struct profile *p;
	uint32_t lane;
	struct strings texts;
	uint32_t *files, *builds; /* by image: numbers of texts; builds: 0 without a build id */
	struct regression_item *items; /* by group, then by time */
	size_t *first;                 /* by group: its first item; one more at the end */
	VEC(struct build_change) changes;
	struct intmap sum_of; /* by text of the change: index of sums */
	VEC(struct change_sum) sums;
	struct regressions *out;
};

static uint64_t id_pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

/* ---- items ---- */

static void finder_name_images(struct regression_finder *f)
{
	const struct profile *p = f->p;

	f->files = xcalloc(p->images.n + 1, sizeof(*f->files));
	f->builds = xcalloc(p->images.n + 1, sizeof(*f->builds));
	for (size_t i = 0; i < p->images.n; i++) {
		const struct image *image = p->images.data[i].image;
		char hex[BUILD_ID_HEX_SIZE];

		if (p->images.data[i].is_idle || !image)
			continue;
		build_id_hex(&image->build_id, hex);
		f->files[i] = strings_add(&f->texts, path_file_name(image->path)).n;
		f->builds[i] = *hex ? strings_add(&f->texts, hex).n : 0;
	}
}

static void finder_sort_items(struct regression_finder *f)
{
	const struct profile *p = f->p;
	size_t *next = xcalloc((size_t)p->n_groups + 1, sizeof(*next));

	f->first = xcalloc((size_t)p->n_groups + 1, sizeof(*f->first));
	f->items = xcalloc(p->entries.n + 1, sizeof(*f->items));
	vec_foreach (&p->entries, e)
		f->first[e->group + 1]++;
	for (uint32_t g = 0; g < p->n_groups; g++) {
		f->first[g + 1] += f->first[g];
		next[g] = f->first[g];
	}
	for (uint32_t s = 0; s < p->slices.n; s++) {
		const struct profile_slice *slice = &p->slices.data[s];

		for (size_t i = slice->first; i < slice->first + slice->n; i++) {
			const struct profile_entry *e = &p->entries.data[i];

			f->items[next[e->group]++] =
				(struct regression_item){ s, p->nodes.data[e->node].function,
							  profile_weights(p, i)[f->lane].samples };
		}
	}
	free(next);
}

/* ---- changes ---- */

/* The newest build of a file, and since when. */
struct newest_build {
	uint32_t image, slice, change; /* change: index + 1 of changes; 0: it was there first */
};

static void group_add_change(struct regression_finder *f, uint32_t group,
			     struct newest_build *newest, uint32_t image, uint32_t slice)
{
	struct build_change c = { .group = group, .old = newest->image, .new = image, .at = slice };

	if (newest->change) {
		f->changes.data[newest->change - 1].end = slice;
		f->changes.data[newest->change - 1].has_end = true;
		c.begin = newest->slice;
		c.has_begin = true;
	}
	vec_push(&f->changes, c);
	*newest = (struct newest_build){ image, slice, (uint32_t)f->changes.n };
}

/* Two builds of the first slice say nothing about which one is new. */
static void group_find_changes(struct regression_finder *f, uint32_t group)
{
	struct intmap seen = { 0 }, newest_of = { 0 };
	VEC(struct newest_build) newest = { 0 };
	size_t before = f->changes.n;

	for (size_t i = f->first[group]; i < f->first[group + 1]; i++) {
		uint32_t image = f->p->functions.data[f->items[i].function].image;
		uint32_t slice = f->items[i].slice, *n;
		bool is_new;

		if (!f->builds[image] || !f->items[i].samples)
			continue;
		intmap_put(&seen, id_pair(f->files[image], f->builds[image]), &is_new);
		if (!is_new)
			continue;
		n = intmap_put(&newest_of, f->files[image], &is_new);
		if (is_new) {
			*n = (uint32_t)newest.n;
			vec_push(&newest, (struct newest_build){ image, slice, 0 });
		} else if (newest.data[*n].slice != slice) {
			group_add_change(f, group, &newest.data[*n], image, slice);
		}
	}
	if (f->changes.n - before > REGRESSIONS_MAX_CHANGES) {
		f->changes.n = before;
		f->out->n_left_out++;
	}
	intmap_fini(&seen);
	intmap_fini(&newest_of);
	vec_fini(&newest);
}

/* ---- counts ---- */

struct change_counts {
	uint64_t before, after;        /* all samples of both sides */
	uint64_t old_build, new_build; /* code of both builds, behind the change */
	struct intmap place;           /* by function: index of functions */
	VEC(struct function_counts) functions;
};

static struct function_counts *counts_of(struct change_counts *counts, uint32_t function)
{
	bool is_new;
	uint32_t *place = intmap_put(&counts->place, function, &is_new);

	if (is_new) {
		*place = (uint32_t)counts->functions.n;
		vec_push(&counts->functions, (struct function_counts){ .function = function });
	}
	return &counts->functions.data[*place];
}

static void change_count(const struct regression_finder *f, const struct build_change *c,
			 struct change_counts *counts)
{
	for (size_t i = f->first[c->group]; i < f->first[c->group + 1]; i++) {
		const struct regression_item *item = &f->items[i];
		const struct profile_function *code = &f->p->functions.data[item->function];
		bool is_old = item->slice < c->at && (!c->has_begin || item->slice > c->begin);
		bool is_new = item->slice > c->at && (!c->has_end || item->slice < c->end);

		if (is_old) {
			counts->before += item->samples;
			counts_of(counts, code->whole)->before += item->samples;
		} else if (is_new) {
			counts->after += item->samples;
			counts_of(counts, code->whole)->after += item->samples;
			if (f->files[code->image] != f->files[c->new])
				continue;
			counts->old_build +=
				f->builds[code->image] == f->builds[c->old] ? item->samples : 0;
			counts->new_build +=
				f->builds[code->image] == f->builds[c->new] ? item->samples : 0;
		}
	}
}

static struct change_sum *sum_of_change(struct regression_finder *f, const struct build_change *c)
{
	uint32_t key[4] = { profile_class_value(f->p, PROFILE_SERVICE, c->group), f->files[c->new],
			    f->builds[c->old], f->builds[c->new] };
	bool is_new;
	uint32_t *n =
		intmap_put(&f->sum_of, strings_add_n(&f->texts, (const char *)key, sizeof(key)).n,
			   &is_new);

	if (is_new) {
		*n = (uint32_t)f->sums.n;
		vec_push(&f->sums, (struct change_sum){ .first = *c });
	}
	return &f->sums.data[*n];
}

static void sum_add_function(struct change_sum *sum, const struct change_counts *counts,
			     const struct function_counts *one)
{
	double before = (double)counts->before, after = (double)counts->after, all = before + after;
	double x = (double)(one->before + one->after), weight = before * after / all;
	struct change_row *row;
	bool is_new;
	uint32_t *n = intmap_put(&sum->row_of, one->function, &is_new);

	if (is_new) {
		*n = (uint32_t)sum->rows.n;
		vec_push(&sum->rows, (struct change_row){ .function = one->function });
	}
	row = &sum->rows.data[*n];
	row->growth += (double)one->after - x * after / all;
	row->variance += x * (all - x) * after * before / (all * all * (all - 1));
	row->old_sum += weight * (double)one->before / before;
	row->new_sum += weight * (double)one->after / after;
	row->samples += one->after;
	row->n_grew += (double)one->after / after > (double)one->before / before;
}

/* Adds the change of a host to the sum of equal ones, unless the old build stayed in use. */
static void change_add(struct regression_finder *f, const struct build_change *c)
{
	struct change_counts counts = { 0 };
	struct change_sum *sum;

	change_count(f, c, &counts);
	if (counts.before && counts.after && counts.old_build <= counts.new_build) {
		sum = sum_of_change(f, c);
		sum->first.at = MIN(sum->first.at, c->at);
		sum->weight += (double)counts.before * (double)counts.after /
			       (double)(counts.before + counts.after);
		sum->n_hosts++;
		f->out->n_changes++;
		vec_foreach (&counts.functions, one)
			if (f->p->functions.data[one->function].symbol != NO_SYMBOL)
				sum_add_function(sum, &counts, one);
	}
	intmap_fini(&counts.place);
	vec_fini(&counts.functions);
}

/* ---- the answer ---- */

static double row_z(const struct change_row *row)
{
	return row->variance > 0 ? row->growth / sqrt(row->variance) : 0;
}

static bool row_is_regression(const struct regression_finder *f, const struct change_sum *sum,
			      const struct change_row *row)
{
	double chance = erfc(row_z(row) / sqrt(2)) / 2;

	return row->samples >= REGRESSIONS_MIN_SAMPLES &&
	       row->new_sum - row->old_sum >= REGRESSIONS_MIN_GROWTH * sum->weight &&
	       2 * row->n_grew > sum->n_hosts &&
	       chance * (double)f->out->n_tests < REGRESSIONS_CHANCE;
}

static bool is_of_own_file(const struct regression_finder *f, const struct regression *r)
{
	return f->files[f->p->functions.data[r->function].image] == f->files[r->new];
}

static void out_add(struct regression_finder *f, struct intmap *places,
		    const struct change_sum *sum, const struct change_row *row)
{
	const struct regression r = {
		.group = sum->first.group,
		.function = row->function,
		.old = sum->first.old,
		.new = sum->first.new,
		.since_ns = f->p->slices.data[sum->first.at].first_ns,
		.old_share = row->old_sum / sum->weight,
		.new_share = row->new_sum / sum->weight,
		.z = row_z(row),
		.samples = row->samples,
		.n_hosts = sum->n_hosts,
		.n_grew = row->n_grew,
	};
	uint32_t service = profile_class_value(f->p, PROFILE_SERVICE, r.group), *place;
	struct regression *known;
	bool is_new, is_better;

	place = intmap_put(places, id_pair(service, r.function), &is_new);
	if (is_new) {
		*place = (uint32_t)f->out->list.n;
		vec_push(&f->out->list, r);
		return;
	}
	known = &f->out->list.data[*place];
	is_better = is_of_own_file(f, &r) == is_of_own_file(f, known) ? r.z > known->z
								      : is_of_own_file(f, &r);
	if (is_better)
		*known = r;
}

static int by_growth(const void *a, const void *b)
{
	const struct regression *x = a, *y = b;
	double p = x->new_share - x->old_share, q = y->new_share - y->old_share;

	return p < q ? 1 : p > q ? -1 : x->function < y->function ? -1 : x->function > y->function;
}

static void finder_answer(struct regression_finder *f)
{
	struct regressions *out = f->out;
	struct intmap places = { 0 };

	vec_foreach (&f->sums, sum)
		out->n_tests += sum->rows.n;
	vec_foreach (&f->sums, sum)
		vec_foreach (&sum->rows, row)
			if (row_is_regression(f, sum, row))
				out_add(f, &places, sum, row);
	intmap_fini(&places);
	if (out->list.n)
		qsort(out->list.data, out->list.n, sizeof(*out->list.data), by_growth);
}

void regressions_find(const struct profile *p, uint32_t lane, struct regressions *out)
{
	struct regression_finder f = { .p = p, .lane = lane, .out = out };

	*out = (struct regressions){ 0 };
	strings_init(&f.texts);
	finder_name_images(&f);
	finder_sort_items(&f);
	for (uint32_t g = 0; g < p->n_groups; g++)
		group_find_changes(&f, g);
	vec_foreach (&f.changes, c)
		change_add(&f, c);
	finder_answer(&f);
	vec_foreach (&f.sums, sum) {
		intmap_fini(&sum->row_of);
		vec_fini(&sum->rows);
	}
	vec_fini(&f.sums);
	vec_fini(&f.changes);
	intmap_fini(&f.sum_of);
	strings_fini(&f.texts);
	free(f.files);
	free(f.builds);
	free(f.items);
	free(f.first);
}

void regressions_fini(struct regressions *r)
{
	vec_fini(&r->list);
}
