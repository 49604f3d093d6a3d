/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/http_server.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/lazy_library.h"
#include "config.h"
#include "http/http_body.h"

/* Of one http_server_serve(): the caller's other work waits meanwhile. */
#define MAX_RUNS 8

#define UNIX_PREFIX "unix:"

#define FUNCTIONS(X)                                          \
	X(MHD_start_daemon)                                   \
	X(MHD_stop_daemon)                                    \
	X(MHD_run)                                            \
	X(MHD_add_connection)                                 \
	X(MHD_get_connection_info)                            \
	X(MHD_get_timeout)                                    \
	X(MHD_get_daemon_info)                                \
	X(MHD_lookup_connection_value)                        \
	X(MHD_suspend_connection)                             \
	X(MHD_resume_connection)                              \
	X(MHD_create_response_from_buffer_with_free_callback) \
	X(MHD_add_response_header)                            \
	X(MHD_queue_response)                                 \
	X(MHD_destroy_response)

static struct {
	FUNCTIONS(LAZY_POINTER)
} mhd;

#define ROW(function) { #function, &mhd.function },
static const struct lazy_function functions[] = { FUNCTIONS(ROW) };

struct http_client {
	int fd;
	uint64_t peer;
	bool is_waiting; /* for an answer of ours, and so not to be dropped */
};

struct http_request {
	struct http_server *server;
	struct MHD_Connection *connection;
	const char *method, *path;
	struct buf body;
	struct MHD_Response *response; /* NULL: there is no answer yet */
	unsigned int status;
	bool is_taken, is_too_large, is_waiting;
	struct http_request *next; /* of the waiting ones */
};

struct http_server {
	struct MHD_Daemon *mhd;
	struct http_options options;
	int listener, epoll, timer; /* the epoll has the other two, and the library's own one */
	VEC(struct http_client) clients; /* oldest first */
	struct http_request *waiting;
	uint64_t new_peer; /* of the connection that is being added */
	char address[128];
	char *socket_path; /* of a Unix socket, which goes with the server */
	bool is_reachable, is_closing;
};

/* ---- requests ---- */

const char *http_request_method(const struct http_request *q)
{
	return q->method;
}

const char *http_request_path(const struct http_request *q)
{
	return q->path;
}

const char *http_request_header(const struct http_request *q, const char *name)
{
	return mhd.MHD_lookup_connection_value(q->connection, MHD_HEADER_KIND, name);
}

const char *http_request_argument(const struct http_request *q, const char *name)
{
	return mhd.MHD_lookup_connection_value(q->connection, MHD_GET_ARGUMENT_KIND, name);
}

const struct buf *http_request_body(const struct http_request *q)
{
	return &q->body;
}

static struct http_client *client_of(struct http_server *h, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		mhd.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	vec_foreach (&h->clients, client)
		if (info && client->fd == info->connect_fd)
			return client;
	return NULL;
}

static void set_waiting(struct http_request *q, bool is_waiting)
{
	struct http_server *h = q->server;
	struct http_client *client = client_of(h, q->connection);
	struct http_request **at = &h->waiting;

	q->is_waiting = is_waiting;
	if (client)
		client->is_waiting = is_waiting;
	if (is_waiting) {
		q->next = h->waiting;
		h->waiting = q;
		return;
	}
	while (*at != q)
		at = &(*at)->next;
	*at = q->next;
}

void http_request_answer(struct http_request *q, const struct http_answer *a)
{
	struct http_body *body = http_body_share(a->body);

	assert(!q->response);
	q->status = a->status;
	q->response = mhd.MHD_create_response_from_buffer_with_free_callback(http_body_size(body),
									     http_body_bytes(body),
									     http_body_drop_bytes);
	if (!q->response)
		http_body_drop(body);
	for (size_t i = 0; q->response && i < a->n_headers; i++)
		mhd.MHD_add_response_header(q->response, a->headers[i].name, a->headers[i].value);
	if (!q->is_waiting)
		return;
	set_waiting(q, false);
	mhd.MHD_resume_connection(q->connection);
}

void http_request_answer_text(struct http_request *q, unsigned int status, const char *text)
{
	const struct http_header headers[] = {
		{ "Content-Type", "text/plain; charset=utf-8" },
	};
	struct http_answer answer = { .status = status,
				      .headers = headers,
				      .n_headers = ARRAY_SIZE(headers),
				      .body = http_body_new(text, strlen(text)) };

	http_request_answer(q, &answer);
	http_body_drop(answer.body);
}

static enum MHD_Result send_answer(struct http_request *q)
{
	enum MHD_Result result = MHD_NO;

