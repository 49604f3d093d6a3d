/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the debug file of an ELF file is, and the files that either refers to: the one with common
 * debug information, and those with split debug information. A row of the parser (guard/parser.h).
 *
 *	question: none
 *	answer:   struct file_debug_head, the name of the file's link, the common file's name, the
 *	          name of a .dwo file that was not found, and the numbers (dwo_id) of those that
 *were
 *
 * Its wishes are debug files and split ones (symbol/split_files.h).
 */
#pragma once

#include "base/mem.h"
#include "guard/parser.h"
#include "machine/image_file.h"
#include "symbol/debug_file.h"

struct file_debug_head {
	uint32_t place;                      /* of debug_file_path(); DEBUG_FILE_NONE */
	uint32_t has_package;                /* the last one that was opened */
	uint32_t n_split, n_missing_split;   /* units outside of the package; without their file */
	struct build_id build_id, common_id; /* of the ELF file; of the common file */
	uint8_t pad[2];
};

extern const struct parser_row file_debug_row;

/* The texts and numbers of an answer, where they are in it. */
struct file_debug_names {
	const char *link, *common, *missing_split;
	const uint8_t *split; /* n_split - n_missing_split numbers of 8 bytes, not aligned */
};

/* False: it is no answer of the row. */
bool file_debug_read(struct file_debug_head *head, struct file_debug_names *names,
		     const void *bytes, size_t size);

/* For debug_file_find() in a row: a question's open() and its context. */
struct debug_finding {
	const struct debug_search *search;
	enum image_found found;
};
int debug_finding_open(void *context, struct reader *wish, struct file_mapping *out,
		       bool *is_trusted);

/* A .dwo file. */
struct file_of_unit {
	uint64_t id;
	char *path;
};

struct file_debug {
	char *path;   /* of the debug file; NULL: there is none, or the file could not be read */
	char *common; /* the name of the common file; NULL: none */
	struct build_id build_id, common_id; /* of the file; of the common file */
	char *package;                       /* the path of the .dwp file; NULL: none */
	VEC(struct file_of_unit) split;
	uint32_t n_split, n_missing_split; /* units outside of the package; without their file */
	char *missing_split;               /* an example; NULL: none */
};

/* The caller calls file_debug_fini(). `search` has no build id and no link. */
void file_debug_find(const struct debug_search *search, const struct file_mapping *file,
		     enum image_found found, struct file_debug *out);
void file_debug_fini(struct file_debug *d);
