/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/report/opreport.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/output.h"
#include "oprofile/report/opreport_rows.h"
#include "profile/rows.h"

/* ---- lines ---- */

void op_put(struct buf *line, const char *text, size_t width)
{
	size_t start = line->len, len;

	utf8_append_visible(line, text);
	len = line->len - start;
	do
		buf_u8(line, ' ');
	while (++len < width);
}

void op_print_line(struct buf *line, FILE *out)
{
	while (line->len && line->data[line->len - 1] == ' ')
		line->len--;
	fprintf(out, "%.*s\n", (int)line->len, (const char *)line->data);
	line->len = 0;
}

void op_put_number(struct buf *line, uint64_t n, size_t width)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, n);
	op_put(line, text, width);
}

void op_put_percent(struct buf *line, double percent, size_t width)
{
	char text[32];

	opreport_percent(text, sizeof(text), percent);
	op_put(line, text, width);
}

void op_put_address(const struct op_rows *r, uint64_t address, struct buf *line)
{
	char text[24];

	snprintf(text, sizeof(text), "%0*" PRIx64, r->address_digits, address);
	op_put(line, text, OP_ADDRESS_WIDTH);
}

void op_put_counts(const struct op_rows *r, uint64_t address, const uint64_t *counts,
		   const uint64_t *of, uint64_t *sums, struct buf *line)
{
	if (r->o->with_addresses)
		op_put_address(r, address, line);
	for (uint32_t lane = 0; lane < r->p->n_lanes; lane++) {
		uint64_t whole = of ? of[lane] : r->p->lanes[lane].total.samples;

		sums[lane] += counts[lane];
		op_put_number(line, counts[lane], OP_COUNT_WIDTH);
		if (r->o->accumulated)
			op_put_number(line, sums[lane], OP_CUM_WIDTH);
		op_put_percent(line, op_share(counts[lane], whole), OP_PERCENT_WIDTH);
		if (r->o->accumulated)
			op_put_percent(line, op_share(sums[lane], whole), OP_CUM_PERCENT_WIDTH);
	}
}

void op_print_titles(const struct op_rows *r, bool is_diff, FILE *out)
{
	struct buf line = { 0 };

	if (r->o->no_header)
		return;
	if (r->o->with_addresses)
		op_put(&line, "vma", OP_ADDRESS_WIDTH);
	for (uint32_t lane = 0; lane < r->p->n_lanes; lane++) {
		op_put(&line, "samples", OP_COUNT_WIDTH);
		if (r->o->accumulated)
			op_put(&line, "cum. samples", OP_CUM_WIDTH);
		op_put(&line, "%", OP_PERCENT_WIDTH);
		if (r->o->accumulated)
			op_put(&line, "cum. %", OP_CUM_PERCENT_WIDTH);
		if (is_diff)
			op_put(&line, "diff %", OP_DIFF_WIDTH);
	}
	if (r->o->with_lines)
		op_put(&line, "linenr info", OP_LINE_WIDTH);
	if (r->shows_image)
		op_put(&line, "image name", OP_IMAGE_WIDTH);
	if (r->shows_app)
		op_put(&line, "app name", OP_IMAGE_WIDTH);
	buf_str(&line, "symbol name");
	op_print_line(&line, out);
	buf_fini(&line);
}

void op_put_names(const struct op_rows *r, const struct op_row *row, const char *suffix,
		  struct buf *line)
{
	if (r->o->with_lines)
		op_put(line, row->line ? row->line : "", OP_LINE_WIDTH);
	if (r->shows_image)
		op_put(line, op_image_name(r->p, r->o, row->image), OP_IMAGE_WIDTH);
	if (r->shows_app)
		op_put(line, op_image_name(r->p, r->o, row->app), OP_IMAGE_WIDTH);
	utf8_append_visible(line, row->symbol);
	buf_str(line, suffix);
}

/* ---- symbols, and addresses below them ---- */

