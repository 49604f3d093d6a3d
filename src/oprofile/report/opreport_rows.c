/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/report/opreport_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/path.h"
#include "profile/rows.h"
#include "symbol/addresses.h"
#include "symbol/lines/lines.h"

/* ---- names ---- */

static const char *opreport_rows_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* A folder without links. Thousands of files are in few folders, whose every part costs a call. */
struct known_folder {
	char *path, *real; /* real NULL: there is none */
};

/* The path without links; NULL: there is no such file. The caller's to free(). */
static char *real_path(struct known_folder *known, const char *path)
{
	size_t len = path_folder_len(path);
	char target[1];

	if (!len || readlink(path, target, sizeof(target)) >= 0)
		return realpath(path, NULL);
	if (errno != EINVAL) /* not a link */
		return NULL;
	if (!known->path || strlen(known->path) != len || strncmp(known->path, path, len) != 0) {
		free(known->path);
		free(known->real);
		known->path = xstrndup(path, len);
		known->real = realpath(known->path, NULL);
	}
	return known->real
		       ? xasprintf("%s%s", strcmp(known->real, "/") ? known->real : "", path + len)
		       : NULL;
}

/* The file of an image; NULL: none was found, or none is looked for. The caller's to free(). */
static char *found_file(const struct profile *p, const struct image *image,
			struct known_folder *known)
{
	cleanup(free_at_exit) char *found = NULL;
	char *real;

	if (image->kind == IMAGE_FILE && *image->path == '/' && p->has_functions)
		found = symbolizer_image_file(p->symbols, image);
	if (image->kind == IMAGE_MODULE && p->has_functions)
		found = symbolizer_listed_module(p->symbols, image);
	real = found ? real_path(known, found) : NULL;
	return real ? real : take_ptr(found);
}

/* "[ext4]" is the module /ext4 to OProfile. */
static char *sample_path(const struct image *image)
{
	if (image->kind == IMAGE_KERNEL)
		return xstrdup("/proc/kallsyms");
	if (image->kind == IMAGE_MODULE && *image->path == '[')
		return xasprintf("/%.*s", (int)strlen(image->path) - 2, image->path + 1);
	return xstrdup(image->path);
}

void opreport_name_images(struct profile *p)
{
	struct known_folder known = { 0 };

	for (size_t i = 0; i < p->images.n; i++) {
		struct profile_image *image = &p->images.data[i];
		cleanup(free_at_exit) char *name = sample_path(image->image);
		cleanup(free_at_exit) char *file = found_file(p, image->image, &known);

		image->op_name = arena_strndup(p->arena, name, strlen(name));
		image->op_path =
			file ? arena_strndup(p->arena, file, strlen(file)) : image->op_name;
	}
	free(known.path);
	free(known.real);
}

const char *op_sample_path(const struct profile *p, uint32_t image)
{
	const struct profile_image *i = &p->images.data[image];

	return i->op_name ? i->op_name : i->image->path;
}

const char *op_image_path(const struct profile *p, uint32_t image)
{
	const struct profile_image *i = &p->images.data[image];

	return i->op_path ? i->op_path : i->image->path;
}

const char *op_image_name(const struct profile *p, const struct opreport_options *o, uint32_t image)
{
	const char *path = op_image_path(p, image);

	return o->long_names || *path != '/' ? path : opreport_rows_file_name(path);
}

/* A bracket without a lower end is a guess of an address: OProfile has no name for it. */
bool op_has_symbol(const struct profile *p, uint32_t function)
{
	const struct profile_function *f = &p->functions.data[function];
	const struct symbol_table *table = p->images.data[f->image].table;

	return f->symbol != NO_SYMBOL && table && *symbol_get(table, f->symbol).name;
}

const char *op_symbol_name(const struct profile *p, uint32_t function)
{
	uint32_t number = p->functions.data[function].image;
	const struct image *image = p->images.data[number].image;
	char scratch[KEY_TEXT_SIZE];

	if (!op_has_symbol(p, function)) /* wherever the file was found */
		return image->kind == IMAGE_FILE ? image->path : op_image_path(p, number);
	return profile_key_text(p, PROFILE_SYMBOL, function, scratch);
}

