/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cursor in lines that are longer than the screen. Line 0 is the titles, which stay in place and
 * are no choice.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct lines_view {
	uint32_t n;             /* lines, with the titles */
	uint32_t first, cursor; /* below the titles: the first in view, and the chosen one */
	uint32_t room;          /* rows of the screen for them, with the titles */
};

/* Keeps the cursor among the lines, and in view. */
void lines_view_settle(struct lines_view *v, uint32_t n, uint32_t room);

/* False: the key is none that moves the cursor. */
bool lines_view_move(struct lines_view *v, int key);

/* The line in a row of the screen, counted from the titles; 0: none. */
uint32_t lines_view_line_at(const struct lines_view *v, uint32_t row);