static void print_details(const struct op_rows *r, uint32_t symbol, FILE *out)
{
	const uint64_t *of = op_row_counts(r, symbol);
	uint32_t first = r->list.data[symbol].first_detail;
	uint64_t *sums = xcalloc(r->p->n_lanes, sizeof(*sums));
	struct buf line = { 0 };

	for (uint32_t i = 0; i < r->list.data[symbol].n_details; i++) {
		uint32_t detail = r->details[first + i];
		const struct op_row *row = &r->list.data[detail];

		buf_str(&line, "  ");
		op_put_counts(r, row->address, op_row_counts(r, detail),
			      r->o->global_percent ? NULL : of, sums, &line);
		if (row->line)
			utf8_append_visible(&line, row->line);
		op_print_line(&line, out);
	}
	buf_fini(&line);
	free(sums);
}

void opreport_print_symbols(const struct profile *p, const struct opreport_options *o, FILE *out)
{
	uint64_t *sums = xcalloc(p->n_lanes + 1, sizeof(*sums));
	struct buf line = { 0 };
	struct op_rows r;

	op_rows_make(&r, p, o);
	op_print_titles(&r, false, out);
	for (size_t i = 0; i < r.n_order; i++) {
		const struct op_row *row = &r.list.data[r.order[i]];
		const uint64_t *counts = op_row_counts(&r, r.order[i]);

		op_put_counts(&r, row->address, counts, NULL, sums, &line);
		op_put_names(&r, row, "", &line);
		op_print_line(&line, out);
		if (o->with_details)
			print_details(&r, r.order[i], out);
	}
	buf_fini(&line);
	free(sums);
	op_rows_fini(&r);
}

/* ---- the summary ---- */

#define LANE_WIDTH  18
#define TITLE_WIDTH 17

struct app_images {
	uint32_t app;
	VEC(uint32_t) images;
	VEC(uint64_t) counts; /* of images: [i * n_lanes + lane] */
	uint64_t *total;      /* by lane */
};

struct summary {
	const struct profile *p;
	const struct opreport_options *o;
	VEC(struct app_images) apps;
};

static void summary_add(struct summary *s, struct intmap *index, uint32_t app, uint32_t image,
			const struct cell *cells)
{
	bool is_new;
	uint32_t *id = intmap_put(index, app, &is_new);
	struct app_images *a;

	if (is_new) {
		*id = (uint32_t)s->apps.n;
		vec_push(&s->apps, (struct app_images){ .app = app });
		s->apps.data[*id].total = xcalloc(s->p->n_lanes + 1, sizeof(uint64_t));
	}
	a = &s->apps.data[*id];
	vec_push(&a->images, image);
	for (uint32_t lane = 0; lane < s->p->n_lanes; lane++) {
		vec_push(&a->counts, cells[lane].self.samples);
		a->total[lane] += cells[lane].self.samples;
	}
}

static const char *opreport_path_of(const struct summary *s, uint32_t image)
{
	return op_image_path(s->p, image);
}

static int compare_apps(const void *x, const void *y, void *context)
{
	const struct summary *s = context;
	const struct app_images *a = x, *b = y;
	int order = (a->total[0] < b->total[0]) - (a->total[0] > b->total[0]);

	order = order ? order : strcmp(opreport_path_of(s, a->app), opreport_path_of(s, b->app));
	return s->o->is_reversed ? -order : order;
}

struct image_order {
	const struct summary *s;
	const struct app_images *a;
};

static int compare_images(const void *x, const void *y, void *context)
{
	const struct image_order *c = context;
	uint32_t i = *(const uint32_t *)x, k = *(const uint32_t *)y, n = c->s->p->n_lanes;
	uint64_t a = c->a->counts.data[(size_t)i * n], b = c->a->counts.data[(size_t)k * n];
	int order = (a < b) - (a > b);

	order = order ? order
		      : strcmp(opreport_path_of(c->s, c->a->images.data[i]),
			       opreport_path_of(c->s, c->a->images.data[k]));
	return c->s->o->is_reversed ? -order : order;
}

