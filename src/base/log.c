/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

static enum log_level current = LOG_NORMAL;
static const char *program = "assay";

void log_set_level(enum log_level level)
{
	current = level;
}

enum log_level log_get_level(void)
{
	return current;
}

void log_set_program(const char *name)
{
	program = name;
}

#define LOG_FUNCTION(name, level, prefix)                \
	void name(const char *format, ...)               \
	{                                                \
		va_list ap;                              \
                                                         \
		if (current < (level))                   \
			return;                          \
		flockfile(stderr);                       \
		fprintf(stderr, "%s: " prefix, program); \
		va_start(ap, format);                    \
		vfprintf(stderr, format, ap);            \
		va_end(ap);                              \
		fputc('\n', stderr);                     \
		funlockfile(stderr);                     \
	}

LOG_FUNCTION(log_error, LOG_QUIET, "")
LOG_FUNCTION(log_warning, LOG_NORMAL, "warning: ")
LOG_FUNCTION(log_info, LOG_NORMAL, "")
LOG_FUNCTION(log_verbose, LOG_VERBOSE, "")