static const char *shown_name(const struct profile *p, const struct opreport_options *o,
			      uint32_t function)
{
	const struct profile_function *f = &p->functions.data[function];

	return o->with_mangled && op_has_symbol(p, function)
		       ? symbol_get(p->images.data[f->image].table, f->symbol).name
		       : op_symbol_name(p, function);
}

/* ---- making ---- */

void opreport_summary_keys(bool merges_lib, struct key_list *keys)
{
	if (!merges_lib)
		key_list_add(keys, PROFILE_APP);
	key_list_add(keys, PROFILE_IMAGE);
}

void opreport_symbol_keys(bool merges_lib, const struct opreport_options *o, struct key_list *keys)
{
	if (!merges_lib)
		key_list_add(keys, PROFILE_APP);
	key_list_add(keys, PROFILE_IMAGE);
	key_list_add(keys, PROFILE_SYMBOL);
	if (o->with_details)
		key_list_add(keys, PROFILE_ADDRESS);
}

/* The source line at an offset of a function's image: "sort.c:12". */
static char *line_text(const struct profile *p, const struct opreport_options *o, uint32_t image,
		       uint64_t offset)
{
	const struct symbol_table *table = p->images.data[image].table;
	struct line_span span;

	if (!table || offset == NO_OFFSET || !lines_span(p->symbols, table, offset, &span) ||
	    !span.line)
		return xstrdup("(no location information)");
	return xasprintf("%s:%" PRIu32,
			 o->long_names ? span.file : opreport_rows_file_name(span.file), span.line);
}

static uint64_t opreport_rows_start_of(const struct profile *p, uint32_t function)
{
	const struct profile_function *f = &p->functions.data[function];

	return symbol_get(p->images.data[f->image].table, f->symbol).offset;
}

uint64_t op_symbol_address(const struct profile *p, uint32_t function)
{
	if (!op_has_symbol(p, function))
		return 0;
	return symbol_link_addr(p->symbols, p->images.data[p->functions.data[function].image].table,
				opreport_rows_start_of(p, function));
}

static uint32_t opreport_rows_add_row(struct op_rows *r, struct op_row row)
{
	uint32_t index = (uint32_t)r->list.n;

	vec_push(&r->list, row);
	for (uint32_t lane = 0; lane < r->p->n_lanes; lane++)
		vec_push(&r->counts, 0);
	return index;
}

static void opreport_rows_add_counts(struct op_rows *r, uint32_t row, const struct cell *cells)
{
	for (uint32_t lane = 0; lane < r->p->n_lanes; lane++)
		r->counts.data[(size_t)row * r->p->n_lanes + lane] += cells[lane].self.samples;
}

uint32_t op_rows_add(struct op_rows *r, uint32_t app, uint32_t function, bool has_symbol)
{
	uint32_t image = r->p->functions.data[function].image;
	char *line = NULL;

	if (r->o->with_lines)
		line = line_text(r->p, r->o, image,
				 has_symbol ? opreport_rows_start_of(r->p, function) : NO_OFFSET);
	return opreport_rows_add_row(r, (struct op_row){
						.app = app,
						.image = image,
						.function = has_symbol ? function : NO_INDEX,
						.symbol = shown_name(r->p, r->o, function),
						.address = op_symbol_address(r->p, function),
						.line = line,
						.detail_of = NO_INDEX,
					});
}

/* The row of a symbol; all of an image without names is one. */
static uint32_t symbol_row(struct op_rows *r, struct intmap *index, uint32_t app, uint32_t function)
{
	bool has_symbol = op_has_symbol(r->p, function), is_new;
	uint32_t image = r->p->functions.data[function].image;
	uint64_t key = (uint64_t)app << 32 | (has_symbol ? function : image | 1u << 31);
	uint32_t *id = intmap_put(index, key, &is_new);

	if (is_new)
		*id = op_rows_add(r, app, function, has_symbol);
	return *id;
}

static void add_detail(struct op_rows *r, uint32_t of, const struct row *row,
		       const struct cell *cells)
{
	uint32_t function = row->value[PROFILE_ADDRESS];
	const struct profile_function *f = &r->p->functions.data[function];
	uint32_t index =
		opreport_rows_add_row(r, (struct op_row){
						 .app = r->list.data[of].app,
						 .image = f->image,
						 .function = function,
						 .address = profile_address(r->p, function),
						 .line = r->o->with_lines
								 ? line_text(r->p, r->o, f->image,
									     f->offset)
								 : NULL,
						 .detail_of = of,
					 });

	opreport_rows_add_counts(r, index, cells);
}

