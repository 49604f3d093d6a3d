/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind tables of all images of a recording. A table comes from the cache, by the key of its
 * file (machine/image_file.h). Otherwise it is built from the image and cached.
 *
 *	struct unwind_library *lib = unwind_library_new(&(struct unwind_library_config){ 0 });
 *	struct unwind_image image = { .path = path, .build_id = id };
 *
 *	switch (unwind_library_get(lib, number, &image, &table)) ...
 *
 * With `in_background`, a thread of the library builds tables, and the first calls for an image
 * return UNWIND_TABLE_PENDING. Only that thread runs beside the caller; all functions here are for
 * one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/build_id.h"
#include "machine/image_file.h"
#include "unwind/table.h"

struct file_mapping;
struct finder;

struct unwind_library_config {
	const char *cache_dir; /* NULL: cache_dir("unwind"); "": no cache */
	bool in_background;
	bool has_debug_files;  /* separate debug files are searched (symbol/debug_file.h) */
	struct finder *finder; /* of their search; outlives the library. NULL: none */
};

/*
 * The bytes of an image. The first call maps a file. So the file, and the process whose root named
 * it, may go before its table is built.
 */
struct unwind_image {
	const char *path; /* a path that can be opened now, as under /proc/PID/root */
	/* Or the file itself, if the path may lead elsewhere by now; the library takes it over. */
	struct file_mapping *file;
	const void *bytes;        /* or, with path NULL, its bytes: the vdso's. Copied */
	size_t size;              /* of the bytes */
	struct build_id build_id; /* a file with another is REPLACED; len 0: any file is right */
	/* Of the cache (machine/image_file.h). The key of the file itself counts when a table is
	 * written, unless `is_key_of_file`. */
	struct build_id key;
	bool is_key_of_file;
	enum image_found found; /* where the file was found */
	const char *root;       /* where it was found, as /proc/PID/root; NULL: this machine's */
	const char *name;       /* of the image below it; NULL: it has no debug file */
};

/* X(id, text) */
#define UNWIND_TABLE_STATES(X)                                                \
	X(READY, "there is a table")                                          \
	X(PENDING, "the table is being built")                                \
	X(UNREADABLE, "the image can't be read, or is no ELF file")           \
	X(REPLACED, "the file is of another build than the mapped file")      \
	X(UNSUPPORTED, "the image is for a processor that is not walked, or " \
		       "too large")                                           \
	X(UNPARSED, "the parser process could not read the image")

enum unwind_table_state {
#define X(id, text) UNWIND_TABLE_##id,
	UNWIND_TABLE_STATES(X)
#undef X
		N_UNWIND_TABLE_STATES
};

struct unwind_library;

struct unwind_library *unwind_library_new(const struct unwind_library_config *config);
void unwind_library_free(struct unwind_library *lib); /* waits for the table in progress */

/*
 * The table of an image by the caller's number for it (dense, as image_id is). *table is set if
 * READY, and stays until unwind_library_free(). `image` is used only in a number's first call.
 */
enum unwind_table_state unwind_library_get(struct unwind_library *lib, uint32_t number,
					   const struct unwind_image *image,
					   const struct unwind_table **table);

/*
 * The table of an image with a known key, if it was used before or is in the cache. This needs
 * neither the image's file nor the thread. False: call unwind_library_get().
 */
bool unwind_library_find(struct unwind_library *lib, uint32_t number, const struct build_id *key,
			 const struct unwind_table **table);

/*
 * A library's table is not needed for a while: its memory is released, and comes back from the
 * cache's file at the next use. A table without a cache file stays.
 */
void unwind_library_rest(const struct unwind_table *table);

/* Grows with each table that is no longer pending: struct unwind_input's `space`. */
uint64_t unwind_library_generation(const struct unwind_library *lib);

/*
 * Waits until the table of a number that was asked for is no longer pending, or until the time
 * (CLOCK_MONOTONIC; UINT64_MAX: without a limit). False: the time has come.
 */
bool unwind_library_wait(struct unwind_library *lib, uint32_t number, uint64_t until_ns);
