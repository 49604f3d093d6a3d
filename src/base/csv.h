/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cells of CSV (RFC 4180). */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/*
 * Appends a text as one cell: as UTF-8 (base/utf8.h), in quotes if it needs them. A spreadsheet
 * runs a cell that begins with `=`, `+`, `-`, `@`, TAB or CR as a formula: unless `is_raw`, such a
 * cell gets a leading `'`, which makes it text.
 */
void csv_put_text(struct buf *out, const char *text, bool is_raw);
