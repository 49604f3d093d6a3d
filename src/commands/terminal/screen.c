/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/terminal/screen.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/lazy_library.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "config.h"

static volatile sig_atomic_t stop_signal;

static void on_stop(int number)
{
	stop_signal = number;
}

/* Those of commands/opening.c would leave the terminal as it is. */
static void screen_catch_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction action = { .sa_handler = on_stop };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		sigaction(numbers[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

bool screen_is_stopped(void)
{
	return stop_signal != 0;
}

#if WITH_CURSES

#define NCURSES_NOMACROS
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <wchar.h>

#define FUNCTIONS(X)          \
	X(newterm)            \
	X(delscreen)          \
	X(endwin)             \
	X(newwin)             \
	X(delwin)             \
	X(cbreak)             \
	X(noecho)             \
	X(nonl)               \
	X(keypad)             \
	X(nodelay)            \
	X(wgetch)             \
	X(werase)             \
	X(wmove)              \
	X(waddnstr)           \
	X(wattrset)           \
	X(wrefresh)           \
	X(getmaxx)            \
	X(getmaxy)            \
	X(curs_set)           \
	X(COLOR_PAIR)         \
	X(has_colors)         \
	X(start_color)        \
	X(use_default_colors) \
	X(init_pair)          \
	X(set_escdelay)       \
	X(mousemask)          \
	X(mouseinterval)      \
	X(getmouse)

static struct {
	FUNCTIONS(LAZY_POINTER)
} nc;

#define ROW(function) { #function, &nc.function },
static const struct lazy_function functions[] = { FUNCTIONS(ROW) };

enum { PAIR_HOT = 1, PAIR_WARM };

struct screen {
	SCREEN *terminal;
	WINDOW *window;
	bool has_colour, is_utf8;
	uint32_t mouse_row, mouse_column; /* of the last KEY_IS_CLICK */
};

/* An escape sequence comes at once; the key Escape is one byte, and shall not wait long. */
#define ESCAPE_MS 50

static void begin_colours(struct screen *s)
{
	if (getenv("NO_COLOR") && *getenv("NO_COLOR"))
		return;
	s->has_colour = nc.has_colors() && nc.start_color() == OK;
	if (!s->has_colour)
		return;
	nc.use_default_colors();
	nc.init_pair(PAIR_HOT, COLOR_RED, -1);
	nc.init_pair(PAIR_WARM, COLOR_YELLOW, -1);
}

int screen_check(struct error *err)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return error_set(err, -ENOTTY,
				 "standard %s is not a terminal; 'assay record' and 'assay "
				 "report' do without one",
				 isatty(STDIN_FILENO) ? "output" : "input");
	if (lazy_library_load(NCURSES_SONAMES, functions, ARRAY_SIZE(functions), err) < 0)
		return error_wrap(err, err->code, "a view in the terminal needs ncurses");
	return 0;
}

int screen_open(struct screen **out, struct error *err)
{
	const char *term = getenv("TERM");
	struct screen *s;

	setlocale(LC_CTYPE, "");
	s = xcalloc(1, sizeof(*s));
	s->is_utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	s->terminal = term && *term ? nc.newterm(NULL, stdout, stdin) : NULL;
	s->window = s->terminal ? nc.newwin(0, 0, 0, 0) : NULL;
	if (!s->window) {
		screen_close(s);
		return error_set(err, -ENOTTY,
				 "the terminal '%s' (TERM) is unknown; try TERM=xterm",
				 term ? term : "");
	}
	nc.cbreak();
	nc.noecho();
	nc.nonl();
	nc.curs_set(0);
	nc.keypad(s->window, TRUE);
	nc.nodelay(s->window, TRUE);
	nc.set_escdelay(ESCAPE_MS);
	begin_colours(s);
	screen_catch_signals();
	*out = s;
	return 0;
}

void screen_close(struct screen *s)
{
	if (!s)
		return;
	if (s->window)
		nc.delwin(s->window);
	if (s->terminal) {
		nc.endwin();
		nc.delscreen(s->terminal);
	}
	free(s);
}

void screen_use_mouse(struct screen *s)
{
	(void)s;
	/* ncurses waits on if an event comes that is not wanted: all are, and most do nothing */
	nc.mousemask(ALL_MOUSE_EVENTS, NULL);
	/* A press counts at once. With 0, ncurses 6.6 loses clicks. */
	nc.mouseinterval(1);
}

void screen_mouse(const struct screen *s, uint32_t *row, uint32_t *column)
{
	*row = s->mouse_row;
	*column = s->mouse_column;
}

void screen_size(struct screen *s, uint32_t *rows, uint32_t *columns)
{
	*rows = (uint32_t)MAX(nc.getmaxy(s->window), 1);
	*columns = (uint32_t)MAX(nc.getmaxx(s->window), 1);
}

static const struct {
	int curses, ours;
} keys[] = {
	{ ERR, KEY_IS_NONE },
	{ KEY_UP, KEY_IS_UP },
	{ KEY_DOWN, KEY_IS_DOWN },
	{ KEY_PPAGE, KEY_IS_PAGE_UP },
	{ KEY_NPAGE, KEY_IS_PAGE_DOWN },
	{ KEY_HOME, KEY_IS_HOME },
	{ KEY_END, KEY_IS_END },
	{ KEY_LEFT, KEY_IS_LEFT },
	{ KEY_RIGHT, KEY_IS_RIGHT },
	{ KEY_F(1), KEY_IS_F1 },
	{ KEY_RESIZE, KEY_IS_RESIZE },
	{ KEY_BACKSPACE, '\b' },
	{ 127, '\b' },
	{ KEY_ENTER, '\n' },
	{ '\r', '\n' },
};

static int mouse_key(struct screen *s)
{
	MEVENT event;

	if (nc.getmouse(&event) != OK)
		return KEY_IS_OTHER;
	s->mouse_row = (uint32_t)MAX(event.y, 0);
	s->mouse_column = (uint32_t)MAX(event.x, 0);
	if (event.bstate & BUTTON4_PRESSED)
		return KEY_IS_WHEEL_UP;
	if (event.bstate & BUTTON5_PRESSED)
		return KEY_IS_WHEEL_DOWN;
	return event.bstate & (BUTTON1_PRESSED | BUTTON1_CLICKED) ? KEY_IS_CLICK : KEY_IS_OTHER;
}

int screen_key(struct screen *s)
{
	int key = nc.wgetch(s->window);

	if (key == KEY_MOUSE)
		return mouse_key(s);

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].curses == key)
			return keys[i].ours;
	return key > 255 ? KEY_IS_OTHER : key;
}

