/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/diff.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/intmap.h"
#include "profile/rows.h"
#include "symbol/lines/lines.h"

struct differ {
	struct diff *out;
	struct intmap rows;     /* parent row + 1 and name: row */
	struct strings keys;    /* image NUL symbol, with its source where it has namesakes */
	struct strings plain;   /* image NUL symbol, of all functions of both sides … */
	VEC(bool) shared;       /* … and whether several functions of one side are called so */
	VEC(string_id) images;  /* by key */
	VEC(string_id) symbols; /* by key */
	bool by_period;
};

/* "libx.so.1.2" is "libx.so": another version of a library is the same library. */
static size_t image_name_length(const char *name)
{
	const char *so = strstr(name, ".so.");

	return so ? (size_t)(so - name) + 3 : strlen(name);
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* The source file of a function, without its folders: builds are made in different ones. */
static const char *diff_source_of(const struct profile *p, uint32_t function)
{
	const struct profile_function *f = &p->functions.data[function];
	const struct symbol_table *table = p->images.data[f->image].table;
	struct line_frame frames[LINES_MAX_FRAMES];
	size_t n;

	if (!table || f->symbol == NO_SYMBOL)
		return "";
	n = lines_find(p->symbols, table, symbol_get(table, f->symbol).offset, frames,
		       LINES_MAX_FRAMES);
	return n ? file_name(frames[n - 1].file) : "";
}

/* Without its folders; a jitdump's name is another one in each process. */
static const char *diff_image_name(const struct profile_image *image)
{
	if (image->is_idle)
		return image->name;
	return image->image->kind == IMAGE_JIT && image->image->path[0] == '/'
		       ? "[jitdump]"
		       : file_name(image->image->path);
}

/* "image NUL symbol"; the image's part is *image_len long. */
static char *plain_key(const struct profile *p, uint32_t function, size_t *image_len, size_t *len)
{
	const struct profile_function *f = &p->functions.data[function];
	const struct profile_image *image = &p->images.data[f->image];
	const char *path = diff_image_name(image);
	char scratch[KEY_TEXT_SIZE], *key;
	const char *symbol = f->symbol == NO_SYMBOL
				     ? ""
				     : profile_key_text(p, PROFILE_SYMBOL, function, scratch);

	*image_len = image_name_length(path);
	*len = *image_len + 1 + strlen(symbol);
	key = xmalloc(*len + 1);
	memcpy(key, path, *image_len);
	key[*image_len] = '\0';
	memcpy(key + *image_len + 1, symbol, *len - *image_len);
	return key;
}

/*
 * Static functions may share a name; their source files distinguish them. A name that is
 * shared on one side is so on both, as it may be one of them alone that the other side has.
 */
static void find_namesakes(struct differ *d, const struct profile *p)
{
	struct intmap firsts = { 0 };

	for (uint32_t f = 0; f < p->functions.n; f++) {
		size_t image_len, len;
		char *key = plain_key(p, f, &image_len, &len);
		bool is_new;
		uint32_t *first =
			intmap_put(&firsts, strings_add_n(&d->plain, key, len).n, &is_new);

		if (is_new)
			*first = f;
		while (d->shared.n < d->plain.n)
			vec_push(&d->shared, false);
		if (!is_new && p->functions.data[f].symbol != NO_SYMBOL &&
		    p->functions.data[*first].symbol != p->functions.data[f].symbol)
			d->shared.data[strings_add_n(&d->plain, key, len).n] = true;
		free(key);
	}
	intmap_fini(&firsts);
}

static uint32_t diff_key_of(struct differ *d, const struct profile *p, uint32_t function)
{
	size_t image_len, len;
	char *plain = plain_key(p, function, &image_len, &len);
	const char *source = "";
	struct buf key = { 0 };
	uint32_t id;

	if (d->shared.data[strings_add_n(&d->plain, plain, len).n])
		source = diff_source_of(p, function);
	buf_bytes(&key, plain, len);
	if (*source)
		buf_printf(&key, " [%s]", source);
	id = strings_add_n(&d->keys, (const char *)key.data, key.len).n;
	while (d->images.n <= id) {
		vec_push(&d->images, (string_id){ 0 });
		vec_push(&d->symbols, (string_id){ 0 });
	}
	d->images.data[id] = strings_add_n(&d->out->names, plain, image_len);
	d->symbols.data[id] = strings_add_n(&d->out->names, (const char *)key.data + image_len + 1,
					    key.len - image_len - 1);
	free(plain);
	buf_fini(&key);
	return id;
}

static uint32_t find_row(struct differ *d, uint32_t parent, uint32_t key)
{
	uint64_t place = (uint64_t)(parent + 1) << 32 | key; /* NO_INDEX + 1 is 0 */
	bool is_new;
	uint32_t *row = intmap_put(&d->rows, place, &is_new);

	if (is_new) {
		*row = (uint32_t)d->out->rows.n;
		vec_push(&d->out->rows,
			 (struct diff_row){
				 .image = d->images.data[key],
				 .symbol = d->symbols.data[key],
				 .parent = parent,
				 .depth = parent == NO_INDEX ? 0
							     : d->out->rows.data[parent].depth + 1,
			 });
	}
	return *row;
}

static void differ_init(struct differ *d, const struct profile *const profiles[2],
			const uint32_t lanes[2], bool by_period, struct diff *out)
{
	*d = (struct differ){ .out = out, .by_period = by_period };
	*out = (struct diff){ 0 };
	strings_init(&out->names);
	strings_init(&d->keys);
	strings_init(&d->plain);
	for (int side = 0; side < 2; side++) {
		find_namesakes(d, profiles[side]);
		const struct weight *total = &profiles[side]->lanes[lanes[side]].total;

		out->whole[side] = weight_value(total, by_period);
		out->samples[side] = total->samples;
		out->period[side] = total->period;
	}
}

static void differ_fini(struct differ *d)
{
	intmap_fini(&d->rows);
	strings_fini(&d->keys);
	strings_fini(&d->plain);
	vec_fini(&d->shared);
	vec_fini(&d->images);
	vec_fini(&d->symbols);
}

static void add_functions(struct differ *d, const struct profile *p, uint32_t lane, int side)
{
	struct key_list keys = { 0 };
	struct rows rows = { 0 };

	key_list_add(&keys, PROFILE_IMAGE);
	key_list_add(&keys, PROFILE_SYMBOL);
	profile_collate(p, &keys, true, &rows);
	for (size_t i = 0; i < rows.list.n; i++) {
		uint32_t function = rows.list.data[i].value[PROFILE_SYMBOL];
		const struct cell *cell = &rows_cells(&rows, i)[lane];
		struct diff_row *row;
		uint32_t n;

		if (!cell->self.samples && !cell->total.samples)
			continue;
		n = find_row(d, NO_INDEX, diff_key_of(d, p, function));
		row = &d->out->rows.data[n];
		row->self[side] += weight_value(&cell->self, d->by_period);
		row->total[side] += weight_value(&cell->total, d->by_period);
		weight_add(&row->own[side], &cell->self);
	}
	rows_fini(&rows);
}

void diff_functions(const struct profile *const profiles[2], const uint32_t lanes[2],
		    bool by_period, struct diff *out)
{
	struct differ d;

	differ_init(&d, profiles, lanes, by_period, out);
	for (int side = 0; side < 2; side++)
		add_functions(&d, profiles[side], lanes[side], side);
	differ_fini(&d);
}

/* Nodes stand behind their parents: one pass gives each the row of its chain. */
static void add_chains(struct differ *d, const struct profile *p, uint32_t lane, int side)
{
	uint32_t *keys = xcalloc(p->functions.n + 1, sizeof(*keys));
	uint32_t *rows = xcalloc(p->nodes.n + 1, sizeof(*rows));

	for (uint32_t f = 0; f < p->functions.n; f++)
		keys[f] = diff_key_of(d, p, f);
	rows[0] = NO_INDEX;
	for (uint32_t n = 1; n < p->nodes.n; n++) {
		const struct profile_node *node = &p->nodes.data[n];

		rows[n] = find_row(d, rows[node->parent], keys[node->function]);
	}
	for (size_t e = 0; e < p->entries.n; e++) {
		uint32_t row = rows[p->entries.data[e].node];
		uint64_t weight = weight_value(&profile_weights(p, e)[lane], d->by_period);

		if (row == NO_INDEX)
			continue;
		d->out->rows.data[row].self[side] += weight;
		weight_add(&d->out->rows.data[row].own[side], &profile_weights(p, e)[lane]);
	}
	free(keys);
	free(rows);
}

void diff_tree(const struct profile *const profiles[2], const uint32_t lanes[2], bool by_period,
	       struct diff *out)
{
	struct differ d;

	differ_init(&d, profiles, lanes, by_period, out);
	out->is_tree = true;
	for (int side = 0; side < 2; side++)
		add_chains(&d, profiles[side], lanes[side], side);
	for (size_t i = out->rows.n; i--;) {
		struct diff_row *row = &out->rows.data[i];

		for (int side = 0; side < 2; side++) {
			row->total[side] += row->self[side];
			if (row->parent != NO_INDEX)
				out->rows.data[row->parent].total[side] += row->total[side];
		}
	}
	differ_fini(&d);
}

void diff_fini(struct diff *d)
{
	vec_fini(&d->rows);
	strings_fini(&d->names);
}

double diff_share(const struct diff *d, const struct diff_row *row, enum diff_side side)
{
	return d->whole[side] ? (double)diff_weights(d, row)[side] / (double)d->whole[side] : 0;
}

double diff_change(const struct diff *d, const struct diff_row *row)
{
	return diff_share(d, row, DIFF_NEW) - diff_share(d, row, DIFF_OLD);
}

/*
 * Weights by events are taken for as many samples as their share is: the mean
 * period stands for each.
 */
double diff_z(const struct diff *d, const struct diff_row *row)
{
	double n_old = (double)d->samples[DIFF_OLD], n_new = (double)d->samples[DIFF_NEW];
	double old_share = diff_share(d, row, DIFF_OLD), new_share = diff_share(d, row, DIFF_NEW);
	double pooled, spread;

	if (n_old <= 0 || n_new <= 0)
		return 0;
	pooled = (old_share * n_old + new_share * n_new) / (n_old + n_new);
	spread = sqrt(pooled * (1 - pooled) * (1 / n_old + 1 / n_new));
	return spread > 0 ? (new_share - old_share) / spread : 0;
}

double diff_time(const struct diff *d, const struct diff_row *row, enum diff_side side)
{
	return (double)(row ? row->own[side].period : d->period[side]);
}

double diff_time_variance(const struct diff *d, const struct diff_row *row, enum diff_side side)
{
	double n = (double)(row ? row->own[side].samples : d->samples[side]);
	double time = diff_time(d, row, side);

	return n > 0 ? time * time / n : 0;
}

double diff_time_z(const struct diff *d, const struct diff_row *row)
{
	double variance =
		diff_time_variance(d, row, DIFF_OLD) + diff_time_variance(d, row, DIFF_NEW);
	double change = diff_time(d, row, DIFF_NEW) - diff_time(d, row, DIFF_OLD);

	return variance > 0 ? change / sqrt(variance) : 0;
}
