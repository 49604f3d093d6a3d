/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/regressions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/build_id.h"
#include "base/buf.h"
#include "base/intmap.h"
#include "base/path.h"
#include "base/strings.h"
#include "machine/image.h"
#include "store/session.h"

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

/* A function of any host. */
struct named_function {
	string_id symbol, file, path; /* file: the name of its file, without folders */
};

/* What a function has in an equal change of several hosts. */
struct change_row {
	uint32_t function;       /* of regression_sums.functions */
	double growth, variance; /* of counts, as regressions.h has them */
	double old_sum, new_sum; /* of shares by weight */
	uint64_t samples;
	uint32_t n_grew;
};

/* An equal change of several hosts. */
struct change_sum {
	string_id service, file, path; /* path: one of the file's */
	string_id old_build, new_build;
	uint64_t since_ns;
	double weight;
	uint32_t n_hosts;
	struct intmap row_of; /* by function */
	VEC(struct change_row) rows;
};

struct function_counts {
	uint32_t function;
	uint64_t before, after; /* the change */
};

struct regression_sums {
	struct strings texts;
	struct intmap function_of; /* by file and symbol: index of functions */
	VEC(struct named_function) functions;
	struct intmap sum_of; /* by text of the change: index of sums */
	VEC(struct change_sum) sums;
	uint32_t n_changes, n_left_out;
};

/* Finds the changes of a profile. */
struct regression_finder {
	const struct profile *p;
	uint32_t lane;
	struct regression_sums *to;
	uint32_t *files, *builds; /* by image: numbers of texts; builds: 0 without a build id */
	struct regression_item *items; /* by group, then by time */
	size_t *first;                 /* by group: its first item; one more at the end */
	VEC(struct build_change) changes;
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
		f->files[i] = strings_add(&f->to->texts, path_file_name(image->path)).n;
		f->builds[i] = *hex ? strings_add(&f->to->texts, hex).n : 0;
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
		f->to->n_left_out++;
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

static string_id service_text(struct regression_finder *f, uint32_t group)
{
	char scratch[KEY_TEXT_SIZE];
	uint32_t service = profile_class_value(f->p, PROFILE_SERVICE, group);

	return strings_add(&f->to->texts,
			   profile_key_text(f->p, PROFILE_SERVICE, service, scratch));
}

static struct change_sum *sum_of_change(struct regression_finder *f, const struct build_change *c)
{
	struct regression_sums *to = f->to;
	string_id service = service_text(f, c->group);
	uint32_t key[4] = { service.n, f->files[c->new], f->builds[c->old], f->builds[c->new] };
	const char *path = f->p->images.data[c->new].image->path;
	bool is_new;
	uint32_t *n =
		intmap_put(&to->sum_of, strings_add_n(&to->texts, (const char *)key, sizeof(key)).n,
			   &is_new);

