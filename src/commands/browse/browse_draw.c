/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "cli/output.h"
#include "commands/browse/browse.h"
#include "commands/terminal/screen.h"
#include "store/session.h"

#define HEAD_ROWS 3

struct text_style browse_style(const struct browse *b)
{
	return (struct text_style){ .width = b->columns,
				    .with_colour = true,
				    .is_ascii = !output_is_utf8() };
}

static void put_title(struct browse *b, const struct browse_page *page, struct buf *out)
{
	char scratch[KEY_TEXT_SIZE];

	buf_str(out, "\033[1massay browse\033[0m  ");
	switch (page->kind) {
	case PAGE_VIEW:
		buf_str(out, live_views[page->view].key);
		break;
	case PAGE_LIST:
		buf_str(out, browse_lists[page->list].title);
		break;
	case PAGE_FUNCTION:
		utf8_append_visible(out, profile_key_text(b->profile, PROFILE_SYMBOL,
							  page->function, scratch));
		break;
	case PAGE_COMPARE:
		buf_str(out, "compared with ");
		utf8_append_visible(out, page->path);
		break;
	case PAGE_FACTS:
		buf_str(out, "facts");
		break;
	case PAGE_KEYS:
		buf_str(out, "keys");
		break;
	}
	buf_str(out, "  ");
	utf8_append_visible(out, b->session->path);
}

static void put_counts(struct browse *b, struct buf *out)
{
	const struct profile *p = b->profile;
	uint64_t lost = losses_of_kind(p->losses, LOSS_LOST);

	buf_printf(out, "%" PRIu64 " samples", p->n_selected);
	if (p->n_selected != p->n_stored)
		buf_printf(out, " of %" PRIu64, p->n_stored);
	if (lost)
		buf_printf(out, ", %" PRIu64 " lost", lost);
	if (b->is_damaged)
		buf_str(out, ", damaged");
	if (*browse_filter(b)) {
		buf_str(out, "  only ");
		utf8_append_visible(out, browse_filter(b));
	}
}

static void put_prompt(struct browse *b, struct buf *out)
{
	static const char *const titles[] = {
		[ASKS_SEARCH] = "search",
		[ASKS_FILTER] = "only (pid:12 comm:gcc image:libc time:1s-2s \u2026)",
		[ASKS_COMPARE] = "compare with the session",
		[ASKS_SESSION] = "show the session",
		[ASKS_PERCENT] = "least percent of a row",
	};

	if (b->question != ASKS_NOTHING) {
		prompt_put(&b->prompt, titles[b->question], out);
	} else if (*b->message.text) {
		utf8_append_visible(out, b->message.text);
	} else {
		buf_str(out, "\033[2mq quit  P S T I views  Enter a function  / search  ? keys");
	}
}

/* "+ " and "- ": rows below it are not shown, or are. */
static const char *mark_of(const struct browse_page *page, uint32_t line)
{
	if (page->kind != PAGE_VIEW)
		return "";
	if ((page->view != LIVE_TREE && page->view != LIVE_INVERTED) ||
	    !browse_has_below(page, line))
		return "  ";
	return page->is_open.data[line] ? "- " : "+ ";
}

static void draw_line(struct browse *b, const struct browse_page *page, uint32_t row, uint32_t at)
{
	uint32_t line = page->visible.data[at];
	struct buf text = { 0 };

	buf_str(&text, mark_of(page, line));
	buf_str(&text, page->text.lines.data[line].text);
	screen_put(b->screen, browse_head_rows(b) + row, buf_cstr(&text),
		   at && at == page->lines.cursor);
	buf_fini(&text);
}

/* Without titles, the first of the lines takes their row. */
uint32_t browse_head_rows(const struct browse *b)
{
	return HEAD_ROWS - b->without_titles;
}

void browse_settle(struct browse *b)
{
	struct browse_page *page;

	screen_size(b->screen, &b->rows, &b->columns);
	browse_make_page(b);
	page = browse_page(b);
	lines_view_settle(&page->lines, (uint32_t)page->visible.n,
			  b->rows - MIN(b->rows, browse_head_rows(b)));
}

void browse_draw(struct browse *b)
{
	void (*const heads[])(struct browse *, struct buf *) = { put_counts, put_prompt };
	struct browse_page *page;
	struct buf head = { 0 };

	browse_settle(b);
	page = browse_page(b);
	screen_begin(b->screen);
	put_title(b, page, &head);
	screen_put(b->screen, 0, buf_cstr(&head), false);
	for (uint32_t i = 0; i < ARRAY_SIZE(heads); i++) {
		head.len = 0;
		heads[i](b, &head);
		screen_put(b->screen, i + 1, buf_cstr(&head), false);
	}
	if (page->visible.n && page->lines.room && !b->without_titles)
		draw_line(b, page, 0, 0);
	for (uint32_t i = 1, at; (at = lines_view_line_at(&page->lines, i)); i++)
		draw_line(b, page, i, at);
	screen_end(b->screen);
	buf_fini(&head);
}
