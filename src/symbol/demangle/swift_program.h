/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * swift-demangle, the demangler of the Swift toolchain, as a process of its own.
 *
 * The process gets a file of names and writes a file of readable ones, a line each. It has limits
 * of its own: memory, processor time, the size of what it writes, and 10 s in all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* The program's path: from PATH, or where Debian has it. The caller frees; NULL: it is not here. */
char *swift_program_find(void);

/*
 * Runs the program with `n` names, which hold no newline. *out gets the lines that it wrote;
 * returns how many whole ones: n if all went well, and fewer if the program failed on the way.
 */
size_t swift_program_run(const char *program, const char *const *names, size_t n, struct buf *out);
