/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/control_channel.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"

static const char ack[] = "ack\n";

const char *const control_message_words[N_CONTROL_MESSAGES] = {
#define X(id, word, argument) [CONTROL_##id] = word,
	CONTROL_MESSAGES(X)
#undef X
};

/* Text. */

static bool is_end(char c)
{
	return c == '\n' || c == '\0';
}

/* Strips spaces; the next byte begins a new message. */
static bool control_text_finish(struct control_text *t)
{
	size_t from = 0;

	while (t->n && isspace((unsigned char)t->text[t->n - 1]))
		t->n--;
	while (from < t->n && isspace((unsigned char)t->text[from]))
		from++;
	memmove(t->text, t->text + from, t->n - from);
	t->text[t->n - from] = '\0';
	t->n = 0;
	return *t->text;
}

bool control_text_feed(struct control_text *t, const char *bytes, size_t size, size_t *used)
{
	assert(t->n < sizeof(t->text));
	for (*used = 0; *used < size;) {
		char c = bytes[(*used)++];

		if (!is_end(c)) {
			if (t->n < sizeof(t->text) - 1)
				t->text[t->n++] = c;
		} else if (control_text_finish(t)) {
			return true;
		}
	}
	return false;
}

bool control_text_end(struct control_text *t)
{
	return control_text_finish(t);
}

static const char *const arguments[N_CONTROL_MESSAGES] = {
#define X(id, word, argument) [CONTROL_##id] = argument,
	CONTROL_MESSAGES(X)
#undef X
};

int control_text_message(const struct control_text *t, const char **argument)
{
	size_t len = strcspn(t->text, " \t");

	*argument = t->text + len + strspn(t->text + len, " \t");
	for (int i = 0; i < N_CONTROL_MESSAGES; i++)
		if (strlen(control_message_words[i]) == len &&
		    !memcmp(t->text, control_message_words[i], len))
			return **argument && !*arguments[i] ? -1 : i;
	return -1;
}

static void report_unknown(struct control_text *t,
			   void (*report)(void *context, const char *sentence), void *context)
{
	char sentence[512];
	size_t n;

	for (char *at = t->text; *at; at++)
		*at = isprint((unsigned char)*at) ? *at : '?';
	n = (size_t)snprintf(sentence, sizeof(sentence), "--control: '%s' is none of", t->text);
	for (int i = 0; i < N_CONTROL_MESSAGES; i++)
		n += (size_t)snprintf(sentence + n, sizeof(sentence) - n, "%s %s", i ? "," : "",
				      control_message_words[i]);
	report(context, sentence);
}

/* The channel. */

struct control_channel {
	int fd;        /* the source of messages; -1: no writer any more */
	int ack_fd;    /* -1: no acknowledgements */
	int poll_fd;   /* epoll over both */
	char *path;    /* of a FIFO, to be opened anew; NULL: a given descriptor */
	bool owns_ack; /* else it was given */
	struct control_text text;
	char bytes[512];
	size_t at, n;  /* the rest to read */
	size_t n_acks; /* bytes to write */
	bool waits_for_room;
};

static int bad_spec(const char *spec, struct error *err)
{
	return error_set(err, -EINVAL,
			 "--control '%.100s': give fifo:CTL[,ACK] (named pipes, see mkfifo(1)) or "
			 "fd:N[,M] (open descriptors)",
			 spec);
}

static int open_fifo(const char *path, int flags, struct error *err)
{
	struct stat st;
	int fd;

	if (stat(path, &st) < 0)
		return error_set(err, -errno, "--control: %s: %s%s", path, strerror(errno),
				 errno == ENOENT ? "; make it with mkfifo" : "");
	if (!S_ISFIFO(st.st_mode))
		return error_set(err, -ENODEV, "--control: %s is no FIFO; make one with mkfifo",
				 path);
	fd = open(path, flags | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? error_errno(err, -errno, "--control: %s", path) : fd;
}

/* Opened read-only, so that the end of a writer shows; the ACK for both: it needs no reader. */
static int open_fifos(struct control_channel *c, char *names, struct error *err)
{
	char *second = strchr(names, ',');

	if (second)
		*second++ = '\0';
	if (!*names || (second && !*second))
		return -EINVAL;
	c->path = xstrdup(names);
	c->fd = open_fifo(names, O_RDONLY, err);
	if (c->fd < 0)
		return c->fd;
	c->owns_ack = true;
	if (second)
		c->ack_fd = open_fifo(second, O_RDWR, err);
	return second && c->ack_fd < 0 ? c->ack_fd : 0;
}

static bool parse_fd(const char **at, int *fd)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(*at, &end, 10);
	if (!isdigit((unsigned char)**at) || errno || n > INT_MAX)
		return false;
	*fd = (int)n;
	*at = end;
	return true;
}

static int check_fd(int fd, int unwanted, const char *what, struct error *err)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return error_errno(err, -errno, "--control: descriptor %d", fd);
	if ((flags & O_ACCMODE) == unwanted)
		return error_set(err, -EBADF, "--control: descriptor %d is not open for %s", fd,
				 what);
	/* others may share the open file's flag; but a message must not stop the recording */
	if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return error_errno(err, -errno, "--control: descriptor %d", fd);
	return 0;
}

