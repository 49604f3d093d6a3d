/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "commands/browse/browse.h"
#include "report/header.h"
#include "store/session.h"

/* Before the lines of a view: whether the row is open, or a mark of the cursor's column. */
#define MARK_WIDTH 2

struct browse_page *browse_page(struct browse *b)
{
	assert(b->pages.n > 0);
	return &b->pages.data[b->pages.n - 1];
}

static void forget_text(struct browse_page *page)
{
	live_text_fini(&page->text);
	page->text = (struct live_text){ 0 };
	page->visible.n = 0;
	page->width = 0;
}

static void page_fini(struct browse_page *page)
{
	forget_text(page);
	vec_fini(&page->is_open);
	vec_fini(&page->visible);
	free(page->path);
}

struct browse_page *browse_open_page(struct browse *b, enum page_kind kind)
{
	vec_push(&b->pages, ((struct browse_page){ .kind = kind }));
	return browse_page(b);
}

void browse_close_page(struct browse *b)
{
	if (b->pages.n > 1)
		page_fini(&b->pages.data[--b->pages.n]);
}

void browse_close_pages(struct browse *b)
{
	vec_foreach (&b->pages, page)
		page_fini(page);
	vec_fini(&b->pages);
}

/* ---- trees ---- */

bool browse_has_below(const struct browse_page *page, uint32_t line)
{
	const struct live_text *t = &page->text;

	return line + 1 < t->lines.n && t->lines.data[line].is_row &&
	       t->lines.data[line + 1].is_row &&
	       t->lines.data[line + 1].depth > t->lines.data[line].depth;
}

static bool is_tree(const struct browse_page *page)
{
	return page->kind == PAGE_VIEW && (page->view == LIVE_TREE || page->view == LIVE_INVERTED);
}

void browse_find_visible(struct browse_page *page)
{
	const struct live_text *t = &page->text;
	uint32_t closed = UINT32_MAX; /* rows deeper than this are not shown */

	page->visible.n = 0;
	for (uint32_t i = 0; i < t->lines.n; i++) {
		const struct live_line *line = &t->lines.data[i];

		if (line->is_row && line->depth > closed)
			continue;
		closed = is_tree(page) && line->is_row && !page->is_open.data[i] ? line->depth
										 : UINT32_MAX;
		vec_push(&page->visible, i);
	}
}

void browse_set_open(struct browse_page *page, uint32_t line, bool is_open, bool with_below)
{
	const struct live_text *t = &page->text;
	uint32_t depth = t->lines.data[line].depth;

	page->is_open.data[line] = is_open;
	for (uint32_t i = line + 1; with_below && i < t->lines.n && t->lines.data[i].is_row &&
				    t->lines.data[i].depth > depth;
	     i++)
		page->is_open.data[i] = is_open;
}

/* At first, the heaviest path is open. */
static void open_first_path(struct browse_page *page)
{
	uint32_t line = 0;

	while (line < page->text.lines.n && !page->text.lines.data[line].is_row)
		line++;
	for (; browse_has_below(page, line); line++)
		page->is_open.data[line] = true;
}

/* ---- texts ---- */

static struct live_request view_request(const struct browse *b, const struct browse_page *page,
					struct query *query)
{
	struct live_request request = {
		.session = b->session,
		.symbols = b->symbols,
		.query = query,
		.view = page->view,
		.style = browse_style(b),
		.min_percent = b->least_percent,
		.is_unwanted = &b->is_unwanted,
	};

	request.style.width -= MIN(request.style.width, (uint32_t)MARK_WIDTH);
	return request;
}

static void make_view(struct browse *b, struct browse_page *page)
{
	struct live_request request = view_request(b, page, &b->query);
	struct report_options options = b->options;

	if (page->view == LIVE_PROCESSES) {
		bool with_idle = b->query.with_idle;

		request.seconds =
			MAX((double)(b->profile->last_ns - b->profile->first_ns) / 1e9, 1e-3);
		live_make(&request, &page->text);
		b->query.with_idle = with_idle;
		return;
	}
	options.min_percent = b->least_percent;
	options.columns = live_columns(page->view, request.style.width);
	live_add_report(&request, live_report_of(page->view), &options, b->profile, &page->text);
}

