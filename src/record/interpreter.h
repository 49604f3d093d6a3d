/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which interpreter a target runs, before it is recorded. Only the in-kernel sampler sees the
 * frames of an interpreted language, so a command or a process that runs one is recorded by it.
 * It is the same with Go: a copied stack ends where a thread has left the goroutine's stack.
 *
 * A Go program may have an interpreter, too: cgo with libpython.
 *
 * A command that starts its interpreter by a shell or a launcher is not recognised.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lang/language.h"

struct interpreter {
	enum language language; /* LANGUAGE_NONE: no interpreter */
	bool is_go;             /* a program of Go 1.16 to 1.27, on x86-64 */
};

/* `command` is looked up in PATH like execvp(3). A script has the language of its interpreter. */
struct interpreter interpreter_of_command(const char *command);

/* The ELF file that such a command executes in the end; NULL: neither an interpreter nor Go. The
 * caller frees it. */
char *interpreter_file(const char *command);

/* By the files that the process has mapped as code. */
struct interpreter interpreter_of_process(const char *proc, int32_t pid);
