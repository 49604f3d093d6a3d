/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that a program maps when it starts: itself, the dynamic loader, and the libraries that
 * it is linked with. They are looked for in the folders that the file, LD_LIBRARY_PATH and Debian's
 * and Fedora's loaders name; a file that only the loader's cache knows is left out. So the list is
 * a guess, for work that should be early.
 */
#pragma once

#include "base/mem.h"

#define PROGRAM_FILES_MAX 64

struct program_files {
	char **data; /* absolute paths, without links */
	size_t n, cap;
	size_t most; /* of files, which the function at hand sets */
};

/*
 * Whether the loader preloads a library of glibc into a program: not if there is no loader, if the
 * loader is musl's, or if the program gets rights that its caller lacks (set-uid and the like). A
 * file that is no ELF file is LOADED.
 */
enum program_kind { PROGRAM_LOADED, PROGRAM_STATIC, PROGRAM_OF_MUSL, PROGRAM_PRIVILEGED };
enum program_kind program_kind(const char *program);

/* Adds those of `program`, the path of an ELF file: at most PROGRAM_FILES_MAX. */
void program_files_find(const char *program, struct program_files *out);

/*
 * Adds the modules of the standard library of each CPython among the files, and the libraries that
 * these are linked with: at most PROGRAM_MODULES_MAX. A program loads some of them in its first
 * milliseconds.
 */
#define PROGRAM_MODULES_MAX 192
void program_files_add_modules(struct program_files *f);
void program_files_fini(struct program_files *f);
