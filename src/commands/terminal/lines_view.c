/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/terminal/lines_view.h"

#include "base/mem.h"
#include "commands/terminal/screen.h"

#define WHEEL_LINES 3

void lines_view_settle(struct lines_view *v, uint32_t n, uint32_t room)
{
	uint32_t below = room - (room > 0); /* the titles */

	v->n = n;
	v->room = room;
	v->cursor = n > 1 ? MIN(MAX(v->cursor, 1U), n - 1) : 0;
	v->first = MAX(v->first, 1U);
	if (v->cursor < v->first)
		v->first = MAX(v->cursor, 1U);
	if (below && v->cursor >= v->first + below)
		v->first = v->cursor - below + 1;
}

bool lines_view_move(struct lines_view *v, int key)
{
	int page = (int)v->room - 1, by;

	switch (key) {
	case KEY_IS_UP:
		by = -1;
		break;
	case KEY_IS_DOWN:
		by = 1;
		break;
	case KEY_IS_WHEEL_UP:
		by = -WHEEL_LINES;
		break;
	case KEY_IS_WHEEL_DOWN:
		by = WHEEL_LINES;
		break;
	case KEY_IS_PAGE_UP:
		by = -page;
		break;
	case KEY_IS_PAGE_DOWN:
		by = page;
		break;
	case KEY_IS_HOME:
		by = -(int)v->cursor;
		break;
	case KEY_IS_END:
		by = (int)v->n;
		break;
	default:
		return false;
	}
	v->cursor = (uint32_t)MAX((int)v->cursor + by, 0);
	lines_view_settle(v, v->n, v->room);
	return true;
}

uint32_t lines_view_line_at(const struct lines_view *v, uint32_t row)
{
	uint32_t line = row ? v->first + row - 1 : 0;

	return line < v->n && row < v->room ? line : 0;
}
