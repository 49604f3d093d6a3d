/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/control.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "open/unix_socket.h"

/* The most work of one control_serve(), because the rings wait meanwhile. */
#define MAX_EVENTS   64
#define MAX_ACCEPTS  32
#define MAX_REQUESTS 8 /* of a client */
#define READ_BYTES   4096

#define REMEMBER_NS 20000000ULL /* time for which an answer may be repeated */
#define FULL_TEXT   "too many clients are being served; try again"
#define LONG_TEXT   "a request has at most 16384 bytes"
_Static_assert(REQUEST_LINE_MAX == 16384, "LONG_TEXT says it");

struct client {
	int fd;
	uint32_t index;  /* in control->clients */
	uint32_t events; /* the present epoll events */
	struct ucred peer;
	struct buf in, out; /* in: the beginning of a line; out: answers, unsent from n_sent on */
	size_t n_sent;
	uint64_t active_ns;  /* when it was last served */
	uint64_t waiting_ns; /* since when a line or an answer is incomplete; 0: none is */
	bool has_ended;      /* it sends no more; closed when its answers are sent */
};

/* The last answer. Making an answer is most of a request's cost. */
struct remembered {
	char line[64];
	size_t len;
	uint64_t when_ns;
	struct buf answer; /* empty: none */
};

struct control {
	const struct control_handlers *handlers;
	void *context;
	struct unix_address address;
	int epoll, listener;
	int timer, more;  /* descriptors: readable at the next second; readable while has_more */
	uint64_t now_ns;  /* of this control_serve() */
	uint64_t tidy_ns; /* the last check for slow and silent clients */
	bool is_timed;    /* the timer runs */
	bool is_deaf;     /* no descriptor was left for accept(); until the next second */
	bool has_more;    /* some lines were read and are not answered yet */
	struct remembered remembered;
	VEC(struct client *) clients;
};

/* ---- clients ---- */

static void client_watch(struct control *c, struct client *client, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.ptr = client };

	if (client->events != events)
		epoll_ctl(c->epoll, EPOLL_CTL_MOD, client->fd, &e);
	client->events = events;
}

static void drop(struct control *c, struct client *client)
{
	struct client *last = c->clients.data[c->clients.n - 1];

	c->clients.data[client->index] = last;
	last->index = client->index;
	c->clients.n--;
	/*
	 * A child that was forked meanwhile may still have it open: then epoll would still report
	 * it.
	 */
	epoll_ctl(c->epoll, EPOLL_CTL_DEL, client->fd, NULL);
	close(client->fd);
	buf_fini(&client->in);
	buf_fini(&client->out);
	free(client);
}

static void refuse_for_now(int fd, const char *text)
{
	struct buf line = { 0 };

	request_refuse(&line, text, true);
	send(fd, line.data, line.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	buf_fini(&line);
	close(fd);
}

/* A user has at most half of the places, and all users three quarters: root keeps the others. */
static bool lacks_share(const struct control *c, int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	size_t n = 0, n_users = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.uid == 0)
		return false;
	vec_foreach (&c->clients, client) {
		n += (*client)->peer.uid == peer.uid;
		n_users += (*client)->peer.uid != 0;
	}
	return n >= CONTROL_MAX_CLIENTS / 2 || n_users >= CONTROL_MAX_CLIENTS / 4 * 3;
}

void control_adopt(struct control *c, int fd, uint64_t now_ns)
{
	struct epoll_event e = { .events = EPOLLIN };
	socklen_t size = sizeof(struct ucred);
	struct client *client;

	if (c->clients.n >= CONTROL_MAX_CLIENTS || lacks_share(c, fd)) {
		refuse_for_now(fd, FULL_TEXT);
		return;
	}
	client = xcalloc(1, sizeof(*client));
	*client = (struct client){
		.fd = fd, .index = (uint32_t)c->clients.n, .events = EPOLLIN, .active_ns = now_ns
	};
	fcntl(fd, F_SETFL, O_NONBLOCK);
	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &client->peer, &size);
	vec_push(&c->clients, client);
	e.data.ptr = client;
	if (epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &e) < 0)
		drop(c, client);
}

