/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Separate debug files, in the places where gdb looks, too:
 *
 *	DEBUGDIR/.build-id/xx/yyyy….debug     by build id
 *	DIR/NAME, DIR/.debug/NAME, DEBUGDIR/DIR/NAME     by .gnu_debuglink
 *	the servers in $DEBUGINFOD_URLS                  by build id, last
 *
 * A file counts only if its build id is the image's. If one of the two has no build id, the file's
 * CRC must be the link's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/files/file.h"
#include "elf/elf_file.h"

/* The search for a debug file. */
struct debug_search {
	const char *root, *debug_dir;
	const char *process;    /* of struct guard_place; NULL: none */
	const char *image_path; /* without root */
	struct build_id build_id;
	const char *link_name; /* NULL: none */
	uint32_t link_crc;
	/* Gets a sentence before a request to debuginfod. NULL: debuginfod is not asked. */
	void (*report)(const char *sentence);
};

/*
 * Opens the first file that fits and has a symbol table; the caller owns the mapping. *path (if not
 * NULL) gets its path. *passed_over (if not NULL) gets the path of a found file of another build.
 * The caller frees both.
 */
bool debug_file_open(const struct debug_search *search, struct file_mapping *mapping,
		     struct elf_file *elf, char **path, char **passed_over);

/* The places in their order, without debuginfod; returns their number. The caller frees each. */
#define DEBUG_FILE_PLACES 4
uint32_t debug_file_places(const struct debug_search *search, char *paths[DEBUG_FILE_PLACES]);

/*
 * A number for the state of the files at those places and of the image itself. A new number means
 * that a new search is worthwhile. Costs a stat(2) each.
 */
uint64_t debug_file_evidence(const struct debug_search *search);