static void make_facts(struct browse *b, struct browse_page *page)
{
	cleanup(report_free_at_exit) struct report *report =
		report_new(&tree_view, &b->options, &b->query, b->profile);
	const struct text_style style = browse_style(b);
	cleanup(free_at_exit) char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	header_print(report, &style, out);
	fclose(out);
	live_add_text(&page->text, text);
}

static void make_keys(struct browse_page *page)
{
	size_t n;
	const char *const *lines = browse_key_lines(&n);

	live_add_text(&page->text, "keys\n");
	for (size_t i = 0; i < n; i++)
		live_add_text(&page->text, lines[i]);
}

/* There can be several lines of titles. */
static void choose_first_row(struct browse_page *page)
{
	for (uint32_t i = 1; i < page->visible.n && !page->lines.cursor; i++)
		if (page->text.lines.data[page->visible.data[i]].is_row)
			page->lines.cursor = i;
}

static void make_text(struct browse *b, struct browse_page *page)
{
	struct error err = { 0 };

	switch (page->kind) {
	case PAGE_VIEW:
		make_view(b, page);
		break;
	case PAGE_LIST:
		browse_make_list(b, page);
		break;
	case PAGE_FUNCTION:
		browse_make_function(b, page);
		break;
	case PAGE_COMPARE:
		if (browse_make_compare(b, page, &err) < 0)
			b->message = err;
		break;
	case PAGE_FACTS:
		make_facts(b, page);
		break;
	case PAGE_KEYS:
		make_keys(page);
		break;
	}
}

static void make_or_stop(struct browse *b, struct browse_page *page)
{
	browse_wait_begin(b, "making this page");
	make_text(b, page);
	if (browse_wait_end(b))
		return;
	browse_drop_places(b);
	forget_text(page);
	page->width = b->columns;
	live_add_text(
		&page->text,
		"stopped\nThis page was stopped. Another key of a view or a list makes it anew.");
}

void browse_make_page(struct browse *b)
{
	struct browse_page *page = browse_page(b);
	bool is_first = !page->is_open.n;

	if (page->width == b->columns)
		return;
	forget_text(page);
	page->width = b->columns;
	make_or_stop(b, page);
	while (page->is_open.n < page->text.lines.n)
		vec_push(&page->is_open, false);
	if (is_first && is_tree(page))
		open_first_path(page);
	browse_find_visible(page);
	if (is_first)
		choose_first_row(page);
}

const struct live_line *browse_line(struct browse *b)
{
	const struct browse_page *page = browse_page(b);

	if (!page->lines.cursor || page->lines.cursor >= page->visible.n)
		return NULL;
	return &page->text.lines.data[page->visible.data[page->lines.cursor]];
}

/* ---- search ---- */

/* Opens the rows that the line is below. */
static void show_line(struct browse_page *page, uint32_t line)
{
	const struct live_text *t = &page->text;
	uint32_t depth = t->lines.data[line].depth;

	for (uint32_t i = line; i-- > 0 && depth > 0 && t->lines.data[i].is_row;)
		if (t->lines.data[i].depth < depth) {
			page->is_open.data[i] = true;
			depth = t->lines.data[i].depth;
		}
	browse_find_visible(page);
	for (uint32_t i = 0; i < page->visible.n; i++)
		if (page->visible.data[i] == line)
			page->lines.cursor = i;
}

/* Names in a line may be shortened. */
static bool line_has(const struct browse *b, const struct live_line *line, const char *text)
{
	char scratch[KEY_TEXT_SIZE];

	return strcasestr(line->text, text) ||
	       (line->function != NO_INDEX &&
		strcasestr(profile_key_text(b->profile, PROFILE_SYMBOL, line->function, scratch),
			   text));
}

bool browse_search(struct browse *b, const char *text, int step)
{
	struct browse_page *page = browse_page(b);
	uint32_t n = (uint32_t)page->text.lines.n,
		 at = page->lines.cursor < page->visible.n ? page->visible.data[page->lines.cursor]
							   : 0;

	for (uint32_t k = 1; k <= n; k++) {
		uint32_t line = (at + (step > 0 ? k : n - k)) % n;

		if (line && line_has(b, &page->text.lines.data[line], text)) {
			show_line(page, line);
			return true;
		}
	}
	return false;
}
