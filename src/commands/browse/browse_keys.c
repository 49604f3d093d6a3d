/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/browse/browse.h"
#include "commands/terminal/screen.h"

#define ESCAPE 27

static void say(struct browse *b, const char *text)
{
	error_set(&b->message, 0, "%s", text);
}

/* ---- pages ---- */

/* All pages are of the profile before. */
static void begin_anew(struct browse *b, enum live_view view)
{
	browse_close_pages(b);
	browse_open_page(b, PAGE_VIEW)->view = view;
}

static enum live_view base_view(const struct browse *b)
{
	return b->pages.data[0].view;
}

static void show_view(struct browse *b, enum live_view view)
{
	begin_anew(b, view);
}

static void leave_page(struct browse *b)
{
	if (b->pages.n > 1) {
		browse_close_page(b);
		return;
	}
	say(b, "q leaves");
}

/* ---- filters ---- */

static bool take_filter(struct browse *b, const char *filter, enum live_view view)
{
	struct error err = { 0 };

	if (browse_load(b, filter, &err) < 0) {
		say(b, err.text);
		return false;
	}
	begin_anew(b, view);
	return true;
}

static void narrow_to(struct browse *b, const char *filter, enum live_view view)
{
	if (take_filter(b, filter, view))
		vec_push(&b->filters, xstrdup(filter));
}

/* The words in force, with this one in place of those with its tag. */
static void narrow_more(struct browse *b, const char *word, enum live_view view)
{
	struct buf all = { 0 };

	prompt_put_words(browse_filter(b), word, &all);
	narrow_to(b, buf_cstr(&all), view);
	buf_fini(&all);
}

/* Back to the first `n` narrowings. They stay as they are if the samples are not read. */
static void widen_to(struct browse *b, size_t n)
{
	if (!take_filter(b, n ? b->filters.data[n - 1] : "", base_view(b)))
		return;
	while (b->filters.n > n)
		free(b->filters.data[--b->filters.n]);
}

static void widen(struct browse *b)
{
	if (b->filters.n)
		widen_to(b, b->filters.n - 1);
	else
		say(b, "nothing is narrowed");
}

static void widen_all(struct browse *b)
{
	widen_to(b, 0);
}

static void narrow_to_image(struct browse *b)
{
	const struct live_line *line = browse_line(b);
	struct buf word = { 0 };

	if (!line || line->image == NO_INDEX) {
		say(b, "this row is of no image");
		return;
	}
	live_put_image_filter(b->profile, line->image, &word);
	narrow_more(b, buf_cstr(&word), base_view(b));
	buf_fini(&word);
}

/* ---- rows ---- */

/* The row of a list. */
static void narrow_to_row(struct browse *b)
{
	const struct live_line *line = browse_line(b);
	cleanup(free_at_exit) char *word = line && line->filter ? xstrdup(line->filter) : NULL;

	if (word)
		narrow_more(b, word, base_view(b) == LIVE_PROCESSES ? LIVE_SYMBOLS : base_view(b));
	else
		say(b, "this row stands for several");
}

static void open_function(struct browse *b)
{
	const struct live_line *line = browse_line(b);
	const struct browse_page *page = browse_page(b);
	uint32_t function = line ? line->function : NO_INDEX;
	char word[32];

	if (page->kind == PAGE_LIST) {
		narrow_to_row(b);
	} else if (line && line->pid >= 0) {
		snprintf(word, sizeof(word), "pid:%d", (int)line->pid);
		narrow_more(b, word, LIVE_SYMBOLS);
	} else if (function == NO_INDEX) {
		say(b, "this row is no function");
	} else {
		browse_open_page(b, PAGE_FUNCTION)->function = function;
	}
}

static void set_row(struct browse *b, bool is_open, bool with_below)
{
	struct browse_page *page = browse_page(b);

	if (!browse_line(b))
		return;
	browse_set_open(page, page->visible.data[page->lines.cursor], is_open, with_below);
	browse_find_visible(page);
}

