/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text for people: the header, then a table. Every row is made twice, once to
 * find the widths of the columns and once to be printed.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "report/header.h"
#include "report/names.h"
#include "report/style.h"
#include "report/text.h"
#include "store/session.h"

/* Texts other than the last get at most this, so that the last has room. */
#define MAX_TEXT_WIDTH 24
#define MIN_TEXT_WIDTH 10
#define MIN_LAST_WIDTH 40
#define HOT_PERCENT    10.0
#define WARM_PERCENT   2.0

/* A column on the page: of one lane, or of the row. */
struct place {
	const struct column *column;
	uint32_t lane;
	size_t width;
	bool is_number;
};

struct page {
	const struct report *r;
	const struct text_style *style;
	FILE *out;
	struct place *places;
	size_t n;
	struct buf cell, line, clean;
	const char *ellipsis;
	char name_title[128]; /* of the name column */
	uint32_t lane;        /* the only one of this table; NO_INDEX: all, side by side */
	uint32_t row;         /* of the line at hand; NO_INDEX: none */
};

static bool is_number(const struct column *c)
{
	return c->kind != VALUE_TEXT;
}

/* An event that counted nothing has no columns, unless none did. */
static bool is_lane_shown(const struct report *r, uint32_t lane)
{
	bool has_others = false;

	for (uint32_t i = 0; i < r->profile->n_lanes; i++)
		has_others |= r->profile->lanes[i].total.samples > 0;
	return !has_others || r->profile->lanes[lane].total.samples > 0;
}

static bool is_lane_of_page(const struct page *page, uint32_t lane)
{
	return page->lane == NO_INDEX ? is_lane_shown(page->r, lane) : page->lane == lane;
}

static uint32_t n_lanes_shown(const struct report *r)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->rows.n_lanes; i++)
		n += is_lane_shown(r, i);
	return n;
}

/* Side by side with more than one other event, or this many classes, counts give way to shares. */
#define LANES_WITH_COUNTS   2
#define CLASSES_WITH_COUNTS 4

/* Trees are deep, and their names long: they have one event at a time. */
static bool is_by_event(const struct report *r)
{
	return r->view->layout == LAYOUT_TREE && !r->options->columns && n_lanes_shown(r) > 1 &&
	       !r->profile->lane_keys.n;
}

/* Columns nobody asked for are left out where they say nothing, or leave no room for names. */
static bool text_is_wanted(const struct report *r, const struct column *c, uint32_t lane)
{
	if (r->options->columns)
		return true;
	if (c->kind == VALUE_PERIOD)
		return r->options->by_period || !profile_period_is_constant(r->profile, lane);
	return c->kind != VALUE_COUNT || !c->is_per_lane ||
	       (is_by_event(r) ? 1 : n_lanes_shown(r)) <=
		       (r->profile->lane_keys.n ? CLASSES_WITH_COUNTS : LANES_WITH_COUNTS);
}

static void text_add_place(struct page *page, const struct column *c, uint32_t lane)
{
	if (text_is_wanted(page->r, c, lane))
		page->places[page->n++] =
			(struct place){ .column = c, .lane = lane, .is_number = is_number(c) };
}

static void text_add_places(struct page *page, const struct column_list *list, size_t from,
			    size_t end, uint32_t lane)
{
	for (size_t i = from; i < end; i++)
		text_add_place(page, list->column[i], lane);
}

/* Columns in order; a run of per-lane columns is repeated for every lane. */
static void make_places(struct page *page)
{
	const struct column_list *list = &page->r->columns;
	uint32_t n_lanes = page->r->rows.n_lanes;

	page->places = xcalloc(list->n * n_lanes + 1, sizeof(*page->places));
	for (size_t from = 0, end; from < list->n; from = end) {
		bool per_lane = list->column[from]->is_per_lane;

		for (end = from + 1; end < list->n && list->column[end]->is_per_lane == per_lane;)
			end++;
		for (uint32_t lane = 0; lane < (per_lane ? n_lanes : 1); lane++)
			if (!per_lane || is_lane_of_page(page, lane))
				text_add_places(page, list, from, end, lane);
	}
}

