/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static enum log_level current = LOG_NORMAL;
static const char *program = "assay";
static bool is_timed; /* by log_to_file() */

void log_set_level(enum log_level level)
{
	current = level;
}

void log_set_program(const char *name)
{
	program = name;
}

int log_to_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640), e;

	if (fd < 0)
		return -errno;
	fflush(stderr);
	e = dup2(fd, STDERR_FILENO) < 0 ? -errno : 0;
	close(fd);
	is_timed |= !e;
	return e;
}

static void print_time(void)
{
	time_t now = time(NULL);
	char text[40];
	struct tm t;

	if (!is_timed)
		return;
	localtime_r(&now, &t);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S%z ", &t);
	fputs(text, stderr);
}

#define LOG_FUNCTION(name, level, prefix)                \
	void name(const char *format, ...)               \
	{                                                \
		va_list ap;                              \
                                                         \
		if (current < (level))                   \
			return;                          \
		flockfile(stderr);                       \
		print_time();                            \
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