uint32_t control_clients(const struct control *c)
{
	return (uint32_t)c->clients.n;
}

/* ---- answers ---- */

/*
 * Logs a request that changes something, with the user who sent it. The log is ASCII, because
 * people read it in terminals. A client repeats a temporary refusal: only the last one is logged.
 */
static void control_log_request(const struct client *client, const struct request_outcome *o)
{
	cleanup(free_at_exit) char *text = NULL;

	if (!o->row || o->row->effect != REQUEST_CHANGES || o->result == -EAGAIN)
		return;
	text = json_dumps(o->request, JSON_COMPACT | JSON_ENSURE_ASCII);
	log_info("control: process %d of user %u: %s%s%s", (int)client->peer.pid,
		 (unsigned)client->peer.uid, text, o->result < 0 ? ": " : "",
		 o->result < 0 ? o->err.text : "");
}

static bool is_remembered(const struct control *c, const char *line, size_t len)
{
	const struct remembered *r = &c->remembered;

	return r->answer.len && c->now_ns - r->when_ns < REMEMBER_NS && len == r->len &&
	       !memcmp(line, r->line, len);
}

/* Keeps the last read-only answer until an action may change it. */
static void control_remember_answer(struct control *c, const char *line, size_t len,
				    const struct request_outcome *o, const uint8_t *answer,
				    size_t size)
{
	struct remembered *r = &c->remembered;

	r->answer.len = 0;
	if (o->result < 0 || o->row->effect != REQUEST_TELLS || len > sizeof(r->line))
		return;
	memcpy(r->line, line, len);
	r->len = len;
	r->when_ns = c->now_ns;
	buf_bytes(&r->answer, answer, size);
}

static void control_answer(struct control *c, struct client *client, const char *line, size_t len)
{
	struct request_outcome outcome;
	size_t before = client->out.len;

	client->active_ns = c->now_ns;
	if (is_remembered(c, line, len)) {
		buf_bytes(&client->out, c->remembered.answer.data, c->remembered.answer.len);
		return;
	}
	request_answer(c->handlers, c->context, line, len, &client->out, &outcome);
	control_log_request(client, &outcome);
	control_remember_answer(c, line, len, &outcome, client->out.data + before,
				client->out.len - before);
	json_decref(outcome.request);
}