static bool is_row_of_page(const struct page *page, uint32_t row)
{
	const struct cell *cells = rows_cells(&page->r->rows, row);

	return page->lane == NO_INDEX || cells[page->lane].total.samples > 0 ||
	       cells[page->lane].self.samples > 0;
}

static void put_scaled(struct buf *out, double value, const double *factors,
		       const char *const *units, size_t n)
{
	size_t i = 0;

	while (i + 1 < n && value < factors[i])
		i++;
	value /= factors[i];
	buf_printf(out, "%.*f%s",
		   factors[i] <= 1 ? 0
		   : value < 10    ? 2
		   : value < 100   ? 1
				   : 0,
		   value, units[i]);
}

/* A period in its unit: "1.25 s" for clocks, "3.41G" for events. */
static void text_put_period(struct buf *out, const char *unit, uint64_t period)
{
	static const double time_factors[] = { 1e9, 1e6, 1e3, 1 };
	static const char *const times[] = { " s", " ms", " us", " ns" };
	static const char *const sizes[] = { " TB", " GB", " MB", " kB", " B" };
	static const double factors[] = { 1e12, 1e9, 1e6, 1e3, 1 };
	static const char *const suffixes[] = { "T", "G", "M", "k", "" };

	if (!strcmp(unit, "ns"))
		put_scaled(out, (double)period, time_factors, times, ARRAY_SIZE(times));
	else
		put_scaled(out, (double)period, factors, !strcmp(unit, "bytes") ? sizes : suffixes,
			   ARRAY_SIZE(suffixes));
}

/* The unit of a lane's periods. If events are rows, the unit of the row. */
static const char *text_unit_of(const struct report *r, uint32_t row, uint32_t lane)
{
	uint32_t counter = r->profile->lanes[lane].counter;

	if (r->options->by_latency)
		return "cycles";
	if (counter == NO_INDEX && row != NO_INDEX)
		counter = r->rows.list.data[row].value[PROFILE_EVENT];
	return counter == NO_INDEX ? "" : r->profile->session->info.counters[counter].unit;
}

static void text_put_value(struct page *page, const struct place *place, uint32_t row,
			   const struct value *v)
{
	switch (v->kind) {
	case VALUE_NONE:
		break;
	case VALUE_COUNT:
		buf_printf(&page->cell, "%" PRIu64, v->number);
		break;
	case VALUE_PERCENT:
		buf_printf(&page->cell, "%.2f", v->percent);
		break;
	case VALUE_PERIOD:
		text_put_period(&page->cell, text_unit_of(page->r, row, place->lane), v->number);
		break;
	case VALUE_TEXT:
		utf8_append_visible(&page->cell, v->text);
		break;
	}
}

/* How far the name of a row is moved to the right. */
static size_t indent_of(const struct page *page, const struct row *row)
{
	size_t max = page->style->width ? page->style->width / 3 : SIZE_MAX;

	return MIN((size_t)row->indent * 2, max);
}

/* "  - main": below its callers; the dash where the weight of the row above divides. */
static void put_indent(struct page *page, const struct row *row)
{
	for (size_t i = indent_of(page, row); i > 0; i--)
		buf_u8(&page->cell, ' ');
	if (page->r->view->layout == LAYOUT_TREE && row->kind != ROW_GROUP)
		buf_str(&page->cell, row->is_branch ? "- " : "  ");
}

static const char *make_cell(struct page *page, const struct place *place, uint32_t row,
			     double *percent)
{
	const struct row *at = &page->r->rows.list.data[row];
	struct value v;

	page->cell.len = 0;
	column_value(page->r, place->column, row, place->lane, &v);
	if (!strcmp(place->column->key, "name"))
		put_indent(page, at);
	else if (at->kind == ROW_OTHER && place == &page->places[page->n - 1])
		column_value(page->r, column_find("name", 4), row, place->lane, &v);
	text_put_value(page, place, row, &v);
	*percent = v.kind == VALUE_PERCENT ? v.percent : 0;
	return buf_cstr(&page->cell);
}

