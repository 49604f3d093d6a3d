/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds source files by their paths in debug information.
 *
 * The places are tried in this order: the path with another start (FROM=TO); the path itself; under
 * every search directory, the whole path and its ends, the longest first. For /build/x/src/a.c in
 * DIR, these are DIR/build/x/src/a.c, DIR/x/src/a.c, DIR/src/a.c, DIR/a.c. The text stays until the
 * files are freed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct source_files;

struct source_search {
	const char *const *dirs;
	size_t n_dirs;
	const char *const *rewrites; /* "FROM=TO" */
	size_t n_rewrites;
};

struct source_file {
	char *path;      /* where it is; NULL: nowhere, or refused */
	bool is_refused; /* it is there, but no owner of a binary that names it can read it */
	uint64_t mtime_ns;
	uint32_t n_lines;
	char *text; /* lines are in it, without their newlines */
	size_t size;
	uint32_t *starts; /* by line - 1, and the end */
};

struct source_files *source_files_new(const struct source_search *search);
void source_files_free(struct source_files *s); /* NULL is fine */
DEFINE_AT_EXIT(source_files_free, struct source_files)

/*
 * A binary of `user` names the path. The binary's owner chose the path, so its file is shown only
 * if such an owner can read it himself (guard/readable.h; GUARD_NOBODY: the owner is not known).
 * Files that a rewrite or a search directory leads to are shown: the user chose these folders. To
 * be called before source_files_get().
 */
void source_files_name(struct source_files *s, const char *path, uint32_t user);

/* Never NULL; no lines if it was not found, or is larger than 64 MiB. */
const struct source_file *source_files_get(struct source_files *s, const char *path);

/* Line n, from 1: what is in the file, cut to some thousand bytes; false beyond its end. */
bool source_line(const struct source_file *file, uint32_t n, const char **text, size_t *size);
