/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind tables of all images that a recording meets: from the cache by build id, or without
 * one by content, else built from the image and put there.
 *
 *	struct unwind_library *lib = unwind_library_new(&(struct unwind_library_config){ 0 });
 *	struct unwind_image image = { .path = path, .build_id = id };
 *
 *	switch (unwind_library_get(lib, number, &image, &table)) ...
 *
 * With `in_background`, tables are built by a thread of the library's, and the
 * first calls for an image give UNWIND_TABLE_PENDING. Only that thread runs
 * beside the caller; all functions here are for one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/build_id.h"
#include "unwind/table.h"

struct elf_file;
struct file_mapping;

/*
 * Separate debug files: symbol/ knows where they are, record/ says so. Both are called for an image
 * by its name below a root, by the library's thread.
 */
struct unwind_debug_files {
	/* Opens the one of an image; the mapping is the caller's. False: there is none. */
	bool (*open)(const char *root, const char *name, const struct elf_file *image,
		     struct file_mapping *file, struct elf_file *debug);
	/* A number for what is at its places now: another one, and looking again is worth it. */
	uint64_t (*evidence)(const char *root, const char *name, const struct elf_file *image);
};

struct unwind_library_config {
	const char *cache_dir; /* NULL: cache_dir("unwind"); "": none is used */
	bool in_background;
	const struct unwind_debug_files *debug_files; /* NULL: none are looked for */
};

/*
 * Where the bytes of an image are. A file is mapped in the first call, so that it may
 * vanish, with the process whose root it was named by, before its turn comes.
 */
struct unwind_image {
	const char *path; /* a file that can be opened now, as under /proc/PID/root */
	/* Or the file itself, where the path may lead to another one by now; it is taken. */
	struct file_mapping *file;
	const void *bytes; /* or, with path NULL, its bytes: the vdso's. Copied */
	size_t size;       /* of the bytes */
	/* len 0: not known; what is in the file counts. Of a file without one: a hash of its
	 * content. */
	struct build_id build_id;
	const char *root; /* the process's, as /proc/PID/root; NULL: this one */
	const char *name; /* of the image below it; NULL: it has no debug file */
};

/* X(id, text) */
#define UNWIND_TABLE_STATES(X)                                                \
	X(READY, "there is a table")                                          \
	X(PENDING, "the table is being built")                                \
	X(UNREADABLE, "the image can't be read, or is no ELF file")           \
	X(REPLACED, "the file is of another build than the mapped file")      \
	X(UNSUPPORTED, "the image is for a processor that is not walked, or " \
		       "too large")

enum unwind_table_state {
#define X(id, text) UNWIND_TABLE_##id,
	UNWIND_TABLE_STATES(X)
#undef X
		N_UNWIND_TABLE_STATES
};

extern const char *const unwind_table_state_texts[N_UNWIND_TABLE_STATES];

struct unwind_library;

struct unwind_library *unwind_library_new(const struct unwind_library_config *config);
void unwind_library_free(struct unwind_library *lib); /* waits for the table being built */

/*
 * The table of an image by the caller's number for it (dense, as image_id is).
 * *table is set if READY, and stays until unwind_library_free(). `image` is
 * looked at in the first call for a number only.
 */
enum unwind_table_state unwind_library_get(struct unwind_library *lib, uint32_t number,
					   const struct unwind_image *image,
					   const struct unwind_table **table);

/*
 * The table of an image whose build id is known, if it was had before or is in the cache: then its
 * file need not be looked for, nor the thread woken. False: unwind_library_get() has to be asked.
 */
bool unwind_library_find(struct unwind_library *lib, uint32_t number,
			 const struct build_id *build_id, const struct unwind_table **table);

/*
 * A table that a library gave is not needed for a while: what of it is in memory goes, and comes
 * back from the cache's file when it is read again. One that is in no cache stays.
 */
void unwind_library_rest(const struct unwind_table *table);

/* Grows with each table that was pending and now is not: struct unwind_input's `space`. */
uint64_t unwind_library_generation(const struct unwind_library *lib);

/* Waits until nothing is pending. */
void unwind_library_wait(struct unwind_library *lib);

/* Bytes of all tables. */
size_t unwind_library_memory(const struct unwind_library *lib);