/*
 * The lines above the titles, from the top: the values of groups of columns. The event is the last.
 * If all columns have the same event, and there are other lines, it is left out.
 */
static const enum profile_key lane_axes[] = { PROFILE_CPU, PROFILE_PROCESS, PROFILE_THREAD,
					      PROFILE_EVENT };

static bool is_axis_shown(const struct report *r, enum profile_key key)
{
	uint32_t first = NO_INDEX, n = 0;

	for (uint32_t lane = 0; lane < r->rows.n_lanes; lane++) {
		uint32_t value = profile_lane_value(&r->profile->lanes[lane], key);

		if (!is_lane_shown(r, lane))
			continue;
		if (n++ && value != first)
			return true;
		first = value;
	}
	return key == PROFILE_EVENT && r->rows.n_lanes > 1 && !r->profile->lane_keys.n;
}

/* Whether a lane is in the same group of an axis as the one before, or the two differ above it. */
static bool is_same_group(const struct report *r, size_t axis, uint32_t a, uint32_t b)
{
	for (size_t i = 0; i <= axis; i++)
		if (profile_lane_value(&r->profile->lanes[a], lane_axes[i]) !=
		    profile_lane_value(&r->profile->lanes[b], lane_axes[i]))
			return false;
	return true;
}

/* The longest of the titles above a lane's own columns alone. */
static size_t lane_title_width(const struct report *r, uint32_t lane)
{
	char scratch[KEY_TEXT_SIZE];
	size_t width = 0;

	for (size_t i = 0; i < ARRAY_SIZE(lane_axes); i++)
		if (is_axis_shown(r, lane_axes[i]))
			width = MAX(width,
				    name_width(report_lane_text(r, lane, lane_axes[i], scratch)));
	return width;
}

static const char *place_time_title(const struct report *r, bool is_self)
{
	if (r->options->by_latency)
		return is_self ? "latency" : "total latency";
	if (r->options->by_wall)
		return is_self ? "wall time" : "total wall time";
	return is_self ? "time" : "total time";
}

static const char *place_title(const struct page *page, const struct place *place)
{
	const char *unit = text_unit_of(page->r, NO_INDEX, place->lane);

	if (place->column->kind == VALUE_PERIOD && (!strcmp(unit, "ns") || !strcmp(unit, "cycles")))
		return place_time_title(page->r, !strcmp(place->column->key, "events"));
	if (strcmp(place->column->key, "name"))
		return place->column->title;
	return page->name_title;
}

/* A nest's are its keys: "process / symbol". */
static void make_name_title(struct page *page)
{
	const struct key_list *keys = &page->r->keys;
	size_t used = 0;

	snprintf(page->name_title, sizeof(page->name_title), "symbol");
	if (page->r->view->layout != LAYOUT_NEST)
		return;
	for (size_t i = 0; i < keys->n && used < sizeof(page->name_title); i++)
		used += (size_t)snprintf(page->name_title + used, sizeof(page->name_title) - used,
					 "%s%s", i ? " / " : "", profile_keys[keys->key[i]].key);
}

static void measure(struct page *page)
{
	double ignored;

	for (size_t i = 0; i < page->n; i++)
		page->places[i].width = strlen(place_title(page, &page->places[i]));
	for (uint32_t row = 0; row < page->r->rows.list.n; row++)
		for (size_t i = 0; i < page->n && is_row_of_page(page, row); i++) {
			size_t width = name_width(make_cell(page, &page->places[i], row, &ignored));

			page->places[i].width = MAX(page->places[i].width, width);
		}
}

/* The widest text column before the last that can still give way, or NULL. */
static struct place *widest_text(struct page *page)
{
	struct place *widest = NULL;

	for (size_t i = 0; i + 1 < page->n; i++) {
		struct place *p = &page->places[i];

		if (!p->is_number && p->width > MIN_TEXT_WIDTH &&
		    (!widest || p->width > widest->width))
			widest = p;
	}
	return widest;
}

