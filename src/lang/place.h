/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places of functions in a session. The image of a language's function is its source file, and the
 * offset is a key of its name and line:
 *
 *   kind: 2 | hash of the name: 42 | place: 20
 *
 *   kind     1: the frame is one of CPython's perf trampoline, and the interpreter's loop is its
 *            callee; 2 and 3: the frame is the language's own (the low bit is one more of the hash)
 *   place    0: no line; else half of the room + 2 * line. And 1, because callers are looked up one
 *            byte back.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LANG_SLOT_BITS 20
#define LANG_SLOT_SIZE ((uint64_t)1 << LANG_SLOT_BITS)
#define LANG_LINES_OFF (LANG_SLOT_SIZE / 2)
#define LANG_LINE_SIZE 2

/* The offset of a function, whose room has LANG_SLOT_SIZE bytes. */
uint64_t lang_slot(const char *name);
uint64_t lang_slot_of_trampoline(const char *name);

static inline bool lang_is_of_trampoline(uint64_t offset)
{
	return offset >> 62 == 1;
}

/*
 * A name of CPython's perf trampoline in a perf map or a jitdump: "py::QUALIFIED.NAME:FILE".
 * Returns the length of the name, which begins at `text` + LANG_TRAMPOLINE_PREFIX; the file begins
 * one byte behind it. 0: another name.
 */
#define LANG_TRAMPOLINE_PREFIX 4
uint32_t lang_trampoline_name(const char *text);
