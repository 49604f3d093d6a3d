/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names for people: safe to print, and short enough. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Characters, each one column wide, of valid UTF-8. */
size_t name_width(const char *text);

/* Appends the text in at most `width` characters, its middle left out. Width 0 is no limit. */
void name_append_cut(struct buf *out, const char *text, size_t width, const char *ellipsis);

/*
 * Appends the name in at most `width` characters. What goes first: the
 * parameters, then template arguments, inner ones first, then the middle.
 * `ellipsis` is "…" or "...". Width 0 is no limit.
 */
void name_append_short(struct buf *out, const char *name, size_t width, const char *ellipsis);