static bool is_open_row(struct browse *b)
{
	const struct browse_page *page = browse_page(b);
	uint32_t line = browse_line(b) ? page->visible.data[page->lines.cursor] : 0;

	return line && page->is_open.data[line] && browse_has_below(page, line);
}

/* Closes the row; a closed row gives way to the one that it is below. */
static void close_row(struct browse *b)
{
	struct browse_page *page = browse_page(b);
	const struct live_line *line = browse_line(b), *above;

	if (!line || is_open_row(b)) {
		set_row(b, false, false);
		return;
	}
	for (uint32_t i = page->lines.cursor; i-- > 1;) {
		above = &page->text.lines.data[page->visible.data[i]];
		if (above->is_row && above->depth < line->depth) {
			page->lines.cursor = i;
			return;
		}
	}
}

static void set_all(struct browse *b, bool is_open)
{
	struct browse_page *page = browse_page(b);

	vec_foreach (&page->is_open, open)
		*open = is_open;
	page->lines.cursor = 1;
	browse_find_visible(page);
}

static void search_on(struct browse *b, int step)
{
	if (!*b->searched)
		say(b, "/ searches");
	else if (!browse_search(b, b->searched, step))
		say(b, "nothing found");
}

/* ---- typed lines ---- */

static void ask(struct browse *b, enum browse_question question, const char *text)
{
	b->question = question;
	prompt_begin(&b->prompt, text);
}

static void set_percent(struct browse *b, const char *text)
{
	char *end;
	double percent = strtod(text, &end);

	if (end == text || *end || !(percent >= 0 && percent <= 100)) {
		say(b, "a percentage is a number from 0 to 100");
		return;
	}
	b->least_percent = percent;
	show_view(b, base_view(b));
}

static void choose_session(struct browse *b, const char *path)
{
	enum live_view view = base_view(b);
	struct error err = { 0 };

	if (browse_choose_session(b, path, &err) < 0)
		say(b, err.text);
	else
		begin_anew(b, view);
}

static void answer(struct browse *b, enum browse_question question)
{
	struct browse_page *page;

	if (question == ASKS_SEARCH) {
		snprintf(b->searched, sizeof(b->searched), "%s", b->prompt.text);
		search_on(b, 1);
	} else if (question == ASKS_FILTER) {
		narrow_to(b, b->prompt.text, base_view(b));
	} else if (question == ASKS_PERCENT) {
		set_percent(b, b->prompt.text);
	} else if (question == ASKS_SESSION && *b->prompt.text) {
		choose_session(b, b->prompt.text);
	} else if (*b->prompt.text) {
		page = browse_open_page(b, PAGE_COMPARE);
		page->path = xstrdup(b->prompt.text);
		browse_make_page(b);
		if (!page->text.lines.n)
			browse_close_page(b);
	}
}

static void type_key(struct browse *b, int key)
{
	enum browse_question question = b->question;
	enum prompt_state state = prompt_take(&b->prompt, key);

	if (state == PROMPT_GOES_ON)
		return;
	b->question = ASKS_NOTHING;
	if (state == PROMPT_IS_DONE)
		answer(b, question);
}

/* ---- the table of keys ---- */

