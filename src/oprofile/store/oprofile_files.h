/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tree of OProfile's sample files: where it is, and what is in it. Made for sessions of ten
 * thousand files and more: a folder costs its opening and reading, and nothing is asked of a file.
 */
#pragma once

#include <stdbool.h>

struct error;

/*
 * The folder of sample files that a path means: a session directory (its current session), a
 * saved session below samples/, or an archive of oparchive. NULL: it has none. The caller's
 * to free().
 */
char *oprofile_files_find(const char *path);

/*
 * The folder of an archive of oparchive, whose binaries lie below it, for a path that
 * oprofile_files_find() knows. NULL: it is none. The caller's to free().
 */
char *oprofile_files_root(const char *path);

/* Told of every file, and of every folder that can't be read (`err`), each in the order of names.
 */
struct oprofile_walker {
	void (*found)(void *context, const char *path);
	void (*unreadable)(void *context, const struct error *err);
	void *context;
};

/* Walks all that is below `samples`; follows no links. */
void oprofile_files_walk(const char *samples, const struct oprofile_walker *walker);
