/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which interpreter a target runs, before it is recorded. Only the in-kernel sampler sees the
 * frames of an interpreted language, so a command or a process that runs one is recorded by it.
 * It is the same with Go: a copied stack ends where a thread has left the goroutine's stack.
 *
 * A Go program may have an interpreter, too: cgo with libpython.
 *
 * A shell or a launcher may start the interpreter: `sh -c 'cd app; python3 main.py'`, `timeout 5
 * ruby a.rb`. So each word of the command may be a command, and each word of a script that a shell
 * runs, but for its comments. A word that is none, as in `echo perl`, does no harm: the sampler
 * records any program. But nobody may say that the command runs Perl.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "lang/language.h"

struct interpreter {
	enum language language; /* LANGUAGE_NONE: no interpreter */
	bool is_go;             /* a program of Go 1.16 to 1.27, on x86-64 */
	uint32_t version;       /* of the interpreter, 3 << 8 | 12; 0: not known */
};

struct interpreters {
	struct interpreter runs;    /* the command itself, or the interpreter of its first line */
	struct interpreter may_run; /* words: the first language, and whether any is of Go */
	VEC(char *) files;          /* the ELF files of both, at most INTERPRETER_FILES_MAX */
};

#define INTERPRETER_FILES_MAX 4

/*
 * `argv` ends with NULL. Programs are looked up in PATH like execvp(3). A script has the language
 * of its interpreter. The work is bounded, so words far behind may be left out.
 */
void interpreters_of_command(char *const argv[], struct interpreters *out);
void interpreters_fini(struct interpreters *found);

/* By the files that the process has mapped as code. */
struct interpreter interpreter_of_process(const char *proc, int32_t pid);