void screen_begin(struct screen *s)
{
	nc.werase(s->window);
}

/* The escapes of style.h: "\033[1m" and so on. */
static int attribute_of(const struct screen *s, int code)
{
	switch (code) {
	case 1:
		return A_BOLD;
	case 2:
		return A_DIM;
	case 31:
		return s->has_colour ? nc.COLOR_PAIR(PAIR_HOT) : (int)A_BOLD;
	case 33:
		return s->has_colour ? nc.COLOR_PAIR(PAIR_WARM) : (int)A_NORMAL;
	}
	return A_NORMAL;
}

/* How many bytes fit in the columns, and how many columns they take. */
static size_t fitting(const char *text, uint32_t columns, uint32_t *used)
{
	mbstate_t state = { 0 };
	size_t at = 0;

	*used = 0;
	while (text[at] && text[at] != '\033') {
		wchar_t c;
		size_t n = mbrtowc(&c, text + at, strlen(text + at), &state);
		bool is_bad = n == (size_t)-1 || n == (size_t)-2;
		int width = is_bad ? 1 : wcwidth(c);

		if (is_bad) {
			n = 1;
			memset(&state, 0, sizeof(state));
		}
		width = MAX(width, 0);
		if (*used + (uint32_t)width > columns)
			break;
		*used += (uint32_t)width;
		at += n;
	}
	return at;
}

/* In a locale of one byte a character, bytes of UTF-8 may be controls (C1) of the terminal. */
static void put_ascii(struct buf *out, const char *text)
{
	while (*text) {
		size_t n = utf8_len(text);

		buf_u8(out, *text & 0x80 ? '?' : (uint8_t)*text);
		text += MAX(n, (size_t)1);
	}
}

static void put_text(struct screen *s, uint32_t row, const char *text, bool is_reversed)
{
	int base = is_reversed ? A_REVERSE : A_NORMAL;
	uint32_t rows, columns, used;

	screen_size(s, &rows, &columns);
	if (row >= rows || nc.wmove(s->window, (int)row, 0) == ERR)
		return;
	nc.wattrset(s->window, base);
	while (*text && columns) {
		size_t n = fitting(text, columns, &used);

		nc.waddnstr(s->window, text, (int)n);
		columns -= used;
		text += n;
		if (*text != '\033')
			break;
		nc.wattrset(s->window, base | attribute_of(s, atoi(text + 2)));
		text += strcspn(text, "m");
		text += *text == 'm';
	}
	while (is_reversed && columns--)
		nc.waddnstr(s->window, " ", 1);
	nc.wattrset(s->window, A_NORMAL);
}

void screen_put(struct screen *s, uint32_t row, const char *text, bool is_reversed)
{
	struct buf ascii = { 0 };

	if (!s->is_utf8)
		put_ascii(&ascii, text);
	put_text(s, row, s->is_utf8 ? text : buf_cstr(&ascii), is_reversed);
	buf_fini(&ascii);
}

void screen_end(struct screen *s)
{
	nc.wrefresh(s->window);
}

#else

int screen_check(struct error *err)
{
	return error_set(err, -ENOTSUP, "this assay was built without ncurses (libncurses-dev)");
}

int screen_open(struct screen **out, struct error *err)
{
	(void)out;
	return screen_check(err);
}

void screen_close(struct screen *s)
{
	(void)s;
}

void screen_use_mouse(struct screen *s)
{
	(void)s;
}

void screen_mouse(const struct screen *s, uint32_t *row, uint32_t *column)
{
	(void)s;
	*row = *column = 0;
}

void screen_size(struct screen *s, uint32_t *rows, uint32_t *columns)
{
	(void)s;
	*rows = *columns = 1;
}

int screen_key(struct screen *s)
{
	(void)s;
	return KEY_IS_NONE;
}

void screen_begin(struct screen *s)
{
	(void)s;
}

void screen_put(struct screen *s, uint32_t row, const char *text, bool is_reversed)
{
	(void)s;
	(void)row;
	(void)text;
	(void)is_reversed;
}

void screen_end(struct screen *s)
{
	(void)s;
}

#endif
