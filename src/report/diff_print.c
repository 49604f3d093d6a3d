/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/diff_print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/csv.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "report/gate_print.h"
#include "report/header.h"
#include "store/session.h"

/* ---- which rows, in which order ---- */

struct ordered {
	uint32_t row, parent;
	double change;
	uint64_t weight;
};

/* The rows under one parent stand together, the largest change first. */
static int diff_print_larger_first(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->change != y->change)
		return x->change < y->change ? 1 : -1;
	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return (x->row > y->row) - (x->row < y->row);
}

static bool is_significant(const struct diff *d, const struct diff_row *row)
{
	return fabs(diff_z(d, row)) >= DIFF_LIKELY;
}

static bool diff_print_is_shown(const struct diff_page *page, const struct diff_row *row)
{
	return fabs(diff_change(page->diff, row)) * 100 >= page->min_points &&
	       (!page->significant_only || is_significant(page->diff, row));
}

/* Above every row that is shown are all of its callers. */
static bool *mark_rows(const struct diff_page *page)
{
	const struct diff *d = page->diff;
	bool *marks = xcalloc(d->rows.n + 1, sizeof(*marks));

	for (size_t i = d->rows.n; i--;) {
		const struct diff_row *row = &d->rows.data[i];

		if (diff_print_is_shown(page, row))
			marks[i] = true;
		if (marks[i] && row->parent != NO_INDEX)
			marks[row->parent] = true;
	}
	return marks;
}

