/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/output.h"

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

#include "base/buf.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "base/utf8.h"

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

/* stdio does not keep why a write failed, when it is one of many: what it writes to does. */
struct output_sink {
	int fd, code; /* code: negative errno of the first write that failed */
	bool is_terminal;
	struct buf rest, visible; /* of a terminal: the start of a character; text to write */
};

/* The bytes of a character or a colour (ESC [ 1 ; 31 m) that a terminal may get; 0: of none. */
static size_t sink_passes(const char *text)
{
	uint32_t code_point;
	size_t n;

	if (text[0] == '\033' && text[1] == '[') {
		n = 2 + strspn(text + 2, "0123456789;");
		return text[n] == 'm' ? n + 1 : 0;
	}
	if (text[0] == '\n' || text[0] == '\t')
		return 1;
	if ((unsigned char)text[0] < 0x20 || text[0] == 0x7f || utf8_control(text, &code_point))
		return 0;
	return utf8_len(text);
}

static size_t sink_put_control(struct output_sink *s, const char *text)
{
	char one[8] = "";
	size_t n = MAX(utf8_len(text), (size_t)1); /* a byte that is not UTF-8 */

	memcpy(one, text, n);
	utf8_append_visible(&s->visible, one);
	return n;
}

/* Formats for programs keep names as they are. A terminal never gets their control characters. */
static void sink_make_visible(struct output_sink *s, bool is_end)
{
	const char *at = buf_cstr(&s->rest), *end = at + s->rest.len;

	while (at < end) {
		size_t n = sink_passes(at);

		/* The longest of our colours has 16 bytes: fewer may be the start of one. */
		if (!n && !is_end && end - at < 16 && (*at == '\033' || (unsigned char)*at >= 0xc2))
			break;
		if (n)
			buf_bytes(&s->visible, at, n);
		else
			n = sink_put_control(s, at);
		at += n;
	}
	s->rest.len = (size_t)(end - at);
	memmove(s->rest.data, at, s->rest.len);
}

static int sink_put(struct output_sink *s, const char *bytes, size_t n, bool is_end)
{
	int r;

	if (!s->is_terminal)
		return file_write_all(s->fd, bytes, n);
	buf_bytes(&s->rest, bytes, n);
	sink_make_visible(s, is_end);
	r = file_write_all(s->fd, s->visible.data, s->visible.len);
	s->visible.len = 0;
	return r;
}

static ssize_t sink_write(void *cookie, const char *bytes, size_t n)
{
	struct output_sink *s = cookie;
	int r = sink_put(s, bytes, n, false);

	if (r == 0)
		return (ssize_t)n;
	s->code = s->code ? s->code : r;
	errno = -r;
	return 0; /* an error, to fopencookie(3) */
}

static int sink_close(void *cookie)
{
	struct output_sink *s = cookie;

	sink_put(s, "", 0, true);
	buf_fini(&s->rest);
	buf_fini(&s->visible);
	if (close(s->fd) == 0)
		return 0;
	s->code = s->code ? s->code : -errno;
	return -1;
}

/* The descriptor is the stream's. */
static void open_stream(struct output *o, int fd)
{
	static const cookie_io_functions_t functions = { .write = sink_write, .close = sink_close };

	o->sink = xcalloc(1, sizeof(*o->sink));
	o->sink->fd = fd;
	o->sink->is_terminal = o->is_terminal;
	o->file = fopencookie(o->sink, "w", functions);
	if (!o->file)
		abort(); /* out of memory */
	setvbuf(o->file, NULL, _IOFBF, BUFFER_BYTES);
}

int output_open(struct output *o, const char *path, bool with_pager, struct error *err)
{
	const char *pager = with_pager ? find_pager() : NULL;
	int fd = -1;

	*o = (struct output){ .path = path, .is_terminal = !path && isatty(STDOUT_FILENO) };
	if (path) {
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (fd < 0)
			return error_errno(err, -errno, "cannot write '%s'", path);
		open_stream(o, fd);
		return 0;
	}
	/* From here on a closed pipe is an error code, not the end of the program. */
	signal(SIGPIPE, SIG_IGN);
	if (o->is_terminal && pager)
		fd = start_pager(pager, &o->pager);
	if (fd < 0)
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return error_errno(err, -errno, "cannot write to standard output");
	open_stream(o, fd);
	return 0;
}

static bool is_reader_gone(int fd)
{
	struct pollfd end = { .fd = fd };

	return poll(&end, 1, 0) > 0 && (end.revents & (POLLERR | POLLHUP));
}

int output_close(struct output *o, struct error *err)
{
	bool is_gone;
	int code;

	fflush(o->file);
	is_gone = !o->path && is_reader_gone(o->sink->fd);
	fclose(o->file);
	code = o->sink->code;
	free(take_ptr(o->sink));
	while (o->pager && waitpid(o->pager, NULL, 0) < 0 && errno == EINTR)
		continue;
	if (!code || is_gone || (!o->path && code == -EPIPE))
		return 0;
	return error_errno(err, code, "cannot write %s%s%s", o->path ? "'" : "",
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
	fwrite(bytes, 1, size, out.file);
	return output_close(&out, err);
}

void output_line(FILE *out, const char *format, ...)
{
	struct buf line = { 0 }, visible = { 0 };
	va_list ap;

	va_start(ap, format);
	buf_vprintf(&line, format, ap);
	va_end(ap);
	utf8_append_visible(&visible, buf_cstr(&line));
	buf_u8(&visible, '\n');
	fwrite(visible.data, 1, visible.len, out);
	buf_fini(&line);
	buf_fini(&visible);
}

bool output_has_width(const struct output *o)
{
	return o->is_terminal || set_variable("COLUMNS");
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
