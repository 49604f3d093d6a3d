/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside symbol/: the names of a symbolizer's images for people, and a count of unreadable ones. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "demangle/demangle.h"

struct symbol_table;
struct readable_names;

/* `report_unread` as in struct symbolizer_config. */
struct readable_names *readable_names_new(bool no_demangle, void (*report_unread)(const char *));

/* Reports the unreadable names. NULL is fine. */
void readable_names_free(struct readable_names *r);

enum name_length { NAME_LONG, NAME_SHORT /* without parameters */ };

/*
 * Puts the name for people in place of the content of `out`; false if it is `plain` itself, as the
 * names of Python's functions and of other languages' are (IMAGE_LANGUAGE): no linker wrote them.
 */
bool readable_name(struct readable_names *r, struct symbol_table *t, const char *plain,
		   enum name_language language, enum name_length length, struct buf *out);

/* The language of an inlined function's name: Ada, if its outermost package has Ada's. */
enum name_language language_of_inlined(const struct symbol_table *t, const char *name);
