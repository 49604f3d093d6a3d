/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds and lists the tree of OProfile's sample files. Made for sessions of ten thousand files and
 * more: it opens and reads folders only, and no file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

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

/* The samples that OProfile's recorders lost, as they wrote beside the files: a sum. */
uint64_t oprofile_files_lost(const char *samples);

/* Where .text lies in an ELF file, from which samples of a kernel count; 0 where it has none. */
uint64_t oprofile_files_text(const char *path);

/* Whether there is any file below the folder. */
bool oprofile_files_any(const char *dir);