	if (!q->response)
		return MHD_NO;
	result = mhd.MHD_queue_response(q->connection, q->status, q->response);
	mhd.MHD_destroy_response(q->response);
	q->response = NULL;
	return result;
}

/* Keeps the next bytes of a body. Those beyond the limit are read and dropped. */
static enum MHD_Result take_body(struct http_request *q, const char *bytes, size_t *size)
{
	if (q->body.len + *size > q->server->options.body_bytes)
		q->is_too_large = true;
	else
		buf_bytes(&q->body, bytes, *size);
	*size = 0;
	return MHD_YES;
}

/*
 * The library calls this with the headers, then with each piece of the body, then without one, and
 * again when a waiting request has its answer.
 */
static enum MHD_Result on_request(void *data, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **state)
{
	struct http_server *h = data;
	struct http_request *q = *state;

	(void)version;
	if (h->is_closing)
		return MHD_NO;
	if (!q) {
		q = xcalloc(1, sizeof(*q));
		*q = (struct http_request){ .server = h, .connection = connection };
		*state = q;
		/* An answer now would end the connection, as there may be a body. */
		if (h->options.body_bytes || !strcmp(method, "GET") || !strcmp(method, "HEAD"))
			return MHD_YES;
	}
	q->method = method;
	q->path = url;
	if (*upload_size && h->options.body_bytes)
		return take_body(q, upload, upload_size);
	if (q->is_taken)
		return send_answer(q);
	q->is_taken = true;
	if (q->is_too_large)
		http_request_answer_text(q, 413, "the body is too large\n");
	else
		h->options.take(h->options.context, q);
	if (q->response)
		return send_answer(q);
	set_waiting(q, true);
	mhd.MHD_suspend_connection(connection);
	return MHD_YES;
}

static void on_end(void *data, struct MHD_Connection *connection, void **state,
		   enum MHD_RequestTerminationCode why)
{
	struct http_request *q = *state;

	(void)data, (void)connection, (void)why;
	if (!q)
		return;
	if (q->response)
		mhd.MHD_destroy_response(q->response);
	buf_fini(&q->body);
	free(q);
	*state = NULL;
}

/* ---- clients ---- */

/* The machine: of IPv6, the network of 64 bits, as one machine has all of its addresses. */
static uint64_t peer_of(const struct sockaddr *a)
{
	const struct sockaddr_in6 *v6 = (const void *)a;
	uint64_t peer = 0;

	if (a->sa_family == AF_INET)
		return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr;
	if (a->sa_family == AF_INET6)
		memcpy(&peer, &v6->sin6_addr, sizeof(peer));
	return peer;
}

/* Called when the server has begun or ended a connection. */
static void on_connection(void *data, struct MHD_Connection *connection, void **state,
			  enum MHD_ConnectionNotificationCode what)
{
	struct http_server *h = data;
	const union MHD_ConnectionInfo *info =
		mhd.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	(void)state;
	if (!info)
		return;
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		vec_push(&h->clients, (struct http_client){ info->connect_fd, h->new_peer });
		return;
	}
	for (size_t i = 0; i < h->clients.n; i++) {
		struct http_client *at = &h->clients.data[i];

		if (at->fd != info->connect_fd)
			continue;
		h->clients.n--;
		memmove(at, at + 1, (h->clients.n - i) * sizeof(*at));
		return;
	}
}

static uint32_t clients_of(const struct http_server *h, uint64_t peer)
{
	uint32_t n = 0;

	vec_foreach (&h->clients, client)
		n += client->peer == peer;
	return n;
}

/*
 * Connections that say nothing cannot keep others out: a new client takes the place of the oldest
 * one, of the machine that has most of them. Clients that wait for our answer stay. Returns false
 * if all of them do.
 */
static bool make_place(struct http_server *h)
{
	const struct http_client *victim = NULL;
	uint32_t most = 0;

	vec_foreach (&h->clients, client) {
		uint32_t n = client->is_waiting ? 0 : clients_of(h, client->peer);

		if (n > most)
			victim = client;
		most = MAX(n, most);
	}
	if (!victim)
		return false;
	shutdown(victim->fd, SHUT_RDWR);
	mhd.MHD_run(h->mhd);
	return true;
}

