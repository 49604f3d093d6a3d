/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where names and lines of an image were looked for, and what was found there. */
#pragma once

#include "symbol/symbols.h"

struct symbol_search {
	const char *place;   /* a path, mostly */
	const char *verdict; /* "not there", "of another build: 0123…", "symbols and lines" … */
	bool is_used;        /* names or lines come from there */
};

/*
 * Looks again in every place, in the order in which they were asked, and tells of each. Nothing is
 * fetched: of debuginfod it is told only whether it would be asked.
 */
void symbol_explain(struct symbolizer *s, const struct symbol_table *t,
		    void (*tell)(void *data, const struct symbol_search *search), void *data);
