/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the debug file of an ELF file is, and the file with common debug information that it refers
 * to: a row of the parser (guard/parser.h).
 *
 *	question: none
 *	answer:   struct file_debug_head, the name of the file's link, and the common file's name
 */
#pragma once

#include "guard/parser.h"
#include "machine/image_file.h"
#include "symbol/debug_file.h"

struct file_debug_head {
	uint32_t place;                      /* of debug_file_path(); DEBUG_FILE_NONE */
	struct build_id build_id, common_id; /* of the ELF file; of the common file */
	uint8_t pad[2];
};

extern const struct parser_row file_debug_row;

/* False: it is no answer of the row. The names are in the answer. */
bool file_debug_read(struct file_debug_head *head, const char **link, const char **common,
		     const void *bytes, size_t size);

/* For debug_file_find() in a row: a question's open() and its context. */
struct debug_finding {
	const struct debug_search *search;
	enum image_found found;
};
int debug_finding_open(void *context, struct reader *wish, struct file_mapping *out,
		       bool *is_trusted);

struct file_debug {
	char *path;   /* of the debug file; NULL: there is none, or the file could not be read */
	char *common; /* the name of the common file; NULL: none */
	struct build_id build_id, common_id; /* of the file; of the common file */
};

/* The caller calls file_debug_fini(). `search` has no build id and no link. */
void file_debug_find(const struct debug_search *search, const struct file_mapping *file,
		     enum image_found found, struct file_debug *out);
void file_debug_fini(struct file_debug *d);
