/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which interpreter a target runs, before it is recorded. Only the in-kernel sampler sees the
 * frames of an interpreted language, so a command or a process that runs one is recorded by it.
 *
 * A command that starts its interpreter by a shell or a launcher is not recognised.
 */
#pragma once

#include <stdint.h>

#include "lang/language.h"

/* `command` is looked up in PATH like execvp(3). A script has the language of its interpreter. */
enum language interpreter_of_command(const char *command);

/* The ELF file that such a command executes in the end; NULL: it runs no interpreter. The caller
 * frees it. */
char *interpreter_file(const char *command);

/* By the files that the process has mapped as code. */
enum language interpreter_of_process(const char *proc, int32_t pid);
