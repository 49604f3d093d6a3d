/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Separate debug files, in the places where gdb looks, too:
 *
 *	DEBUGDIR/.build-id/xx/yyyy….debug                by build id
 *	DIR/NAME, DIR/.debug/NAME, DEBUGDIR/DIR/NAME     by .gnu_debuglink
 *	ROOT/NAME, and NAME in the user's folders        the same
 *	perf's build-id cache, ~/.debug                  by build id, and from here on
 *	this machine's /usr/lib/debug/.build-id, if the root is not this machine's
 *	the files that libdebuginfod has fetched before
 *	the servers in $DEBUGINFOD_URLS
 *
 * A file counts only if its build id is the image's. If one of the two has no build id, the file's
 * CRC must be the link's.
 *
 * A row of the parser looks into the files (debug_file_find()), and the process that asks finds and
 * opens them (debug_file_serve()).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/files/file.h"
#include "elf/elf_file.h"
#include "guard/parser.h"

struct finder;

/* The search for a debug file. */
struct debug_search {
	const char *root, *debug_dir;
	const char *process;    /* of struct guard_place; NULL: none */
	const char *image_path; /* without root */
	struct build_id build_id;
	const char *link_name; /* NULL: none */
	uint32_t link_crc;
	struct finder
		*finder; /* of its caches, folders and servers (symbol/finder.h); NULL: none */
};

/* A debug file that was found. */
struct debug_file {
	struct file_mapping file; /* base NULL: none */
	struct elf_file elf;
	uint32_t place;       /* its number; DEBUG_FILE_PLACES: debuginfod */
	uint32_t passed_over; /* of a file of another build; DEBUG_FILE_NONE */
};
#define DEBUG_FILE_NONE UINT32_MAX

/* In a row: the debug file of an image, by wishes. False: there is none. The caller unmaps it. */
bool debug_file_find(struct parser_job *job, const struct elf_file *image, struct debug_file *out);

/*
 * Opens the file of a wish of debug_file_find(): the first from a place on. Returns its place, or a
 * negative errno. Build id and link are the wish's, the rest is from `search`. *path (if not NULL)
 * gets its path, which the caller frees.
 */
int debug_file_serve(const struct debug_search *search, struct reader *wish,
		     struct file_mapping *out, char **path);

/* The path of a place, for messages if it is debuginfod; NULL: no such place. The caller frees it.
 */
char *debug_file_path(const struct debug_search *search, uint32_t place);

/*
 * The file with common debug information of several files (elf_common_debug()): its path by the
 * name in the debug file at `of`, which the caller frees. Else it is opened by its build id, in the
 * places of debug files: 0, or a negative errno. *path as above.
 */
char *common_debug_path(const char *root, const char *of, const char *name);
int common_debug_open(const struct debug_search *search, const struct build_id *id,
		      struct file_mapping *out, char **path);

/* A wish begins with its kind. The last two are of symbol/split_files.h. */
enum { WISH_DEBUG_FILE, WISH_ALT_FILE, WISH_PACKAGE, WISH_SPLIT };

/* The places in their order, without debuginfod. */
#define DEBUG_FILE_PLACES 9
struct debug_places {
	char *paths[DEBUG_FILE_PLACES];
	const char
		*roots[DEBUG_FILE_PLACES]; /* each path begins with its root; "": this machine's */
	uint32_t n;
};
void debug_places_init(struct debug_places *places, const struct debug_search *search);
void debug_places_fini(struct debug_places *places);

/*
 * A number for the state of the files at those places and of the image itself. A new number means
 * that a new search is worthwhile. Costs a stat(2) each.
 */
uint64_t debug_file_evidence(const struct debug_search *search);
