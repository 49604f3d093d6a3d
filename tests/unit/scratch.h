/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For tests that compile: files and commands in the program's folder, and a skip where a tool is
 * missing. */
#pragma once

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "folder.h"

#include "base/files/file.h"
#include "base/mem.h"

__attribute__((unused)) static void write_file(const char *name, const char *text)
{
	assert_int_equal(file_replace(name, text, strlen(text), NULL), 0);
}

static char why_command_failed[512]; /* the line of its output that tells most, or the command */

/* True if the shell command, made as by printf, succeeds. */
static bool try_command(const char *format, ...) __attribute__((format(printf, 1, 2), unused));
static bool try_command(const char *format, ...)
{
	char *command = NULL, *whole, line[sizeof(why_command_failed)];
	bool has_error = false;
	va_list ap;
	FILE *out;

	va_start(ap, format);
	assert_true(vasprintf(&command, format, ap) >= 0);
	va_end(ap);
	whole = xasprintf("{ %s; } </dev/null 2>&1", command);
	out = popen(whole, "r");
	assert_non_null(out);
	snprintf(why_command_failed, sizeof(why_command_failed), "'%.80s' fails", command);
	free(command);
	free(whole);
	while (fgets(line, sizeof(line), out)) {
		if (!has_error && line[0] != '\n')
			snprintf(why_command_failed, sizeof(why_command_failed), "%.*s",
				 (int)strcspn(line, "\n"), line);
		has_error |= strstr(line, "error") || strstr(line, "not found");
	}
	return pclose(out) == 0;
}

/* What a test can't do without; a machine without it skips the test. See skip_because(). */
#define need_command(...)                                       \
	do {                                                    \
		if (!try_command(__VA_ARGS__))                  \
			skip_because("%s", why_command_failed); \
	} while (0)

/* What any machine can do. */
#define run_command(...)                                    \
	do {                                                \
		if (!try_command(__VA_ARGS__))              \
			fail_msg("%s", why_command_failed); \
	} while (0)
