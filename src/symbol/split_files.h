/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Split debug information (-gsplit-dwarf). Most of a unit is in a file of its own: NAME.dwo, in the
 * folder DIR where it was compiled. Or it is in a package of all units. The program keeps a
 * skeleton of each unit, with these names and a number (dwo_id). The places of a .dwo file:
 *
 *	DIR/NAME                            below the image's root, and below that of --symfs
 *	beside the image                    by the file's name alone, from here on
 *	ROOT/, and the folders of --image-path
 *	DEBUGDIR/.dwo/ID.dwo                of an archive
 *
 * The places of the package:
 *
 *	IMAGE.dwp
 *	ROOT/, and the folders of --image-path
 *	DEBUGDIR/.build-id/xx/yyyy….dwp     of an archive
 *
 * A row of the parser looks into the files, and takes those with the unit's number. The process
 * that asks finds and opens them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/files/file.h"
#include "elf/dwarf.h"
#include "guard/parser.h"
#include "symbol/debug_file.h"
#include "symbol/debug_sections.h"

#define SPLIT_FILES_MAX (1u << 16) /* units of one file that are looked for */

/* ---- in a row ---- */

/* The skeletons of a file. */
struct split_units {
	const struct dwarf_file *file;
	uint64_t at, abbrev_budget; /* hostile units could share one long list */
};
void split_units_begin(struct split_units *it, const struct dwarf_file *file);
/* The unit has its names and its dwo_id, and no abbreviations. */
bool split_units_next(struct split_units *it, struct dwarf_unit *out);

/* The split unit of a skeleton. The caller frees the abbreviations, which the unit refers to. */
bool split_unit_find(const struct dwarf_file *split, const struct dwarf_unit *skeleton,
		     struct dwarf_unit *out, struct dwarf_abbrevs **abbrevs);

/* An open file with split units. */
struct split_file {
	struct file_mapping file;
	struct debug_sections sections;
};
void split_file_close(struct split_file *f); /* {0} is fine */

/* Opens a skeleton's .dwo file, and finds its unit there. Only if true, the caller closes. */
bool split_file_open(struct parser_job *job, const struct dwarf_unit *skeleton,
		     struct split_file *out, struct dwarf_unit *unit,
		     struct dwarf_abbrevs **abbrevs);

/* Opens the package with the units of a file. False: there is none. */
bool split_package_open(struct parser_job *job, const struct build_id *id,
			const struct dwarf_file *of, struct split_file *out);

/* ---- in the process that asks ---- */

/*
 * Opens the file of a wish of the functions above (WISH_SPLIT, WISH_PACKAGE): the first from a
 * place on. Returns its place, or a negative errno. *path (if not NULL) gets its path, which the
 * caller frees. *id: of a .dwo file; 0: of a package.
 */
int split_file_serve(const struct debug_search *search, struct reader *wish,
		     struct file_mapping *out, char **path, uint64_t *id);

/*
 * Reports each place of a wish for a .dwo file that found none, and why the file there was not
 * taken.
 */
void split_file_explain(const struct debug_search *search, const struct buf *wish,
			void (*report)(void *data, const char *path, const char *verdict),
			void *data);

/* Where an archive has them, behind its root. The caller frees the path. */
char *split_file_kept_path(const char *debug_dir, uint64_t id);
char *split_package_kept_path(const char *debug_dir, const struct build_id *id);