/* Sends as much as possible. False: the client is gone. */
static bool client_flush(struct client *client)
{
	while (client->n_sent < client->out.len) {
		ssize_t n = send(client->fd, client->out.data + client->n_sent,
				 client->out.len - client->n_sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		client->n_sent += (size_t)n;
	}
	buf_fini(&client->out);
	client->n_sent = 0;
	return true;
}

/* Finds the next line of `in` from `at` on. Returns its length without the newline, or -1. */
static ssize_t next_line(const struct client *client, size_t at)
{
	const uint8_t *begin = client->in.data + at, *end;

	if (at == client->in.len)
		return -1;
	end = memchr(begin, '\n', client->in.len - at);
	if (end)
		return end - begin;
	return client->has_ended ? (ssize_t)(client->in.len - at) : -1;
}

static bool is_too_long(const struct client *client, size_t at, ssize_t len)
{
	size_t n = len >= 0 ? (size_t)len : client->in.len - at;

	return n >= REQUEST_LINE_MAX;
}

/* The client's next bytes are not read. */
static void client_refuse_long(struct client *client, size_t *at)
{
	request_refuse(&client->out, LONG_TEXT, false);
	*at = client->in.len;
	client->has_ended = true;
}

/*
 * Answers the complete lines, as long as the client reads the answers. False: drop the client.
 * Empty lines are ignored.
 */
static bool answer_lines(struct control *c, struct client *client)
{
	bool is_there = client_flush(client);
	size_t at = 0;

	for (int n = 0; is_there && !client->out.len; n++) {
		ssize_t len = next_line(client, at);

		if (is_too_long(client, at, len)) {
			client_refuse_long(client, &at);
		} else if (len < 0) {
			break;
		} else if (n == MAX_REQUESTS) {
			c->has_more = true;
			break;
		} else {
			if (len)
				control_answer(c, client, (const char *)client->in.data + at,
					       (size_t)len);
			at = MIN(at + (size_t)len + 1, client->in.len);
		}
		is_there = client_flush(client);
	}
	if (at)
		memmove(client->in.data, client->in.data + at, client->in.len - at);
	client->in.len -= at;
	if (!client->in.len)
		buf_fini(&client->in);
	return is_there;
}

/* ---- epoll events ---- */

/* False: the client sends no more, or is gone. */
static bool receive(struct client *client)
{
	ssize_t n;

	buf_reserve(&client->in, READ_BYTES);
	n = recv(client->fd, client->in.data + client->in.len, READ_BYTES, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	client->in.len += (size_t)n;
	return n > 0;
}

/* Sets the events to wait for. Drops a client that waits for nothing. */
static void client_settle(struct control *c, struct client *client, bool is_there)
{
	bool is_sending = client->out.len > 0;

	if (!is_there || (client->has_ended && !is_sending && !client->in.len)) {
		drop(c, client);
		return;
	}
	/* A client with unsent answers or unanswered lines is not read. */
	client_watch(c, client, is_sending ? EPOLLOUT : client->has_ended ? 0 : EPOLLIN);
	if (!is_sending && !client->in.len)
		client->waiting_ns = 0;
	else if (!client->waiting_ns)
		client->waiting_ns = c->now_ns;
}

static void serve_client(struct control *c, struct client *client, uint32_t events)
{
	bool is_there = true;

	if ((events & (EPOLLIN | EPOLLHUP)) && !client->out.len && !client->has_ended &&
	    client->in.len < REQUEST_LINE_MAX)
		client->has_ended = !receive(client);
	if (events & EPOLLERR)
		is_there = false;
	is_there = is_there && answer_lines(c, client);
	/* A client that hung up reads no answers. */
	if ((events & EPOLLHUP) && client->out.len)
		is_there = false;
	client_settle(c, client, is_there);
}

static void listen_again(struct control *c, bool is_listening)
{
	struct epoll_event e = { .events = is_listening ? EPOLLIN : 0, .data.ptr = &c->listener };

	epoll_ctl(c->epoll, EPOLL_CTL_MOD, c->listener, &e);
	c->is_deaf = !is_listening;
}

static void accept_clients(struct control *c)
{
	for (int i = 0; i < MAX_ACCEPTS; i++) {
		int fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0)
			control_adopt(c, fd, c->now_ns);
		else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			return listen_again(c, false);
		else if (errno != ECONNABORTED && errno != EINTR)
			return;
	}
}

static void serve_left_over(struct control *c)
{
	uint64_t n;

	if (read(c->more, &n, sizeof(n)) < 0)
		return;
	c->has_more = false;
	for (size_t i = c->clients.n; i-- > 0;) {
		struct client *client = c->clients.data[i];

		if (client->in.len && !client->out.len)
			client_settle(c, client, answer_lines(c, client));
	}
}

/* Drops slow and silent clients. */
static void control_drop_idle(struct control *c)
{
	if (c->now_ns < c->tidy_ns + NS_PER_SECOND)
		return;
	c->tidy_ns = c->now_ns;
	if (c->is_deaf)
		listen_again(c, true);
	for (size_t i = c->clients.n; i-- > 0;) {
		struct client *client = c->clients.data[i];
		uint64_t slow_ns = client->waiting_ns + CONTROL_SLOW_S * NS_PER_SECOND;

		if ((client->waiting_ns && c->now_ns > slow_ns) ||
		    c->now_ns > client->active_ns + CONTROL_IDLE_S * NS_PER_SECOND)
			drop(c, client);
	}
}

/* Sets the timers that cause the next control_serve() when no client does. */
static void set_timers(struct control *c)
{
	static const struct itimerspec second = { .it_value.tv_sec = 1 };

	if (c->has_more)
		eventfd_write(c->more, 1);
	if (!c->is_timed && (c->clients.n || c->is_deaf)) {
		timerfd_settime(c->timer, 0, &second, NULL);
		c->is_timed = true;
	}
}

void control_serve(struct control *c, uint64_t now_ns)
{
	struct epoll_event events[MAX_EVENTS];
	int n = epoll_wait(c->epoll, events, MAX_EVENTS, 0);
	bool has_left_over = false, has_new = false;
	uint64_t ticks;

	c->now_ns = now_ns;
	for (int i = 0; i < n; i++) {
		void *what = events[i].data.ptr;

		if (what == &c->timer)
			c->is_timed = read(c->timer, &ticks, sizeof(ticks)) < 0;
		else if (what == &c->more)
			has_left_over = true;
		else if (what == &c->listener)
			has_new = true;
		else
			serve_client(c, what, events[i].events);
	}
	/* This may drop clients that are still in `events`. */
	if (has_left_over)
		serve_left_over(c);
	if (has_new)
		accept_clients(c);
	control_drop_idle(c);
	set_timers(c);
}

int control_fd(const struct control *c)
{
	return c->epoll;
}

/* ---- opening and closing ---- */

static int control_add_descriptor(struct control *c, int fd, void *tag)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = tag };

	return epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