static int parse_fds(struct control_channel *c, const char *numbers, struct error *err)
{
	int r;

	if (!parse_fd(&numbers, &c->fd))
		return -EINVAL;
	if (*numbers == ',') {
		numbers++;
		if (!parse_fd(&numbers, &c->ack_fd))
			return -EINVAL;
	}
	if (*numbers)
		return -EINVAL;
	r = check_fd(c->fd, O_WRONLY, "reading", err);
	return r || c->ack_fd < 0 ? r : check_fd(c->ack_fd, O_RDONLY, "writing", err);
}

static int watch_fd(struct control_channel *c, int operation, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events };

	return epoll_ctl(c->poll_fd, operation, fd, &event) < 0 ? -errno : 0;
}

static int watch_all(struct control_channel *c, struct error *err)
{
	int r;

	c->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (c->poll_fd < 0)
		return error_errno(err, -errno, "epoll_create1");
	r = watch_fd(c, EPOLL_CTL_ADD, c->fd, EPOLLIN);
	if (r == -EPERM)
		return error_set(err, r,
				 "--control: a file can't be waited for: give pipes or sockets");
	return r < 0 ? error_errno(err, r, "--control") : 0;
}

int control_channel_open(const char *spec, struct control_channel **out, struct error *err)
{
	struct control_channel *c = xcalloc(1, sizeof(*c));
	struct error why = { 0 };
	int r = -EINVAL;

	c->fd = c->ack_fd = c->poll_fd = -1;
	if (!strncmp(spec, "fifo:", 5)) {
		cleanup(free_at_exit) char *names = xstrdup(spec + 5);

		r = open_fifos(c, names, &why);
	} else if (!strncmp(spec, "fd:", 3)) {
		r = parse_fds(c, spec + 3, &why);
	}
	if (!r)
		r = watch_all(c, &why);
	if (!r) {
		*out = c;
		return 0;
	}
	control_channel_close(c);
	return why.code ? error_set(err, r, "%s", why.text) : bad_spec(spec, err);
}

void control_channel_close(struct control_channel *c)
{
	if (!c)
		return;
	close_at_exit(&c->poll_fd);
	if (c->path)
		close_at_exit(&c->fd);
	if (c->owns_ack)
		close_at_exit(&c->ack_fd);
	free(c->path);
	free(c);
}

int control_channel_fd(const struct control_channel *c)
{
	return c->poll_fd;
}

/* Wakes us when there is room again. Only then: the end of a reader would wake us for ever. */
static void wait_for_room(struct control_channel *c, bool waits)
{
	if (waits == c->waits_for_room || c->ack_fd == c->fd)
		return;
	watch_fd(c, waits ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, c->ack_fd, EPOLLOUT);
	c->waits_for_room = waits;
}

/* Acks come out complete, even if writes split them: the rest is counted in bytes. */
static void write_acks(struct control_channel *c)
{
	const size_t len = sizeof(ack) - 1;

	while (c->n_acks) {
		size_t at = (len - c->n_acks % len) % len;
		ssize_t n = file_write_quietly(c->ack_fd, ack + at, len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			c->n_acks = 0; /* no reader will come */
		if (n < 0)
			break;
		c->n_acks -= (size_t)n;
	}
	wait_for_room(c, c->n_acks > 0);
}

void control_channel_ack(struct control_channel *c)
{
	if (c->ack_fd < 0)
		return;
	c->n_acks += sizeof(ack) - 1;
	write_acks(c);
}

/*
 * The writers have gone. The next one needs a newly opened FIFO, because the old descriptor would
 * be readable (at its end) for ever. The new one is opened before the old one is closed, so that a
 * writer in between finds a reader.
 */
static void reopen_fifo(struct control_channel *c)
{
	int next = c->path ? open(c->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;

	watch_fd(c, EPOLL_CTL_DEL, c->fd, 0);
	if (c->path)
		close(c->fd);
	c->fd = next;
	if (next >= 0)
		watch_fd(c, EPOLL_CTL_ADD, next, EPOLLIN);
}

/* True: there are bytes, or the end of a writer has ended a message. */
static bool channel_read_more(struct control_channel *c)
{
	ssize_t n;

	if (c->fd < 0)
		return false;
	do
		n = read(c->fd, c->bytes, sizeof(c->bytes));
	while (n < 0 && errno == EINTR);
	c->at = 0;
	c->n = n > 0 ? (size_t)n : 0;
	if (n == 0 || (n < 0 && errno != EAGAIN))
		reopen_fifo(c);
	return n > 0;
}

static bool next_text(struct control_channel *c)
{
	for (;;) {
		size_t used;
		int fd = c->fd;

		if (c->at < c->n) {
			bool has_one =
				control_text_feed(&c->text, c->bytes + c->at, c->n - c->at, &used);

			c->at += used;
			if (has_one)
				return true;
		}
		if (channel_read_more(c))
			continue;
		/* a writer that leaves without a newline has completed its message */
		return fd != c->fd && control_text_end(&c->text);
	}
}

int control_channel_next(struct control_channel *c, enum control_message *out,
			 const char **argument, void (*report)(void *context, const char *sentence),
			 void *context)
{
	write_acks(c);
	while (next_text(c)) {
		int message = control_text_message(&c->text, argument);

		if (message >= 0) {
			*out = (enum control_message)message;
			return 1;
		}
		report_unknown(&c->text, report, context);
	}
	return 0;
}