static void accept_clients(struct http_server *h)
{
	for (uint32_t i = 0; i < h->options.clients / 2; i++) {
		struct sockaddr_storage a;
		socklen_t size = sizeof(a);
		int fd = accept4(h->listener, (struct sockaddr *)&a, &size,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		if (h->clients.n >= h->options.clients && !make_place(h)) {
			close(fd);
			continue;
		}
		h->new_peer = peer_of((const struct sockaddr *)&a);
		/* It closes the socket if it fails. */
		mhd.MHD_add_connection(h->mhd, fd, (struct sockaddr *)&a, size);
	}
}

/* ---- the address ---- */

struct place {
	char host[64], port[8];
};

static int split_address(const char *address, struct place *out, struct error *err)
{
	const char *colon = strrchr(address, ':');
	const char *port = colon ? colon + 1 : address, *host = colon ? address : "";
	size_t n = colon ? (size_t)(colon - address) : 0;

	if (n >= 2 && host[0] == '[' && host[n - 1] == ']') {
		host++;
		n -= 2;
	} else if (memchr(host, ':', n)) {
		n = sizeof(out->host); /* without the brackets of IPv6 */
	}
	if (n >= sizeof(out->host) || !*port || strlen(port) >= sizeof(out->port) ||
	    strspn(port, "0123456789") != strlen(port) || strtoul(port, NULL, 10) > 65535)
		return error_set(err, -EINVAL,
				 "'%s' is not an address: use PORT, ADDRESS:PORT, [ADDRESS]:PORT "
				 "or unix:PATH",
				 address);
	snprintf(out->host, sizeof(out->host), "%.*s", n ? (int)n : 9, n ? host : "127.0.0.1");
	strcpy(out->port, port);
	return 0;
}

static bool is_loopback(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >>
			       24 ==
		       IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

/* Finds the address that it listens at, with the port that the kernel chose. */
static void name_address(struct http_server *h, int fd)
{
	struct sockaddr_storage a;
	struct sockaddr *name = (struct sockaddr *)&a;
	socklen_t size = sizeof(a);
	char host[64], port[8];

	if (getsockname(fd, name, &size) < 0 ||
	    getnameinfo(name, size, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		return;
	snprintf(h->address, sizeof(h->address), a.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s",
		 host, port);
	h->is_reachable = !is_loopback(name);
}

static int bind_to(const struct addrinfo *info, struct http_server *h, const char *address,
		   struct error *err)
{
	cleanup(close_at_exit) int fd =
		socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1, owned;

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, info->ai_addr, info->ai_addrlen) < 0 || listen(fd, SOMAXCONN) < 0)
		return error_errno(err, -errno, "cannot listen at '%s'", address);
	name_address(h, fd);
	owned = fd;
	fd = -1;
	return owned;
}

/* The caller frees *out with freeaddrinfo(). */
static int http_resolve(const char *address, struct addrinfo **out, struct error *err)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
				  .ai_socktype = SOCK_STREAM };
	struct place place;
	int r = split_address(address, &place, err);

	if (r < 0)
		return r;
	return getaddrinfo(place.host, place.port, &hints, out)
		       ? error_set(err, -EINVAL, "'%s' is not a numeric address", place.host)
		       : 0;
}

int http_address_check(const char *address, struct error *err)
{
	struct addrinfo *info;
	int r;

	if (!strncmp(address, UNIX_PREFIX, strlen(UNIX_PREFIX)))
		return 0;
	r = http_resolve(address, &info, err);
	if (!r)
		freeaddrinfo(info);
	return r;
}

/* Only the own user may connect: the mode of a socket counts from its first moment. */
static int bind_to_path(struct http_server *h, const char *path, struct error *err)
{
	cleanup(close_at_exit) int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	struct stat st;
	mode_t mask;
	int owned, r;

	if (!*path || strlen(path) >= sizeof(name.sun_path))
		return error_set(err, -EINVAL,
				 "'%s' is not a path of a socket: it has 1 to %zu bytes", path,
				 sizeof(name.sun_path) - 1);
	strcpy(name.sun_path, path);
	if (fd < 0)
		return error_errno(err, -errno, "cannot make a socket");
	/* A socket that nobody listens at is of a server that was killed. */
	if (!lstat(path, &st) && S_ISSOCK(st.st_mode) &&
	    connect(fd, (struct sockaddr *)&name, sizeof(name)) < 0 && errno == ECONNREFUSED)
		unlink(path);
	mask = umask(077);
	r = bind(fd, (struct sockaddr *)&name, sizeof(name)) < 0 || listen(fd, SOMAXCONN) < 0
		    ? -errno
		    : 0;
	umask(mask);
	if (r < 0)
		return error_errno(err, r, "cannot listen at '%s'", path);
	h->socket_path = xstrdup(path);
	snprintf(h->address, sizeof(h->address), UNIX_PREFIX "%s", path);
	owned = fd;
	fd = -1;
	return owned;
}

