/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

#define DEFAULT_PAGER "less"
#define PAGER_OPTIONS "-FRX"
#define DEFAULT_WIDTH 100
#define MAX_WIDTH     1000
#define BUFFER_BYTES  65536

static const char *set_variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static bool is_in_path(const char *program)
{
	const char *at = set_variable("PATH");
	char file[4096];

	for (size_t len; at; at = at[len] ? at + len + 1 : NULL) {
		len = strcspn(at, ":");
		snprintf(file, sizeof(file), "%.*s/%s", (int)MIN(len, sizeof(file)), at, program);
		if (access(file, X_OK) == 0)
			return true;
	}
	return false;
}

/* The command of the pager, or NULL: "" and "cat" mean none. */
static const char *find_pager(void)
{
	const char *pager = getenv("PAGER");

	if (!pager)
		return is_in_path(DEFAULT_PAGER) ? DEFAULT_PAGER " " PAGER_OPTIONS : NULL;
	return *pager && strcmp(pager, "cat") ? pager : NULL;
}

/* Starts the pager; its standard input, or -1. */
static int start_pager(const char *command, pid_t *pid)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	fflush(stdout);
	*pid = fork();
	if (*pid == 0) {
		dup2(ends[0], STDIN_FILENO);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	close(ends[0]);
	if (*pid > 0)
		return ends[1];
	close(ends[1]);
	*pid = 0;
	return -1;
}

int output_open(struct output *o, const char *path, bool with_pager, struct error *err)
{
	const char *pager = with_pager ? find_pager() : NULL;
	int fd = -1;

	*o = (struct output){ .path = path, .is_terminal = !path && isatty(STDOUT_FILENO) };
	if (path) {
		o->file = fopen(path, "we");
		if (!o->file)
			return error_errno(err, -errno, "cannot write '%s'", path);
		return 0;
	}
	/* From here on a closed pipe is an error code, not the end of the program. */
	signal(SIGPIPE, SIG_IGN);
	if (o->is_terminal && pager)
		fd = start_pager(pager, &o->pager);
	if (fd < 0)
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	o->file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!o->file)
		return error_errno(err, -errno, "cannot write to standard output");
	setvbuf(o->file, NULL, _IOFBF, BUFFER_BYTES);
	return 0;
}

/* Which write of many failed, and why, stdio does not keep; the pipe still tells. */
static bool is_reader_gone(FILE *file)
{
	struct pollfd end = { .fd = fileno(file) };

	return poll(&end, 1, 0) > 0 && (end.revents & (POLLERR | POLLHUP));
}

int output_close(struct output *o, struct error *err)
{
	bool has_failed, is_gone;
	int code;

	errno = 0;
	has_failed = fflush(o->file) == EOF || ferror(o->file);
	code = errno;
	is_gone = !o->path && is_reader_gone(o->file);
	has_failed |= fclose(o->file) == EOF;
	code = code ? code : errno;
	while (o->pager && waitpid(o->pager, NULL, 0) < 0 && errno == EINTR)
		continue;
	if (!has_failed || is_gone || (!o->path && code == EPIPE))
		return 0;
	return error_errno(err, code ? -code : -EIO, "cannot write %s%s%s", o->path ? "'" : "",
			   o->path ? o->path : "to standard output", o->path ? "'" : "");
}

int output_whole(const char *path, const void *bytes, size_t size, struct error *err)
{
	bool is_stdout = !strcmp(path, "-");
	struct output out;
	struct stat st;
	int r;

	if (!is_stdout && (stat(path, &st) < 0 || S_ISREG(st.st_mode))) {
		r = file_replace(path, bytes, size, err);
		return r < 0 ? error_wrap(err, r, "cannot write") : 0;
	}
	r = output_open(&out, is_stdout ? NULL : path, false, err);
	if (r < 0)
		return r;
	r = file_write_all(fileno(out.file), bytes, size);
	if (r < 0 && !(is_stdout && r == -EPIPE)) {
		fclose(out.file);
		return error_errno(err, r, "cannot write '%s'", path);
	}
	return output_close(&out, err);
}

uint32_t output_width(const struct output *o)
{
	const char *columns = set_variable("COLUMNS");
	struct winsize size;
	long width = columns ? strtol(columns, NULL, 10) : 0;

	if (width <= 0 && o->is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		width = size.ws_col;
	return (uint32_t)(width <= 0 ? DEFAULT_WIDTH : MIN(width, MAX_WIDTH));
}

bool output_has_colour(const struct output *o)
{
	const char *term = getenv("TERM");

	return o->is_terminal && !set_variable("NO_COLOR") && term && strcmp(term, "dumb") != 0;
}

bool output_is_utf8(void)
{
	const char *locale = set_variable("LC_ALL");

	if (!locale)
		locale = set_variable("LC_CTYPE");
	if (!locale)
		locale = set_variable("LANG");
	return locale && (strcasestr(locale, "utf-8") || strcasestr(locale, "utf8"));
}