static size_t first_child(const struct ordered *sorted, size_t n, uint32_t parent)
{
	size_t from = 0, to = n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (sorted[middle].parent < parent)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* As deep as a call chain (PROFILE_MAX_DEPTH). */
static void place_children(const struct ordered *sorted, size_t n, uint32_t parent, uint32_t *order,
			   size_t *placed)
{
	for (size_t i = first_child(sorted, n, parent); i < n && sorted[i].parent == parent; i++) {
		order[(*placed)++] = sorted[i].row;
		place_children(sorted, n, sorted[i].row, order, placed);
	}
}

uint32_t *diff_order(const struct diff_page *page, size_t *n)
{
	const struct diff *d = page->diff;
	cleanup(free_at_exit) bool *marks = mark_rows(page);
	cleanup(free_at_exit) struct ordered *sorted = xcalloc(d->rows.n + 1, sizeof(*sorted));
	uint32_t *order = xcalloc(d->rows.n + 1, sizeof(*order));
	size_t n_sorted = 0;

	for (uint32_t i = 0; i < d->rows.n; i++) {
		const struct diff_row *row = &d->rows.data[i];
		const uint64_t *weights = diff_weights(d, row);

		if (marks[i])
			sorted[n_sorted++] =
				(struct ordered){ i, row->parent, fabs(diff_change(d, row)),
						  weights[0] + weights[1] };
	}
	qsort(sorted, n_sorted, sizeof(*sorted), diff_print_larger_first);
	if (page->max_rows && !d->is_tree)
		n_sorted = MIN(n_sorted, page->max_rows);
	*n = 0;
	place_children(sorted, n_sorted, NO_INDEX, order, n);
	return order;
}

/* What a list does not show, added up: with it the shares make the whole. */
static struct diff_row gather_rest(const struct diff_page *page, const uint32_t *order, size_t n)
{
	const struct diff *d = page->diff;
	struct diff_row rest = { .parent = NO_INDEX };

	for (int side = 0; side < 2; side++) {
		rest.self[side] = d->whole[side];
		for (size_t i = 0; i < n; i++)
			rest.self[side] -= d->rows.data[order[i]].self[side];
		rest.total[side] = rest.self[side];
	}
	return rest;
}

/* ---- texts ---- */

static const char *mark(const struct diff *d, const struct diff_row *row)
{
	double z = fabs(diff_z(d, row));

	return z >= DIFF_CERTAIN ? "**" : z >= DIFF_LIKELY ? "*" : "";
}

/* The weight relative to the whole of its side, new by old: "+25 %", "x3.1", "new", "gone". */
static void put_ratio(struct buf *out, const struct diff *d, const struct diff_row *row)
{
	double old_share = diff_share(d, row, DIFF_OLD), new_share = diff_share(d, row, DIFF_NEW);

	if (old_share <= 0)
		buf_str(out, new_share > 0 ? "new" : "");
	else if (new_share <= 0)
		buf_str(out, "gone");
	else if (new_share / old_share >= 2)
		buf_printf(out, "x%.3g", new_share / old_share);
	else
		buf_printf(out, "%+.1f %%", (new_share / old_share - 1) * 100);
}

static void diff_print_put_symbol(struct buf *out, const struct diff *d, const struct diff_row *row)
{
	const char *symbol = strings_get(&d->names, row->symbol);

	utf8_append_visible(out, *symbol ? symbol : "(no symbols)");
}

static void print_side(const struct diff_page *page, int side, FILE *out)
{
	const struct profile *p = page->profiles[side];

	struct buf visible = { 0 };

	utf8_append_visible(&visible, page->paths[side]);
	fprintf(out, "%-8s  %s: %" PRIu64 " samples, %" PRIu64 " lost", side ? "new" : "old",
		buf_cstr(&visible), page->diff->samples[side],
		losses_of_kind(p->losses, LOSS_LOST));
	visible.len = 0;
	if (p->session->n_hosts_asked) {
		utf8_append_visible(&visible, p->session->info.note);
		fprintf(out, "; %" PRIu32 " of %" PRIu32 " host%s %s samples here%s%s",
			p->session->n_hosts, p->session->n_hosts_asked,
			plural_s(p->session->n_hosts_asked),
			plural(p->session->n_hosts, "has", "have"), visible.len ? "; " : "",
			buf_cstr(&visible));
		visible.len = 0;
	}
	utf8_append_visible(&visible, p->session->info.command);
	if (visible.len)
		fprintf(out, "; %.100s", buf_cstr(&visible));
	buf_fini(&visible);
	fputc('\n', out);
}

static void diff_print_print_row(const struct diff_page *page, const struct diff_row *row,
				 uint32_t n_hidden, const struct text_style *style, FILE *out)
{
	const struct diff *d = page->diff;
	struct buf ratio = { 0 }, image = { 0 }, name = { 0 };
	const char *bold = style->with_colour && *mark(d, row) ? "\033[1m" : "";
	int room = style->width > 60 ? (int)style->width - 52 : 400;

	put_ratio(&ratio, d, row);
	utf8_append_visible(&image, strings_get(&d->names, row->image));
	if (n_hidden)
		buf_printf(&name, "other (%" PRIu32 " more)", n_hidden);
	else
		diff_print_put_symbol(&name, d, row);
	fprintf(out, "%s%7.2f %7.2f %+8.2f %-2s %8s  %-18.18s  %*s%.*s%s\n", bold,
		diff_share(d, row, DIFF_OLD) * 100, diff_share(d, row, DIFF_NEW) * 100,
		diff_change(d, row) * 100, n_hidden ? "" : mark(d, row), buf_cstr(&ratio),
		n_hidden ? "" : buf_cstr(&image), (int)MIN(row->depth, 40U), "", room,
		buf_cstr(&name), *bold ? "\033[m" : "");
	buf_fini(&ratio);
	buf_fini(&image);
	buf_fini(&name);
}

/* With several old sessions, the rules are about all of them. */
static void print_total(const struct diff_page *page, FILE *out)
{
	struct buf text = { 0 };

	gate_print_total(&text, page);
	if (page->n_old > 1)
		buf_printf(&text,
			   page->in_turn ? "; the table is of the last of %zu turns"
					 : "; old is the newest of %zu sessions",
			   page->n_old);
	fprintf(out, "%-8s  %s\n", page->counts_time ? "CPU time" : "total", buf_cstr(&text));
	buf_fini(&text);
}

void diff_print_text(const struct diff_page *page, const struct text_style *style, FILE *out)
{
	const struct diff *d = page->diff;
	size_t n;
	cleanup(free_at_exit) uint32_t *order = diff_order(page, &n);
	struct diff_row rest;

	for (int side = 0; side < 2; side++)
		print_side(page, side, out);
	print_total(page, out);
	fprintf(out,
		"event     %s; %% of its own total, change in points; * 99 %%, ** 99.9 %% sure "
		"that "
		"it is not chance\n\n",
		page->event);
	fprintf(out, "  old %%   new %%   change        ratio  %-18s  symbol\n", "image");
	for (size_t i = 0; i < n; i++)
		diff_print_print_row(page, &d->rows.data[order[i]], 0, style, out);
	if (!d->is_tree && n < d->rows.n) {
		rest = gather_rest(page, order, n);
		diff_print_print_row(page, &rest, (uint32_t)(d->rows.n - n), style, out);
	}
	if (!n)
		fprintf(out, "\nno change of %.2f points or more%s\n", page->min_points,
			page->significant_only ? " that is significant" : "");
}

/* ---- for programs ---- */

void diff_print_csv(const struct diff_page *page, const struct text_style *style, FILE *out)
{
	const struct diff *d = page->diff;
	size_t n;
	cleanup(free_at_exit) uint32_t *order = diff_order(page, &n);
	struct buf line = { 0 };

	fputs("id,parent,depth,image,symbol,old,new,old_percent,new_percent,change,z,old_events,"
	      "new_events\n",
	      out);
	for (size_t i = 0; i < n; i++) {
		const struct diff_row *row = &d->rows.data[order[i]];
		const uint64_t *weights = diff_weights(d, row);

		line.len = 0;
		buf_printf(&line, "%" PRIu32 ",", order[i]);
		if (row->parent != NO_INDEX)
			buf_printf(&line, "%" PRIu32, row->parent);
		buf_printf(&line, ",%" PRIu32 ",", row->depth);
		csv_put_text(&line, strings_get(&d->names, row->image), style->is_csv_raw);
		buf_u8(&line, ',');
		csv_put_text(&line, strings_get(&d->names, row->symbol), style->is_csv_raw);
		fprintf(out,
			"%s,%" PRIu64 ",%" PRIu64 ",%.4f,%.4f,%.4f,%.3f,%" PRIu64 ",%" PRIu64 "\n",
			buf_cstr(&line), weights[0], weights[1], diff_share(d, row, DIFF_OLD) * 100,
			diff_share(d, row, DIFF_NEW) * 100, diff_change(d, row) * 100,
			diff_z(d, row), row->own[DIFF_OLD].period, row->own[DIFF_NEW].period);
	}
	buf_fini(&line);
}

static json_t *row_json(const struct diff *d, uint32_t id)
{
	const struct diff_row *row = &d->rows.data[id];
	json_t *o = json_object();
	double z = diff_z(d, row);

	json_object_set_new(o, "id", json_number(id));
	json_object_set_new(o, "parent",
			    row->parent == NO_INDEX ? json_null() : json_number(row->parent));
	json_object_set_new(o, "image", json_text(strings_get(&d->names, row->image)));
	json_object_set_new(o, "symbol", json_text(strings_get(&d->names, row->symbol)));
	json_object_set_new(o, "old", json_number(diff_weights(d, row)[DIFF_OLD]));
	json_object_set_new(o, "new", json_number(diff_weights(d, row)[DIFF_NEW]));
	json_object_set_new(o, "old_percent", json_real(diff_share(d, row, DIFF_OLD) * 100));
	json_object_set_new(o, "new_percent", json_real(diff_share(d, row, DIFF_NEW) * 100));
	json_object_set_new(o, "change", json_real(diff_change(d, row) * 100));
	json_object_set_new(o, "z", json_real(z));
	json_object_set_new(o, "is_significant", json_boolean(fabs(z) >= DIFF_LIKELY));
	json_object_set_new(o, "old_events", json_number(row->own[DIFF_OLD].period));
	json_object_set_new(o, "new_events", json_number(row->own[DIFF_NEW].period));
	json_object_set_new(o, "events_z", json_real(diff_time_z(d, row)));
	return o;
}

void diff_print_json(const struct diff_page *page, const struct text_style *style, FILE *out)
{
	static const char *const sides[] = { "old", "new" };
	const struct diff *d = page->diff;
	size_t n;
	cleanup(free_at_exit) uint32_t *order = diff_order(page, &n);
	json_t *all = json_object(), *rows = json_array();

	(void)style;
	json_object_set_new(all, "event", json_text(page->event));
	json_object_set_new(all, "cpu", gate_json_total(page));
	json_object_set_new(all, "old_sessions", json_number(page->n_old));
	json_object_set_new(all, "rules", gate_json_rules(page));
	for (int side = 0; side < 2; side++) {
		json_t *o = json_object();

		json_object_set_new(o, "path", json_text(page->paths[side]));
		json_object_set_new(o, "samples", json_number(d->samples[side]));
		json_object_set_new(o, "whole", json_number(d->whole[side]));
		json_object_set_new(o, "lost",
				    json_number(losses_of_kind(page->profiles[side]->losses,
							       LOSS_LOST)));
		header_put_coverage(page->profiles[side]->session, o);
		json_object_set_new(all, sides[side], o);
	}
	for (size_t i = 0; i < n; i++)
		json_array_append_new(rows, row_json(d, order[i]));
	json_object_set_new(all, "rows", rows);
	json_dumpf(all, out, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(8));
	fputc('\n', out);
	json_decref(all);
}