static bool opreport_rows_has_samples(const struct profile *p, const struct cell *cells)
{
	for (uint32_t lane = 0; lane < p->n_lanes; lane++)
		if (cells[lane].self.samples)
			return true;
	return false;
}

static void opreport_rows_collect(struct op_rows *r)
{
	const struct profile *p = r->p;
	struct key_list keys = { 0 };
	struct intmap index = { 0 };
	struct rows rows = { 0 };

	opreport_symbol_keys(!key_list_has(&p->class_keys, PROFILE_APP), r->o, &keys);
	profile_collate(p, &keys, false, &rows);
	for (uint32_t i = 0; i < rows.list.n; i++) {
		const struct row *row = &rows.list.data[i];
		const struct cell *cells = rows_cells(&rows, i);
		uint32_t function = row->value[PROFILE_SYMBOL], app, of;

		if (!opreport_rows_has_samples(p, cells))
			continue;
		app = key_list_has(&keys, PROFILE_APP) ? row->value[PROFILE_APP]
						       : p->functions.data[function].image;
		of = symbol_row(r, &index, app, function);
		opreport_rows_add_counts(r, of, cells);
		if (r->o->with_details)
			add_detail(r, of, row, cells);
	}
	rows_fini(&rows);
	intmap_fini(&index);
}

/* ---- order ---- */

/* A row of one of two lists. */
struct placed {
	const struct op_rows *r;
	uint32_t row;
};

static const struct op_row *row_of(const struct placed *x)
{
	return &x->r->list.data[x->row];
}

static int opreport_rows_by_samples(const struct placed *a, const struct placed *b)
{
	uint32_t lane = a->r->o->sort_lane;
	uint64_t x = op_row_counts(a->r, a->row)[lane], y = op_row_counts(b->r, b->row)[lane];

	return (x < y) - (x > y);
}

static int by_names(const struct placed *a, uint32_t image_a, const struct placed *b,
		    uint32_t image_b)
{
	const char *x = op_image_name(a->r->p, a->r->o, image_a);
	const char *y = op_image_name(b->r->p, b->r->o, image_b);
	int order = 0;

	if (a->r->o->short_order)
		order = strcmp(opreport_rows_file_name(x), opreport_rows_file_name(y));
	return order ? order : strcmp(x, y);
}

static int by_image(const struct placed *a, const struct placed *b)
{
	return by_names(a, row_of(a)->image, b, row_of(b)->image);
}

static int by_app(const struct placed *a, const struct placed *b)
{
	return by_names(a, row_of(a)->app, b, row_of(b)->app);
}

static int by_symbol(const struct placed *a, const struct placed *b)
{
	const char *x = row_of(a)->symbol, *y = row_of(b)->symbol;

	return strcmp(x ? x : "", y ? y : "");
}

/* "sort.c:12" by the file's name, and then by the number. */
static int by_line(const struct placed *a, const struct placed *b)
{
	const char *x = row_of(a)->line, *y = row_of(b)->line;
	const char *colon_x = x ? strrchr(x, ':') : NULL, *colon_y = y ? strrchr(y, ':') : NULL;
	size_t n = colon_x ? (size_t)(colon_x - x) : 0, m = colon_y ? (size_t)(colon_y - y) : 0;
	int order = memcmp(n ? x : "", m ? y : "", MIN(n, m));
	long line_x = colon_x ? atol(colon_x + 1) : 0, line_y = colon_y ? atol(colon_y + 1) : 0;

	order = order ? order : (n > m) - (n < m);
	return order ? order : (line_x > line_y) - (line_x < line_y);
}

static int opreport_rows_by_address(const struct placed *a, const struct placed *b)
{
	uint64_t x = row_of(a)->address, y = row_of(b)->address;

	return (x > y) - (x < y);
}

static const struct {
	const char *word;
	int (*compare)(const struct placed *a, const struct placed *b);
} sort_keys[] = {
	{ "sample", opreport_rows_by_samples },
	{ "image", by_image },
	{ "app-name", by_app },
	{ "symbol", by_symbol },
	{ "debug", by_line },
	{ "vma", opreport_rows_by_address },
};

static size_t find_sort(const char *word, size_t len)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(sort_keys) &&
	       (strlen(sort_keys[i].word) != len || strncmp(sort_keys[i].word, word, len)))
		i++;
	return i;
}