static size_t used_width(const struct page *page)
{
	size_t used = 0;

	for (size_t i = 0; i < page->n; i++)
		used += page->places[i].width + (i ? 2 : 0);
	return used;
}

/* The columns of one lane side by side, from place *i on; *i is moved behind them. */
static size_t lane_width(const struct page *page, size_t *i)
{
	const struct place *first = &page->places[*i];
	size_t width = 0;

	while (*i < page->n && page->places[*i].column->is_per_lane == first->column->is_per_lane &&
	       page->places[*i].lane == first->lane)
		width += page->places[(*i)++].width + 2;
	return width - 2;
}

/* The name of an event has room above its columns, up to this many characters. */
#define MAX_LANE_TITLE 14

static void widen_lanes(struct page *page)
{
	if (page->r->rows.n_lanes < 2 || page->lane != NO_INDEX)
		return;
	for (size_t i = 0; i < page->n;) {
		struct place *first = &page->places[i];
		size_t width = lane_width(page, &i), title = 0;

		if (first->column->is_per_lane)
			title = MIN(lane_title_width(page->r, first->lane), MAX_LANE_TITLE);
		if (title > width)
			first->width += title - width;
	}
}

/* Texts give way so that the table fits, the last one last; numbers never do. */
static void fit(struct page *page)
{
	struct place *last = &page->places[page->n - 1], *p;
	size_t room = page->style->width, used, want = last->width;

	if (!room)
		return;
	for (p = page->places; p < last; p++)
		if (!p->is_number)
			p->width = MIN(p->width, MAX_TEXT_WIDTH);
	if (last->is_number)
		return;
	last->width = MIN(want, MIN_LAST_WIDTH);
	while (used_width(page) > room && (p = widest_text(page)))
		p->width--;
	used = used_width(page) - last->width;
	last->width = room > used + MIN_TEXT_WIDTH ? MIN(want, room - used) : MIN_TEXT_WIDTH;
}

static enum text_style_id cell_style(const struct page *page, const struct place *place,
				     const struct row *row, double percent)
{
	bool is_last = place == &page->places[page->n - 1];

	if (row->kind == ROW_OTHER && !place->is_number)
		return STYLE_DIM;
	if (percent >= WARM_PERCENT && row->kind != ROW_OTHER)
		return percent >= HOT_PERCENT ? STYLE_HOT : STYLE_WARM;
	if (is_last && (row->kind == ROW_GROUP || row->role == ROLE_SELF))
		return STYLE_HEADING;
	if (!strcmp(place->column->key, "image") && !is_last)
		return STYLE_DIM;
	return STYLE_NONE;
}

static void pad(struct buf *line, size_t n)
{
	while (n-- > 0)
		buf_u8(line, ' ');
}

/* A cell in its column: numbers to the right, texts to the left, the last one not padded. */
static void text_put_cell(struct page *page, const struct place *place, const char *text,
			  enum text_style_id id)
{
	bool is_last = place == &page->places[page->n - 1];
	size_t width;

	page->clean.len = 0;
	name_append_short(&page->clean, text, page->style->width ? place->width : 0,
			  page->ellipsis);
	text = buf_cstr(&page->clean);
	width = name_width(text);
	if (place != page->places)
		pad(&page->line, 2);
	if (place->is_number)
		pad(&page->line, place->width - MIN(width, place->width));
	if (id != STYLE_NONE)
		buf_str(&page->line, style_code(page->style, id));
	buf_str(&page->line, text);
	if (id != STYLE_NONE)
		buf_str(&page->line, style_code(page->style, STYLE_NONE));
	if (!place->is_number && !is_last)
		pad(&page->line, place->width - MIN(width, place->width));
}

static void text_end_line(struct page *page)
{
	while (page->line.len && page->line.data[page->line.len - 1] == ' ')
		page->line.len--;
	buf_u8(&page->line, '\n');
	fwrite(page->line.data, 1, page->line.len, page->out);
	page->line.len = 0;
	if (page->style->rows)
		vec_push(page->style->rows, page->row);
}

