/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For tests that compile: a scratch directory that is the working directory
 * while the group runs, commands in it, and a skip where a tool is missing.
 */
#pragma once

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

#include "base/file.h"
#include "base/mem.h"

static char scratch_dir[64];

static int enter_scratch(void **state)
{
	(void)state;
	strcpy(scratch_dir, "/tmp/assay-unit-XXXXXX");
	return mkdtemp(scratch_dir) && chdir(scratch_dir) == 0 ? 0 : -1;
}

static int leave_scratch(void **state)
{
	(void)state;
	return chdir("/") == 0 ? file_remove_tree(scratch_dir, NULL) : -1;
}

__attribute__((unused)) static void write_file(const char *name, const char *text)
{
	assert_int_equal(file_replace(name, text, strlen(text), NULL), 0);
}

/* True if the shell command, made as by printf, succeeds. Its output is dropped. */
static bool try_command(const char *format, ...) __attribute__((format(printf, 1, 2), unused));
static bool try_command(const char *format, ...)
{
	char command[2048], *quiet;
	va_list ap;
	bool ok;

	va_start(ap, format);
	vsnprintf(command, sizeof(command), format, ap);
	va_end(ap);
	quiet = xasprintf("{ %s; } >/dev/null 2>&1", command);
	ok = system(quiet) == 0;
	free(quiet);
	return ok;
}

/* What a test can't do without; a machine without it skips the test. */
#define need_command(...)                                                    \
	do {                                                                 \
		if (!try_command(__VA_ARGS__)) {                             \
			print_message("skipped: failed here: " __VA_ARGS__); \
			print_message("\n");                                 \
			skip();                                              \
		}                                                            \
	} while (0)
