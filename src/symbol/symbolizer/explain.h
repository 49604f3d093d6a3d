/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The places where names and lines of an image were searched, and the result of each. */
#pragma once

#include "symbol/symbols.h"

struct symbol_search {
	const char *place;   /* a path, mostly */
	const char *verdict; /* "not there", "of another build: 0123…", "symbols and lines" … */
	bool is_used;        /* names or lines come from here */
};

/*
 * Searches every place again in the order of the first search, and reports each. Nothing is
 * fetched: the report only has whether debuginfod would be asked.
 */
void symbol_explain(struct symbolizer *s, const struct symbol_table *t,
		    void (*report)(void *data, const struct symbol_search *search), void *data);

/*
 * The command that installs the debug information of an image's file (symbol/debug_package.h), in
 * the system where the file is: *root, "" for this machine, which stays the symbolizer's. NULL: no
 * command is known. The caller frees it.
 */
char *symbol_debug_package(struct symbolizer *s, const struct symbol_table *t, const char **root);