/* Removes the socket of a killed daemon, and nothing else. */
static int remove_old(const char *path, struct error *err)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return error_set(err, -EEXIST, "'%s' is not a socket; please move it away", path);
	return unlink(path) < 0 ? error_errno(err, -errno, "cannot remove '%s'", path) : 0;
}

/* bind(2) makes the file with the socket's mode: nobody else can connect before the group is set.
 */
static int control_listen(struct control *c, const char *path, struct error *err)
{
	struct group *group = getgrnam(CONTROL_GROUP);

	c->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->listener < 0 || fchmod(c->listener, 0600) < 0 ||
	    bind(c->listener, (const struct sockaddr *)&c->address.name, c->address.size) < 0)
		return error_errno(err, -errno, "cannot make the socket '%s'", path);
	if (group && lchown(path, (uid_t)-1, group->gr_gid) < 0)
		log_warning("'%s': group %s: %s", path, CONTROL_GROUP, strerror(errno));
	if (chmod(path, 0660) < 0 || listen(c->listener, SOMAXCONN) < 0)
		return error_errno(err, -errno, "cannot listen at '%s'", path);
	return 0;
}

int control_open(const char *path, const struct control_handlers *handlers, void *context,
		 struct control **out, struct error *err)
{
	cleanup(control_close_at_exit) struct control *c = xcalloc(1, sizeof(*c));
	int r = remove_old(path, err);

	c->handlers = handlers;
	c->context = context;
	c->listener = c->address.dir = -1;
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	c->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	c->more = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = r < 0 ? r : unix_address_of(path, &c->address, err);
	r = r < 0 ? r : control_listen(c, path, err);
	if (r < 0)
		return r;
	r = control_add_descriptor(c, c->listener, &c->listener);
	r = r < 0 ? r : control_add_descriptor(c, c->timer, &c->timer);
	r = r < 0 ? r : control_add_descriptor(c, c->more, &c->more);
	if (r < 0)
		return error_errno(err, r, "cannot watch '%s'", path);
	*out = take_ptr(c);
	return 0;
}

void control_close(struct control *c)
{
	if (!c)
		return;
	while (c->clients.n)
		drop(c, c->clients.data[c->clients.n - 1]);
	vec_fini(&c->clients);
	buf_fini(&c->remembered.answer);
	if (c->listener >= 0) {
		unlink(c->address.name.sun_path);
		close(c->listener);
	}
	unix_address_fini(&c->address);
	close_at_exit(&c->timer);
	close_at_exit(&c->more);
	close_at_exit(&c->epoll);
	free(c);
}