static int http_listen(struct http_server *h, const char *address, struct error *err)
{
	struct addrinfo *info;
	int r;

	if (!strncmp(address, UNIX_PREFIX, strlen(UNIX_PREFIX)))
		return bind_to_path(h, address + strlen(UNIX_PREFIX), err);
	r = http_resolve(address, &info, err);
	if (r < 0)
		return r;
	r = bind_to(info, h, address, err);
	freeaddrinfo(info);
	return r;
}

/* ---- the server ---- */

static int http_add_descriptor(struct http_server *h, int fd)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(h->epoll, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

static int http_start(struct http_server *h)
{
	const struct http_options *o = &h->options;
	const union MHD_DaemonInfo *info;
	int r;

	/* The library counts a connection until it has closed the socket. */
	h->mhd = mhd.MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET |
					      MHD_ALLOW_SUSPEND_RESUME,
				      0, NULL, NULL, on_request, h, MHD_OPTION_CONNECTION_LIMIT,
				      (unsigned int)o->clients * 2, MHD_OPTION_CONNECTION_TIMEOUT,
				      (unsigned int)o->slow_s, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				      o->header_bytes, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
				      h, MHD_OPTION_NOTIFY_COMPLETED, on_end, h, MHD_OPTION_END);
	if (!h->mhd)
		return -EIO;
	info = mhd.MHD_get_daemon_info(h->mhd, MHD_DAEMON_INFO_EPOLL_FD);
	h->epoll = epoll_create1(EPOLL_CLOEXEC);
	h->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (!info || h->epoll < 0 || h->timer < 0)
		return -EMFILE;
	r = http_add_descriptor(h, info->epoll_fd);
	r = r < 0 ? r : http_add_descriptor(h, h->timer);
	return r < 0 ? r : http_add_descriptor(h, h->listener);
}

int http_server_open(const char *address, const struct http_options *options,
		     struct http_server **out, struct error *err)
{
	cleanup(http_server_close_at_exit) struct http_server *h = xcalloc(1, sizeof(*h));
	int r = lazy_library_load(MICROHTTPD_SONAMES, functions, ARRAY_SIZE(functions), err);

	h->listener = h->epoll = h->timer = -1;
	h->options = *options;
	if (r < 0)
		return r;
	h->listener = http_listen(h, address, err);
	if (h->listener < 0)
		return h->listener;
	r = http_start(h);
	if (r < 0)
		return error_errno(err, r, "cannot serve HTTP at '%s'", address);
	*out = take_ptr(h);
	return 0;
}

/* The library must not stop while requests wait. */
static void end_waiting(struct http_server *h)
{
	h->is_closing = true;
	while (h->waiting) {
		struct http_request *q = h->waiting;

		set_waiting(q, false);
		mhd.MHD_resume_connection(q->connection);
	}
	mhd.MHD_run(h->mhd);
	mhd.MHD_stop_daemon(h->mhd);
}

void http_server_close(struct http_server *h)
{
	if (!h)
		return;
	if (h->mhd)
		end_waiting(h);
	close_at_exit(&h->listener);
	close_at_exit(&h->timer);
	close_at_exit(&h->epoll);
	if (h->socket_path)
		unlink(h->socket_path);
	free(h->socket_path);
	vec_fini(&h->clients);
	free(h);
}

int http_server_fd(const struct http_server *h)
{
	return h->epoll;
}

/*
 * The server's descriptor only reports events. Other work, and the end of slow clients, depends on
 * the library's time-out.
 */
void http_server_serve(struct http_server *h)
{
	struct itimerspec next = { 0 };
	MHD_UNSIGNED_LONG_LONG ms = 0;
	uint64_t ticks;
	bool is_due = true;

	while (read(h->timer, &ticks, sizeof(ticks)) > 0)
		;
	accept_clients(h);
	for (int i = 0; i < MAX_RUNS && is_due && !ms; i++) {
		mhd.MHD_run(h->mhd);
		is_due = mhd.MHD_get_timeout(h->mhd, &ms) == MHD_YES;
	}
	if (is_due) {
		next.it_value.tv_sec = (time_t)(ms / 1000);
		next.it_value.tv_nsec = (long)(ms % 1000 * 1000000 + 1);
	}
	timerfd_settime(h->timer, 0, &next, NULL);
}

const char *http_server_address(const struct http_server *h)
{
	return h->address;
}

bool http_server_is_reachable(const struct http_server *h)
{
	return h->is_reachable;
}
