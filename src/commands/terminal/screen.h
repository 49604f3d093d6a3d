/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The terminal of `assay top` and `assay browse`: lines of text that may hold the escapes of
 * report/style.h, and keys. Names in the lines have passed base/utf8.h. By ncurses, which is loaded
 * when it is used (base/lazy_library.h). If the locale is not of UTF-8, each character beyond ASCII
 * is a '?'.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct screen;

/* Whether standard input and output are terminals, and ncurses is there. */
int screen_check(struct error *err);

/* After that. Fails for a terminal that is not known. Signals that end programs are caught. */
int screen_open(struct screen **out, struct error *err);
void screen_close(struct screen *s); /* the terminal is as it was; NULL is fine */

bool screen_is_stopped(void); /* by a signal that was caught */

/* Clicks and the wheel are keys from now on; the terminal's own selection then needs Shift. */
void screen_use_mouse(struct screen *s);
void screen_mouse(const struct screen *s, uint32_t *row, uint32_t *column);

void screen_size(struct screen *s, uint32_t *rows, uint32_t *columns);

/* Keys beside those of a character. */
enum screen_key {
	KEY_IS_NONE = -1,
	KEY_IS_UP = 0x110000,
	KEY_IS_DOWN,
	KEY_IS_PAGE_UP,
	KEY_IS_PAGE_DOWN,
	KEY_IS_HOME,
	KEY_IS_END,
	KEY_IS_LEFT,
	KEY_IS_RIGHT,
	KEY_IS_F1,
	KEY_IS_CLICK, /* screen_mouse() has its place */
	KEY_IS_WHEEL_UP,
	KEY_IS_WHEEL_DOWN,
	KEY_IS_RESIZE,
	KEY_IS_OTHER,
};

/* The next key that was pressed; does not wait. Characters are themselves, '\r' and '\n' '\n'. */
int screen_key(struct screen *s);

/* A screen is drawn from begin to end; what no line was put to is empty. */
void screen_begin(struct screen *s);
void screen_put(struct screen *s, uint32_t row, const char *text, bool is_reversed);
void screen_end(struct screen *s);
