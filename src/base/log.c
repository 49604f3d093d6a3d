/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/utf8.h"

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

/* One line, whatever names a profiled program chose. */
static void print_message(const char *prefix, const char *format, va_list ap)
{
	struct buf message = { 0 }, visible = { 0 };

	buf_vprintf(&message, format, ap);
	utf8_append_visible(&visible, buf_cstr(&message));
	flockfile(stderr);
	print_time();
	fprintf(stderr, "%s: %s%s\n", program, prefix, buf_cstr(&visible));
	funlockfile(stderr);
	buf_fini(&message);
	buf_fini(&visible);
}

#define LOG_FUNCTION(name, level, prefix)          \
	void name(const char *format, ...)         \
	{                                          \
		va_list ap;                        \
                                                   \
		if (current < (level))             \
			return;                    \
		va_start(ap, format);              \
		print_message(prefix, format, ap); \
		va_end(ap);                        \
	}

LOG_FUNCTION(log_error, LOG_QUIET, "")
LOG_FUNCTION(log_warning, LOG_NORMAL, "warning: ")
LOG_FUNCTION(log_info, LOG_NORMAL, "")
LOG_FUNCTION(log_verbose, LOG_VERBOSE, "")

void log_progress(const char *text)
{
	struct buf visible = { 0 };

	if (current < LOG_NORMAL || is_timed || !isatty(STDERR_FILENO))
		return;
	if (text)
		utf8_append_visible(&visible, text);
	/* the cursor goes to the start of the line, and the line's rest is cleared */
	fputs("\r\033[K", stderr);
	if (text)
		fprintf(stderr, "%s: %s", program, buf_cstr(&visible));
	fflush(stderr);
	buf_fini(&visible);
}
