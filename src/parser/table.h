/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All rows of the parser (guard/parser.h): the kinds of questions about files of strangers. A row
 * is defined beside its readers. CONTRIBUTING.md has the requirements of a new one.
 */
#pragma once

#include "guard/parser.h"

extern const struct parser_row *const parser_rows[]; /* NULL: the end */