static void quit(struct browse *b)
{
	b->is_over = true;
}
static void next_view(struct browse *b)
{
	show_view(b, (base_view(b) + 1) % LIVE_FIRST_LIST);
}
static void open_row(struct browse *b)
{
	set_row(b, true, false);
}
static void toggle_row(struct browse *b)
{
	set_row(b, !is_open_row(b), false);
}
static void toggle_below(struct browse *b)
{
	set_row(b, !is_open_row(b), true);
}
static void open_all(struct browse *b)
{
	set_all(b, true);
}
static void close_all(struct browse *b)
{
	set_all(b, false);
}
static void ask_search(struct browse *b)
{
	ask(b, ASKS_SEARCH, "");
}
static void ask_filter(struct browse *b)
{
	ask(b, ASKS_FILTER, browse_filter(b));
}
static void ask_compare(struct browse *b)
{
	ask(b, ASKS_COMPARE, "");
}
static void ask_percent(struct browse *b)
{
	char text[32];

	snprintf(text, sizeof(text), "%g", b->least_percent);
	ask(b, ASKS_PERCENT, text);
}
static void source_or_session(struct browse *b)
{
	if (browse_page(b)->kind != PAGE_FUNCTION) {
		ask(b, ASKS_SESSION, "");
		return;
	}
	b->without_source = !b->without_source;
	browse_page(b)->width = 0;
}
static void search_next(struct browse *b)
{
	search_on(b, 1);
}
static void search_before(struct browse *b)
{
	search_on(b, -1);
}
static void narrow_to_kernel(struct browse *b)
{
	narrow_more(b, "lib-image:kernel", base_view(b));
}
static void show_facts(struct browse *b)
{
	browse_open_page(b, PAGE_FACTS);
}

static void show_list(struct browse *b, enum browse_list_id list)
{
	while (b->pages.n > 1)
		browse_close_page(b);
	browse_open_page(b, PAGE_LIST)->list = list;
}
static void list_threads(struct browse *b)
{
	show_list(b, LIST_THREADS);
}
static void list_images(struct browse *b)
{
	show_list(b, LIST_IMAGES);
}
static void list_events(struct browse *b)
{
	show_list(b, LIST_EVENTS);
}
static void list_times(struct browse *b)
{
	show_list(b, LIST_TIMES);
}

static void narrow_to_thread(struct browse *b)
{
	const struct browse_page *page = browse_page(b);

	if (page->kind == PAGE_LIST && page->list == LIST_THREADS)
		narrow_to_row(b);
	else
		list_threads(b);
}

/*
 * The percentage in the margin of a line of source or assembly: samples come first, and then their
 * percentage. 0: none. The margin has no letters, as code has ("nan", "inf" and "0x10" are numbers,
 * too).
 */
static double heat_of(const char *line)
{
	double heat = 0;

	for (const char *at = line; *at; at++) {
		char number[24];
		size_t n;

		if (*at == '\033') {
			at += strcspn(at, "m");
			if (!*at)
				break;
			continue;
		}
		if (*at == ' ')
			continue;
		n = strspn(at, "0123456789.");
		if (!n || n >= sizeof(number))
			break;
		memcpy(number, at, n);
		number[n] = '\0';
		heat = strtod(number, NULL);
		at += n - 1;
	}
	return heat;
}

static void go_to_hottest(struct browse *b)
{
	struct browse_page *page = browse_page(b);
	double most = 0;

	for (uint32_t i = page->code + 1; i < page->visible.n; i++) {
		double heat = heat_of(page->text.lines.data[page->visible.data[i]].text);

		if (heat <= most)
			continue;
		most = heat;
		page->lines.cursor = i;
	}
	if (most <= 0)
		say(b, "no line has samples");
}

static void hottest_or_titles(struct browse *b)
{
	if (browse_page(b)->kind == PAGE_FUNCTION)
		go_to_hottest(b);
	else
		b->without_titles = !b->without_titles;
}

static void show_keys(struct browse *b)
{
	if (browse_page(b)->kind == PAGE_KEYS)
		browse_close_page(b);
	else
		browse_open_page(b, PAGE_KEYS);
}

