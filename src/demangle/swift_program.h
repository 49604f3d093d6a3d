/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * swift-demangle, the demangler of the Swift toolchain, in another process.
 *
 * The process gets a file of names and writes a file of readable ones, a line each. It has limits
 * for memory, processor time and the size of its output, and 10 s in all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* The program's path: from PATH, or its place in Debian. The caller frees; NULL: not found. */
char *swift_program_find(void);

/*
 * Runs the program with `n` names without newlines. *out gets its lines; returns the number of
 * complete ones: n if all went well, and fewer if the program failed on the way.
 */
size_t swift_program_run(const char *program, const char *const *names, size_t n, struct buf *out);