int opreport_check_sort(const char *sort, struct error *err)
{
	for (const char *at = sort; at && *at;) {
		size_t len = strcspn(at, ",");

		if (find_sort(at, len) == ARRAY_SIZE(sort_keys))
			return error_set(err, -EINVAL,
					 "--sort: '%.*s' is none of sample, image, app-name, "
					 "symbol, debug, vma",
					 (int)len, at);
		at += len + (at[len] == ',');
	}
	return 0;
}

int op_rows_compare_of(const struct op_rows *ra, uint32_t row_a, const struct op_rows *rb,
		       uint32_t row_b)
{
	const struct placed a = { ra, row_a }, b = { rb, row_b };
	int order = 0;

	for (const char *at = ra->o->sort ? ra->o->sort : "sample"; *at && !order;) {
		size_t len = strcspn(at, ",");

		order = sort_keys[find_sort(at, len)].compare(&a, &b);
		at += len + (at[len] == ',');
	}
	for (size_t i = 0; i < ARRAY_SIZE(sort_keys) && !order; i++)
		order = sort_keys[i].compare(&a, &b);
	return ra->o->is_reversed ? -order : order;
}

int op_rows_compare(const void *x, const void *y, void *context)
{
	const struct op_rows *r = context;

	return op_rows_compare_of(r, *(const uint32_t *)x, r, *(const uint32_t *)y);
}

static int by_owner_and_address(const void *x, const void *y, void *context)
{
	const struct op_rows *r = context;
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	uint32_t of_a = r->list.data[a].detail_of, of_b = r->list.data[b].detail_of;

	return of_a != of_b ? (of_a < of_b ? -1 : 1)
			    : opreport_rows_by_address(&(struct placed){ r, a },
						       &(struct placed){ r, b });
}

double op_share(uint64_t count, uint64_t of)
{
	return of ? (double)count / (double)of * 100 : 0;
}

/* In any class. */
static bool is_above_threshold(const struct op_rows *r, uint32_t row)
{
	for (uint32_t lane = 0; lane < r->p->n_lanes; lane++)
		if (op_share(op_row_counts(r, row)[lane], r->p->lanes[lane].total.samples) >=
		    r->o->threshold)
			return true;
	return false;
}

static void opreport_rows_put_in_order(struct op_rows *r)
{
	r->order = xcalloc(r->list.n + 1, sizeof(*r->order));
	r->details = xcalloc(r->list.n + 1, sizeof(*r->details));
	for (uint32_t i = 0; i < r->list.n; i++) {
		if (r->list.data[i].detail_of != NO_INDEX)
			r->details[r->n_details++] = i;
		else if (is_above_threshold(r, i))
			r->order[r->n_order++] = i;
	}
	qsort_r(r->order, r->n_order, sizeof(*r->order), op_rows_compare, r);
	qsort_r(r->details, r->n_details, sizeof(*r->details), by_owner_and_address, r);
	for (uint32_t i = 0; i < r->n_details; i++) {
		struct op_row *of = &r->list.data[r->list.data[r->details[i]].detail_of];

		of->first_detail = of->n_details ? of->first_detail : i;
		of->n_details++;
	}
}

void op_rows_choose_columns(struct op_rows *r)
{
	r->address_digits = 8;
	r->shows_image = false;
	r->shows_app = r->o->many_apps;
	for (size_t i = 0; i < r->n_order; i++) {
		const struct op_row *row = &r->list.data[r->order[i]];

		r->shows_image |= row->image != row->app;
		r->address_digits = row->address >> 32 ? 16 : r->address_digits;
	}
	for (size_t i = 0; i < r->n_details; i++)
		if (r->list.data[r->details[i]].address >> 32)
			r->address_digits = 16;
}

void op_rows_make(struct op_rows *r, const struct profile *p, const struct opreport_options *o)
{
	*r = (struct op_rows){ .p = p, .o = o };
	opreport_rows_collect(r);
	opreport_rows_put_in_order(r);
	op_rows_choose_columns(r);
}

void op_rows_fini(struct op_rows *r)
{
	vec_foreach (&r->list, row)
		free(row->line);
	vec_fini(&r->list);
	vec_fini(&r->counts);
	free(r->order);
	free(r->details);
}
