/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Separate debug files, where gdb looks for them too:
 *
 *	DEBUGDIR/.build-id/xx/yyyy….debug     by build id
 *	DIR/NAME, DIR/.debug/NAME, DEBUGDIR/DIR/NAME     by .gnu_debuglink
 *	the servers in $DEBUGINFOD_URLS                  by build id, last
 *
 * A file counts only if its build id is the image's or, where one of the two
 * has none, if its CRC is the link's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/files/file.h"
#include "elf/elf_file.h"

/* What a debug file is looked for with. */
struct debug_search {
	const char *root, *debug_dir;
	const char *process;    /* of struct guard_place; NULL: none */
	const char *image_path; /* without root */
	struct build_id build_id;
	const char *link_name; /* NULL: none */
	uint32_t link_crc;
	/* Told before debuginfod is asked, which it is only where this is not NULL. */
	void (*say)(const char *sentence);
};

/*
 * Opens the first that fits and has a symbol table: the mapping is the
 * caller's. *path, if not NULL, gets where it is; *passed_over, if not NULL, the path of one that
 * is there but is of another build; the caller frees both.
 */
bool debug_file_open(const struct debug_search *search, struct file_mapping *mapping,
		     struct elf_file *elf, char **path, char **passed_over);

/* The places in their order, debuginfod left out; how many. The caller frees each. */
#define DEBUG_FILE_PLACES 4
uint32_t debug_file_places(const struct debug_search *search, char *paths[DEBUG_FILE_PLACES]);

/*
 * A number for what is at those places and at the image's own now: another one
 * means that looking again is worth it. Costs a stat(2) each.
 */
uint64_t debug_file_evidence(const struct debug_search *search);
