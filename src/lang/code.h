/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names and lines of functions, from the bytes that the in-kernel sampler read in a process
 * (struct lang_code). The process chose these bytes, so every length is checked.
 */
#pragma once

#include <stdint.h>

#include "lang/runtime.h"

struct buf;

/* Appends a text as UTF-8, up to its first NUL. A text that assay can't read is left out. */
void lang_append_text(const struct lang_text *text, struct buf *out);

/*
 * Appends the file of the function; nothing: it has none. Perl counts its evals, as in "(eval 7)";
 * all of them are "(eval)" here, so that a program that goes on has no end of files.
 */
void lang_append_file(const struct lang_code *code, struct buf *out);

/* Appends the function's name as its language writes it, such as "Class::method". */
void lang_append_name(const struct lang_code *code, struct buf *out);

/*
 * The source line of a position, in units of the language's code (CPython: 2 bytes; PHP: the line).
 * Where the table has no line, or was cut before the position, it is the first line of the
 * function. 0: not known.
 */
#define LANG_LINE_LIMIT 0x3ffff /* lines above have no room in a place (pipeline/lang_names.h) */
uint32_t lang_line(const struct lang_code *code, uint32_t position);
