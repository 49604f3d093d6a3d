/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON as text, for writing a hundred thousand values. Building a tree of values first (jansson)
 * takes several times as long. The caller writes the '{' and '}' of an object.
 */
#pragma once

#include "base/buf.h"

/* Text that may hold anything, in quotes; no '<' stands in it, so that a page may hold it, too. */
void json_put_string(struct buf *out, const char *text);

/* "key": with a comma before it, unless an object begins here. */
void json_put_key(struct buf *out, const char *key);

void json_put_number(struct buf *out, const char *key, uint64_t v);
void json_put_text(struct buf *out, const char *key, const char *text);