/* The columns of one group of an axis, from place *i on. */
static size_t group_width(const struct page *page, size_t axis, size_t *i)
{
	const struct place *first = &page->places[*i];
	size_t width = lane_width(page, i);

	while (*i < page->n && first->column->is_per_lane && page->places[*i].column->is_per_lane &&
	       is_same_group(page->r, axis, first->lane, page->places[*i].lane))
		width += 2 + lane_width(page, i);
	return width;
}

/* With several events or classes, their names above their columns. */
static void text_print_lane_titles(struct page *page, size_t axis)
{
	char scratch[KEY_TEXT_SIZE];

	for (size_t i = 0; i < page->n;) {
		const struct place *first = &page->places[i];
		size_t width = group_width(page, axis, &i);

		if (first != page->places)
			pad(&page->line, 2);
		page->clean.len = 0;
		if (first->column->is_per_lane)
			name_append_short(&page->clean,
					  report_lane_text(page->r, first->lane, lane_axes[axis],
							   scratch),
					  width, page->ellipsis);
		pad(&page->line, width - name_width(buf_cstr(&page->clean)));
		buf_str(&page->line, buf_cstr(&page->clean));
	}
	text_end_line(page);
}

static void text_print_titles(struct page *page)
{
	for (size_t axis = 0; page->lane == NO_INDEX && axis < ARRAY_SIZE(lane_axes); axis++)
		if (is_axis_shown(page->r, lane_axes[axis]))
			text_print_lane_titles(page, axis);
	buf_str(&page->line, style_code(page->style, STYLE_HEADING));
	for (size_t i = 0; i < page->n; i++)
		text_put_cell(page, &page->places[i], place_title(page, &page->places[i]),
			      STYLE_NONE);
	buf_str(&page->line, style_code(page->style, STYLE_NONE));
	text_end_line(page);
}

static void text_print_row(struct page *page, uint32_t row)
{
	page->row = row;
	for (size_t i = 0; i < page->n; i++) {
		const struct place *place = &page->places[i];
		double percent;
		const char *text = make_cell(page, place, row, &percent);

		text_put_cell(page, place, text,
			      cell_style(page, place, &page->r->rows.list.data[row], percent));
	}
	text_end_line(page);
	page->row = NO_INDEX;
}

static void print_table(struct page *page)
{
	const struct report *r = page->r;

	page->n = 0;
	make_places(page);
	measure(page);
	widen_lanes(page);
	fit(page);
	text_print_titles(page);
	for (uint32_t row = 0; row < r->rows.list.n; row++) {
		if (r->view->layout == LAYOUT_BLOCKS && row &&
		    r->rows.list.data[row].block != r->rows.list.data[row - 1].block)
			text_end_line(page);
		if (is_row_of_page(page, row))
			text_print_row(page, row);
	}
	free(page->places);
	page->places = NULL;
}

static void print_tables(struct page *page)
{
	char scratch[KEY_TEXT_SIZE];
	bool is_first = true;

	for (uint32_t lane = 0; lane < page->r->rows.n_lanes; lane++) {
		if (!is_lane_shown(page->r, lane))
			continue;
		if (!is_first)
			text_end_line(page);
		buf_str(&page->line, report_lane_text(page->r, lane, PROFILE_EVENT, scratch));
		text_end_line(page);
		page->lane = lane;
		print_table(page);
		is_first = false;
	}
}

static void text_print_text(const struct report *r, const struct text_style *style, FILE *out)
{
	struct page page = {
		.r = r,
		.style = style,
		.out = out,
		.ellipsis = text_ellipsis(style),
		.lane = NO_INDEX,
		.row = NO_INDEX,
	};

	if (!style->is_table_only)
		header_print(r, style, out);
	make_name_title(&page);
	if (is_by_event(r))
		print_tables(&page);
	else
		print_table(&page);
	buf_fini(&page.cell);
	buf_fini(&page.line);
	buf_fini(&page.clean);
}

const struct report_format text_format = {
	.name = "text",
	.help = "a header and a table for people",
	.print = text_print_text,
};
