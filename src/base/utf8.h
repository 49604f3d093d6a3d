/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that a profiled program chooses (symbols, thread names, paths) hold any bytes. The output
 * of assay is valid UTF-8, and no name can control a terminal. Every name passes one of these two
 * functions on its way out. Both append to `out`; both are thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* For programs: the characters as they are. Each byte that is not UTF-8 becomes U+FFFD. */
void utf8_append(struct buf *out, const char *text);

/*
 * For people: characters that would control a terminal or reorder a line become visible.
 *
 *     C0 controls, ESC, DEL, bytes that are not UTF-8    \xNN
 *     C1 controls, U+2028, U+2029, bidirectional         \u{NNNN}
 *
 * A newline and a TAB are such characters, too. A backslash stays as it is.
 */
void utf8_append_visible(struct buf *out, const char *text);

/* The length of the character that a text begins with; 0 if its bytes are not UTF-8. */
size_t utf8_len(const char *text);

/*
 * The length of the control character of more than one byte that valid UTF-8 begins with, and its
 * code point; 0 if it begins with another character.
 */
size_t utf8_control(const char *text, uint32_t *code_point);
