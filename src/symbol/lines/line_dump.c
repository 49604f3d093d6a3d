/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/lines/line_dump.h"

#include <string.h>

#include "base/buf.h"
#include "foreign/jitdump.h"

/* From `start` on: a line, or 0 for none. */
struct row {
	uint64_t start;
	uint32_t line, order;
	string_id file;
};

struct rows {
	struct row *data;
	size_t n, cap;
};

static int line_dump_by_start(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static void line_dump_add_code(struct rows *rows, const struct jitdump *d,
			       const struct jitdump_code *c)
{
	for (uint32_t i = 0; i < c->n_lines; i++) {
		const struct jitdump_line *l = &d->lines.data[c->first_line + i];

		if (l->code_off < c->size)
			vec_push(rows, (struct row){ c->file_off + l->code_off, l->line,
						     (uint32_t)rows->n, l->file });
	}
}

/* The next code may begin behind this code's end: the name of a record is between them. */
static void add_end(struct rows *rows, const struct jitdump_code *c)
{
	vec_push(rows, (struct row){ .start = c->file_off + c->size, .order = (uint32_t)rows->n });
}

static void line_dump_sort_rows(struct rows *rows)
{
	size_t n = 0;

	qsort(rows->data, rows->n, sizeof(*rows->data), line_dump_by_start);
	for (size_t i = 0; i < rows->n; i++) {
		bool is_last = i + 1 == rows->n || rows->data[i + 1].start != rows->data[i].start;

		/* an index spans 4 GiB; a longer dump has only its first lines */
		if (is_last && rows->data[i].start - rows->data[0].start < UINT32_MAX)
			rows->data[n++] = rows->data[i];
	}
	rows->n = n;
}

/* The names of files, one after the other; returns the start of each, by string. */
static uint32_t *lay_out_text(const struct jitdump *d, struct buf *text)
{
	uint32_t *at = xcalloc((size_t)d->strings.n + 1, sizeof(*at));

	buf_u8(text, 0);
	vec_foreach (&d->lines, l) {
		const char *name = strings_get(&d->strings, l->file);

		if (at[l->file.n] || !*name || text->len > UINT32_MAX / 2)
			continue;
		at[l->file.n] = (uint32_t)text->len;
		buf_cstr0(text, name);
	}
	return at;
}

static struct line_header *line_dump_make_block(const struct jitdump *d, const struct rows *rows,
						size_t *size)
{
	struct buf text = { 0 };
	cleanup(free_at_exit) uint32_t *text_at = lay_out_text(d, &text);
	const struct line_header like = { .n_rows = (uint32_t)rows->n,
					  .n_places = (uint32_t)rows->n + 1,
					  .base = rows->data[0].start,
					  .text_size = text.len };
	uint64_t span = rows->data[rows->n - 1].start - like.base;
	struct line_index ix;
	struct line_header *h =
		line_block_new(&like, (uint32_t)MIN(span, (uint64_t)UINT32_MAX), size, &ix);
	struct line_row *out = (struct line_row *)ix.rows;
	struct line_place *places = (struct line_place *)ix.places;

	places[0] = (struct line_place){ 0 };
	for (uint32_t i = 0; i < rows->n; i++) {
		const struct row *row = &rows->data[i];

		out[i] = (struct line_row){ (uint32_t)(row->start - h->base), i + 1 };
		places[i + 1] = (struct line_place){ text_at[row->file.n], row->line, 0, 0 };
	}
	memcpy((char *)ix.text, text.data, text.len);
	line_block_seal(h, *size);
	buf_fini(&text);
	return h;
}

struct line_header *line_dump_make(const uint8_t *bytes, size_t size, size_t *block_size)
{
	struct line_header *block = NULL;
	struct rows rows = { 0 };
	struct jitdump d;

	jitdump_init(&d);
	jitdump_feed(&d, bytes, size, 0);
	/* ends first: if other code follows directly, its first line counts */
	vec_foreach (&d.codes, c)
		if (c->n_lines)
			add_end(&rows, c);
	vec_foreach (&d.codes, c)
		line_dump_add_code(&rows, &d, c);
	if (d.lines.n && rows.n) {
		line_dump_sort_rows(&rows);
		block = line_dump_make_block(&d, &rows, block_size);
	}
	vec_fini(&rows);
	jitdump_fini(&d);
	return block;
}