static void print_summary_titles(const struct summary *s, const char *indent, FILE *out)
{
	struct buf title = { 0 };

	if (s->o->no_header)
		return;
	fputs(indent, out);
	for (uint32_t lane = 0; lane < s->p->n_lanes; lane++) {
		title.len = 0;
		opreport_lane_title(s->p, lane, &title);
		if (title.len > TITLE_WIDTH)
			fprintf(out, "%.14s...|", buf_cstr(&title));
		else
			fprintf(out, "%*s|", TITLE_WIDTH, buf_cstr(&title));
	}
	fprintf(out, "\n%s", indent);
	for (uint32_t lane = 0; lane < s->p->n_lanes; lane++)
		fputs("  samples|      %|", out);
	fprintf(out, "\n%s", indent);
	for (uint32_t i = 0; i < s->p->n_lanes * LANE_WIDTH; i++)
		fputc('-', out);
	fputc('\n', out);
	buf_fini(&title);
}

static void opreport_print_summary_row(const struct summary *s, const char *indent,
				       const uint64_t *counts, const uint64_t *of, uint32_t image,
				       FILE *out)
{
	fputs(indent, out);
	for (uint32_t lane = 0; lane < s->p->n_lanes; lane++) {
		char percent[32];

		opreport_percent(percent, sizeof(percent),
				 op_share(counts[lane],
					  of ? of[lane] : s->p->lanes[lane].total.samples));
		fprintf(out, "%9" PRIu64 " %s ", counts[lane], percent);
	}
	output_line(out, "%s", op_image_name(s->p, s->o, image));
}

static bool is_zero(const uint64_t *counts, uint32_t n)
{
	while (n--)
		if (counts[n])
			return false;
	return true;
}

/* Samples beside those of the application's own image. */
static bool has_dependents(const struct app_images *a)
{
	return a->images.n > 1 || a->images.data[0] != a->app;
}

static void print_dependents(const struct summary *s, const struct app_images *a, FILE *out)
{
	struct image_order context = { s, a };
	uint32_t *order = xcalloc(a->images.n + 1, sizeof(*order));

	for (uint32_t i = 0; i < a->images.n; i++)
		order[i] = i;
	qsort_r(order, a->images.n, sizeof(*order), compare_images, &context);
	print_summary_titles(s, "\t", out);
	for (size_t i = 0; i < a->images.n; i++) {
		const uint64_t *counts = &a->counts.data[(size_t)order[i] * s->p->n_lanes];

		if (!is_zero(counts, s->p->n_lanes))
			opreport_print_summary_row(s, "\t", counts,
						   s->o->global_percent ? NULL : a->total,
						   a->images.data[order[i]], out);
	}
	free(order);
}

void opreport_print_summary(const struct profile *p, const struct opreport_options *o, FILE *out)
{
	bool merges_lib = !key_list_has(&p->class_keys, PROFILE_APP);
	struct summary s = { .p = p, .o = o };
	struct key_list keys = { 0 };
	struct intmap index = { 0 };
	struct rows rows = { 0 };

	opreport_summary_keys(merges_lib, &keys);
	profile_collate(p, &keys, false, &rows);
	for (uint32_t i = 0; i < rows.list.n; i++) {
		const uint32_t *value = rows.list.data[i].value;

		summary_add(&s, &index, value[merges_lib ? PROFILE_IMAGE : PROFILE_APP],
			    value[PROFILE_IMAGE], rows_cells(&rows, i));
	}
	if (s.apps.n)
		qsort_r(s.apps.data, s.apps.n, sizeof(*s.apps.data), compare_apps, &s);
	print_summary_titles(&s, "", out);
	vec_foreach (&s.apps, a) {
		if (op_share(a->total[0], p->lanes[0].total.samples) < o->threshold)
			continue;
		opreport_print_summary_row(&s, "", a->total, NULL, a->app, out);
		if (has_dependents(a))
			print_dependents(&s, a, out);
	}
	vec_foreach (&s.apps, a) {
		vec_fini(&a->images);
		vec_fini(&a->counts);
		free(a->total);
	}
	vec_fini(&s.apps);
	intmap_fini(&index);
	rows_fini(&rows);
}
