/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the debug file of an ELF file is: a row of the parser (guard/parser.h).
 *
 *	question: none
 *	answer:   struct file_debug_head, and the name of the file's link
 */
#pragma once

#include "guard/parser.h"
#include "machine/image_file.h"
#include "symbol/debug_file.h"

struct file_debug_head {
	uint32_t place; /* of debug_file_path(); DEBUG_FILE_NONE */
	struct build_id build_id;
	uint8_t pad[7];
};

extern const struct parser_row file_debug_row;

/* False: it is no answer of the row. *link: in the answer. */
bool file_debug_read(struct file_debug_head *head, const char **link, const void *bytes,
		     size_t size);

/* For debug_file_find() in a row: a question's open() and its context. */
struct debug_finding {
	const struct debug_search *search;
	enum image_found found;
};
int debug_finding_open(void *context, struct reader *wish, struct file_mapping *out,
		       bool *is_trusted);

/*
 * The path of a file's debug file, which the caller frees, and the file's build id. `search` has
 * no build id and no link. NULL: there is none, or the file could not be read.
 */
char *file_debug_find(const struct debug_search *search, const struct file_mapping *file,
		      enum image_found found, struct build_id *id);
