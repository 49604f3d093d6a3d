/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inputs that a room after this one knows: import_file() asks each row before it looks itself. */
#pragma once

#include "import/import.h"

struct importer {
	bool (*can_import)(const char *path);
	/* As import_file(). */
	int (*import)(const struct import_config *config, struct import_result *out,
		      struct error *err);
	/*
	 * The folder below which the binaries of an archive lie, for a path that can_import()
	 * accepts. The caller frees it. NULL: the path has no binaries.
	 */
	char *(*find_root)(const char *path);
};

extern const struct importer *const importers[]; /* ends with NULL; in libassay/tables.c */

/* The row that knows the path, or NULL. */
const struct importer *importer_find(const char *path);

/* The find_root() of the row that knows the path. The caller frees it. NULL: none. */
char *importer_find_root(const char *path);
