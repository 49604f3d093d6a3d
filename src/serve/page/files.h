/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page of `assay serve`: files that are built into the program. */
#pragma once

#include <stddef.h>

struct serve_file {
	const char *path, *type, *text; /* path: of the request */
};
extern const struct serve_file serve_files[];
extern const size_t n_serve_files;

extern const char serve_page[], serve_style[], serve_script[], serve_parts_script[],
	serve_facts_script[], serve_fleet_script[], serve_list_script[], serve_selector_script[],
	serve_series_script[];
extern const char serve_login[]; /* the page for those who have no right yet */