static const struct {
	int keys[3];
	void (*act)(struct browse *b);
} commands[] = {
	{ { 'q', 'Q', 3 }, quit },
	{ { ESCAPE, '\b' }, leave_page },
	{ { '\t' }, next_view },
	{ { '\n', 'a' }, open_function },
	{ { KEY_IS_RIGHT }, open_row },
	{ { KEY_IS_LEFT }, close_row },
	{ { '+' }, toggle_row },
	{ { 'e' }, toggle_below },
	{ { 'E' }, open_all },
	{ { 'C' }, close_all },
	{ { '/' }, ask_search },
	{ { 'n' }, search_next },
	{ { 'N' }, search_before },
	{ { 'f' }, ask_filter },
	{ { 'm' }, narrow_to_image },
	{ { 'k' }, narrow_to_kernel },
	{ { 'u' }, widen },
	{ { 'c' }, widen_all },
	{ { 'd' }, ask_compare },
	{ { 's' }, source_or_session },
	{ { 'L' }, ask_percent },
	{ { 'H' }, hottest_or_titles },
	{ { 't' }, narrow_to_thread },
	{ { 'i' }, show_facts },
	{ { 'R' }, list_threads },
	{ { 'M' }, list_images },
	{ { 'V' }, list_events },
	{ { 'W' }, list_times },
	{ { '?', 'h', KEY_IS_F1 }, show_keys },
};

static const char *const key_lines[] = {
	"P S T I     processes, functions, the call tree, the inverted tree; Tab the next",
	"R M V W     threads, images, events, steps of time; Enter: only that one",
	"up, down    choose a line; Page Up, Page Down or space, Home, End; the wheel",
	"Enter, a    a function: its callers, callees, source and assembly",
	"            a process: only that one, by its functions",
	"Esc         back",
	"right, left open and close a row of a tree; + turns over",
	"e           opens or closes a row and all below it",
	"E C         open or close all rows",
	"/           search; n the next, N the one before",
	"f           only this: pid:12 tid:13 comm:gcc image:libc time:1s-2s ...",
	"m t k       only the image of the row, its thread, the kernel",
	"u c         undo the last filter, or all",
	"d s         compare with another session, or show it",
	"L H         the least percent of a row; titles on and off",
	"s H         in a function: source on and off; the hottest line",
	"i           facts of the session",
	"q           leave",
};

const char *const *browse_key_lines(size_t *n)
{
	*n = ARRAY_SIZE(key_lines);
	return key_lines;
}

bool browse_key_asks(const struct browse *b, int key)
{
	if (key == 's')
		return b->pages.n && b->pages.data[b->pages.n - 1].kind != PAGE_FUNCTION;
	return key == '/' || key == 'f' || key == 'd' || key == 'L';
}

static bool run_command(struct browse *b, int key)
{
	for (int v = 0; v < LIVE_FIRST_LIST; v++)
		if (key == live_views[v].letter) {
			show_view(b, v);
			return true;
		}
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		for (size_t k = 0; k < ARRAY_SIZE(commands[i].keys); k++)
			if (commands[i].keys[k] && commands[i].keys[k] == key) {
				commands[i].act(b);
				return true;
			}
	return false;
}

/* A click chooses a line; on the chosen one it is Enter, and on the mark of a row it opens. */
static void click(struct browse *b)
{
	struct browse_page *page = browse_page(b);
	uint32_t row, column, line;
	bool was_chosen;

	screen_mouse(b->screen, &row, &column);
	line = row > 2 ? lines_view_line_at(&page->lines, row - browse_head_rows(b)) : 0;
	if (!line)
		return;
	was_chosen = page->lines.cursor == line;
	page->lines.cursor = line;
	if (column < 2 && browse_has_below(page, page->visible.data[line]))
		toggle_row(b);
	else if (was_chosen)
		open_function(b);
}

void browse_take_key(struct browse *b, int key)
{
	if (key == KEY_IS_RESIZE)
		return;
	browse_settle(b); /* several keys may come between two pictures */
	if (b->question != ASKS_NOTHING) {
		type_key(b, key);
		return;
	}
	if (lines_view_move(&browse_page(b)->lines, key == ' ' ? KEY_IS_PAGE_DOWN : key))
		return;
	b->message.text[0] = '\0';
	if (key == KEY_IS_CLICK)
		click(b);
	else
		run_command(b, key);
}