	if (is_new) {
		*n = (uint32_t)to->sums.n;
		vec_push(&to->sums, (struct change_sum){ .service = service,
							 .file = { f->files[c->new] },
							 .path = strings_add(&to->texts, path),
							 .old_build = { f->builds[c->old] },
							 .new_build = { f->builds[c->new] },
							 .since_ns = UINT64_MAX });
	}
	return &to->sums.data[*n];
}

/* The number of a function of the profile among those of all hosts. */
static uint32_t function_number(struct regression_finder *f, uint32_t function)
{
	struct regression_sums *to = f->to;
	uint32_t image = f->p->functions.data[function].image;
	char scratch[KEY_TEXT_SIZE];
	string_id symbol =
		strings_add(&to->texts, profile_key_text(f->p, PROFILE_SYMBOL, function, scratch));
	bool is_new;
	uint32_t *n = intmap_put(&to->function_of, id_pair(f->files[image], symbol.n), &is_new);

	if (is_new) {
		const char *path = f->p->images.data[image].image->path;

		*n = (uint32_t)to->functions.n;
		vec_push(&to->functions, (struct named_function){ symbol,
								  { f->files[image] },
								  strings_add(&to->texts, path) });
	}
	return *n;
}

static void sum_add_function(struct change_sum *sum, const struct change_counts *counts,
			     const struct function_counts *one, uint32_t function)
{
	double before = (double)counts->before, after = (double)counts->after, all = before + after;
	double x = (double)(one->before + one->after), weight = before * after / all;
	struct change_row *row;
	bool is_new;
	uint32_t *n = intmap_put(&sum->row_of, function, &is_new);

	if (is_new) {
		*n = (uint32_t)sum->rows.n;
		vec_push(&sum->rows, (struct change_row){ .function = function });
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
		sum->since_ns =
			MIN(sum->since_ns, session_wall_ns(&f->p->session->info,
							   f->p->slices.data[c->at].first_ns));
		sum->weight += (double)counts.before * (double)counts.after /
			       (double)(counts.before + counts.after);
		sum->n_hosts++;
		f->to->n_changes++;
		vec_foreach (&counts.functions, one)
			if (f->p->functions.data[one->function].symbol != NO_SYMBOL)
				sum_add_function(sum, &counts, one,
						 function_number(f, one->function));
	}
	intmap_fini(&counts.place);
	vec_fini(&counts.functions);
}

void regression_sums_add(struct regression_sums *s, const struct profile *p, uint32_t lane)
{
	struct regression_finder f = { .p = p, .lane = lane, .to = s };

	finder_name_images(&f);
	finder_sort_items(&f);
	for (uint32_t g = 0; g < p->n_groups; g++)
		group_find_changes(&f, g);
	vec_foreach (&f.changes, c)
		change_add(&f, c);
	vec_fini(&f.changes);
	free(f.files);
	free(f.builds);
	free(f.items);
	free(f.first);
}

/* ---- the answer ---- */

static double row_z(const struct change_row *row)
{
	return row->variance > 0 ? row->growth / sqrt(row->variance) : 0;
}

static bool row_is_regression(const struct change_sum *sum, const struct change_row *row,
			      uint64_t n_tests)
{
	double chance = erfc(row_z(row) / sqrt(2)) / 2;

	return row->samples >= REGRESSIONS_MIN_SAMPLES &&
	       row->new_sum - row->old_sum >= REGRESSIONS_MIN_GROWTH * sum->weight &&
	       2 * row->n_grew > sum->n_hosts && chance * (double)n_tests < REGRESSIONS_CHANCE;
}

static struct regression regression_of(const struct regression_sums *s,
				       const struct change_sum *sum, const struct change_row *row)
{
	const struct named_function *function = &s->functions.data[row->function];

	return (struct regression){
		.service = strings_get(&s->texts, sum->service),
		.symbol = strings_get(&s->texts, function->symbol),
		.image = strings_get(&s->texts, function->path),
		.file = strings_get(&s->texts, sum->path),
		.old_build = strings_get(&s->texts, sum->old_build),
		.new_build = strings_get(&s->texts, sum->new_build),
		.since_ns = sum->since_ns,
		.is_of_own_file = function->file.n == sum->file.n,
		.old_share = row->old_sum / sum->weight,
		.new_share = row->new_sum / sum->weight,
		.z = row_z(row),
		.samples = row->samples,
		.n_hosts = sum->n_hosts,
		.n_grew = row->n_grew,
	};
}

static void out_add(struct regressions *out, struct intmap *places, uint64_t key,
		    const struct regression *r)
{
	struct regression *known;
	bool is_new, is_better;
	uint32_t *place = intmap_put(places, key, &is_new);

	if (is_new) {
		*place = (uint32_t)out->list.n;
		vec_push(&out->list, *r);
		return;
	}
	known = &out->list.data[*place];
	is_better =
		r->is_of_own_file == known->is_of_own_file ? r->z > known->z : r->is_of_own_file;
	if (is_better)
		*known = *r;
}

static int by_growth(const void *a, const void *b)
{
	const struct regression *x = a, *y = b;
	double p = x->new_share - x->old_share, q = y->new_share - y->old_share;

	return p < q ? 1 : p > q ? -1 : strcmp(x->symbol, y->symbol);
}

void regression_sums_find(const struct regression_sums *s, struct regressions *out)
{
	struct intmap places = { 0 };

	*out = (struct regressions){ .n_changes = s->n_changes, .n_left_out = s->n_left_out };
	vec_foreach (&s->sums, sum)
		out->n_tests += sum->rows.n;
	vec_foreach (&s->sums, sum)
		vec_foreach (&sum->rows, row) {
			struct regression r = regression_of(s, sum, row);

			if (row_is_regression(sum, row, out->n_tests))
				out_add(out, &places, id_pair(sum->service.n, row->function), &r);
		}
	intmap_fini(&places);
	if (out->list.n)
		qsort(out->list.data, out->list.n, sizeof(*out->list.data), by_growth);
}

struct regression_sums *regression_sums_new(void)
{
	struct regression_sums *s = xcalloc(1, sizeof(*s));

	strings_init(&s->texts);
	return s;
}

void regression_sums_free(struct regression_sums *s)
{
	if (!s)
		return;
	vec_foreach (&s->sums, sum) {
		intmap_fini(&sum->row_of);
		vec_fini(&sum->rows);
	}
	vec_fini(&s->sums);
	vec_fini(&s->functions);
	intmap_fini(&s->sum_of);
	intmap_fini(&s->function_of);
	strings_fini(&s->texts);
	free(s);
}

void regressions_fini(struct regressions *r)
{
	vec_fini(&r->list);
}
