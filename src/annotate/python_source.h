/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a function of Python is in its source file. CPython's perf trampoline names functions, but
 * no lines of them. The source is read by its indentation alone: a text of several lines that looks
 * like a definition counts as one.
 */
#pragma once

#include "annotate/source_files.h"

/*
 * Finds the one definition with a qualified name ("K.method", "outer.<locals>.inner"): the lines
 * from its "def" to its last one, from 1. False if there is none, if there are several, or if the
 * code is no definition ("<module>", "<lambda>"). The time grows with the size of the file alone.
 */
bool python_source_find(const struct source_file *file, const char *name, uint32_t *first,
			uint32_t *last);
