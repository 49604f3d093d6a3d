/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside symbol/: the lines of one image, and where they come from. */
#pragma once

#include "base/file.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "machine/image.h"
#include "symbol/line_index.h"
#include "symbol/lines.h"

struct line_table {
	struct line_index index;     /* no header: empty */
	struct line_header *block;   /* owned; or … */
	struct file_mapping mapping; /* … the cache file */
	enum line_status status;
	char *detail;             /* NULL: "" */
	struct intmap name_index; /* place in text, to … */
	VEC(const char *) names;  /* … its name for people, in the symbolizer's arena */
};

/* Never NULL. */
struct line_table *line_table_open(struct symbolizer *s, const struct image *image);
void line_table_free(struct line_table *t); /* NULL is fine */
