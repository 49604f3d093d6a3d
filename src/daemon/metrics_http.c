/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/metrics_http.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "config.h"

#if WITH_MICROHTTPD

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/lazy_library.h"
#include "base/log.h"

#define REQUEST_KB 16
#define TYPE       "text/plain; version=0.0.4; charset=utf-8"
/* Of one metrics_http_serve(): the rings wait meanwhile. */
#define MAX_RUNS    8
#define MAX_ACCEPTS (METRICS_HTTP_CLIENTS / 2)
/* The server's own limit. It counts a connection until it has closed the socket. */
#define SERVER_LIMIT (METRICS_HTTP_CLIENTS * 2)

#define FUNCTIONS(X)                       \
	X(MHD_start_daemon)                \
	X(MHD_stop_daemon)                 \
	X(MHD_run)                         \
	X(MHD_add_connection)              \
	X(MHD_get_connection_info)         \
	X(MHD_get_timeout)                 \
	X(MHD_get_daemon_info)             \
	X(MHD_create_response_from_buffer) \
	X(MHD_add_response_header)         \
	X(MHD_queue_response)              \
	X(MHD_destroy_response)

static struct {
	FUNCTIONS(LAZY_POINTER)
} mhd;

#define ROW(function) { #function, &mhd.function },
static const struct lazy_function functions[] = { FUNCTIONS(ROW) };

struct http_client {
	int fd;
	uint64_t peer;
};

struct metrics_http {
	struct MHD_Daemon *server;
	int listener, epoll, timer;      /* the epoll has the other two, and the server's own one */
	VEC(struct http_client) clients; /* of the server, oldest first */
	void (*print)(void *context, struct buf *out);
	void *context;
	uint64_t new_peer; /* of the connection that is being added */
	char address[80];
};

/* ---- the page ---- */

static enum MHD_Result metrics_answer(struct MHD_Connection *connection, unsigned status,
				      const char *type, const void *bytes, size_t n)
{
	/* The library copies the bytes. */
	struct MHD_Response *response =
		mhd.MHD_create_response_from_buffer(n, (void *)(uintptr_t)bytes,
						    MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result = MHD_NO;

	if (response) {
		mhd.MHD_add_response_header(response, "Content-Type", type);
		result = mhd.MHD_queue_response(connection, status, response);
		mhd.MHD_destroy_response(response);
	}
	return result;
}

static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned status,
				   const char *text)
{
	return metrics_answer(connection, status, "text/plain; charset=utf-8", text, strlen(text));
}

/* A request's body is not read: the answer ends the connection. */
static enum MHD_Result on_request(void *data, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **state)
{
	struct metrics_http *h = data;
	struct buf text = { 0 };
	enum MHD_Result result;

	(void)version, (void)upload, (void)upload_size, (void)state;
	if (strcmp(method, "GET") && strcmp(method, "HEAD"))
		return answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
	if (strcmp(url, "/metrics"))
		return answer_text(connection, MHD_HTTP_NOT_FOUND, "there is /metrics\n");
	h->print(h->context, &text);
	result = metrics_answer(connection, MHD_HTTP_OK, TYPE, text.data, text.len);
	buf_fini(&text);
	return result;
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
	struct metrics_http *h = data;
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

static uint32_t clients_of(const struct metrics_http *h, uint64_t peer)
{
	uint32_t n = 0;

	vec_foreach (&h->clients, client)
		n += client->peer == peer;
	return n;
}

/*
 * Connections that say nothing cannot keep others out: a new client takes the place of the oldest
 * one, of the machine that has most of them. An answer takes no time, so the oldest client is one
 * that is slow or silent.
 */
static void make_place(struct metrics_http *h)
{
	const struct http_client *victim = &h->clients.data[0];
	uint32_t most = 0;

	vec_foreach (&h->clients, client) {
		uint32_t n = clients_of(h, client->peer);

		if (n > most)
			victim = client;
		most = MAX(n, most);
	}
	shutdown(victim->fd, SHUT_RDWR);
	mhd.MHD_run(h->server);
}

static void accept_clients(struct metrics_http *h)
{
	for (int i = 0; i < MAX_ACCEPTS; i++) {
		struct sockaddr_storage a;
		socklen_t size = sizeof(a);
		int fd = accept4(h->listener, (struct sockaddr *)&a, &size,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		if (h->clients.n >= METRICS_HTTP_CLIENTS)
			make_place(h);
		h->new_peer = peer_of((const struct sockaddr *)&a);
		/* It closes the socket if it fails. */
		mhd.MHD_add_connection(h->server, fd, (struct sockaddr *)&a, size);
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
				 "'%s' is not an address: use PORT, ADDRESS:PORT or [ADDRESS]:PORT",
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
static void name_address(struct metrics_http *h, int fd)
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
	if (!is_loopback(name))
		log_warning("--metrics-listen %s: other machines can read these metrics",
			    h->address);
}

static int bind_to(const struct addrinfo *info, struct metrics_http *h, const char *address,
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
static int metrics_resolve(const char *address, struct addrinfo **out, struct error *err)
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

int metrics_http_check(const char *address, struct error *err)
{
	struct addrinfo *info;
	int r = metrics_resolve(address, &info, err);

	if (!r)
		freeaddrinfo(info);
	return r;
}

static int metrics_listen(struct metrics_http *h, const char *address, struct error *err)
{
	struct addrinfo *info;
	int r = metrics_resolve(address, &info, err);

	if (r < 0)
		return r;
	r = bind_to(info, h, address, err);
	freeaddrinfo(info);
	return r;
}

/* ---- the server ---- */

static int metrics_add_descriptor(struct metrics_http *h, int fd)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(h->epoll, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

static int start(struct metrics_http *h, int listener)
{
	const union MHD_DaemonInfo *info;
	int r;

	h->listener = listener;
	h->server = mhd.MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL,
					 on_request, h, MHD_OPTION_CONNECTION_LIMIT,
					 (unsigned)SERVER_LIMIT, MHD_OPTION_CONNECTION_TIMEOUT,
					 (unsigned)METRICS_HTTP_SLOW_S,
					 MHD_OPTION_CONNECTION_MEMORY_LIMIT,
					 (size_t)REQUEST_KB << 10, MHD_OPTION_NOTIFY_CONNECTION,
					 on_connection, h, MHD_OPTION_END);
	if (!h->server)
		return -EIO;
	info = mhd.MHD_get_daemon_info(h->server, MHD_DAEMON_INFO_EPOLL_FD);
	h->epoll = epoll_create1(EPOLL_CLOEXEC);
	h->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (!info || h->epoll < 0 || h->timer < 0)
		return -EMFILE;
	r = metrics_add_descriptor(h, info->epoll_fd);
	r = r < 0 ? r : metrics_add_descriptor(h, h->timer);
	return r < 0 ? r : metrics_add_descriptor(h, h->listener);
}

int metrics_http_open(const char *address, void (*print)(void *context, struct buf *out),
		      void *context, struct metrics_http **out, struct error *err)
{
	cleanup(metrics_http_close_at_exit) struct metrics_http *h = xcalloc(1, sizeof(*h));
	int r = lazy_library_load(MICROHTTPD_SONAMES, functions, ARRAY_SIZE(functions), err),
	    listener;

	h->listener = h->epoll = h->timer = -1;
	h->print = print;
	h->context = context;
	if (r < 0)
		return r;
	listener = metrics_listen(h, address, err);
	if (listener < 0)
		return listener;
	r = start(h, listener);
	if (r < 0)
		return error_errno(err, r, "cannot serve HTTP at '%s'", address);
	*out = take_ptr(h);
	return 0;
}

void metrics_http_close(struct metrics_http *h)
{
	if (!h)
		return;
	if (h->server)
		mhd.MHD_stop_daemon(h->server);
	close_at_exit(&h->listener);
	close_at_exit(&h->timer);
	close_at_exit(&h->epoll);
	vec_fini(&h->clients);
	free(h);
}

int metrics_http_fd(const struct metrics_http *h)
{
	return h->epoll;
}

/*
 * The server's descriptor only reports events. Other work, and the end of slow clients, depends on
 * the server's time-out.
 */
void metrics_http_serve(struct metrics_http *h)
{
	struct itimerspec next = { 0 };
	MHD_UNSIGNED_LONG_LONG ms = 0;
	uint64_t ticks;
	bool is_due = true;

	while (read(h->timer, &ticks, sizeof(ticks)) > 0)
		;
	accept_clients(h);
	for (int i = 0; i < MAX_RUNS && is_due && !ms; i++) {
		mhd.MHD_run(h->server);
		is_due = mhd.MHD_get_timeout(h->server, &ms) == MHD_YES;
	}
	if (is_due) {
		next.it_value.tv_sec = (time_t)(ms / 1000);
		next.it_value.tv_nsec = (long)(ms % 1000 * 1000000 + 1);
	}
	timerfd_settime(h->timer, 0, &next, NULL);
}

const char *metrics_http_address(const struct metrics_http *h)
{
	return h->address;
}

#else

int metrics_http_open(const char *address, void (*print)(void *context, struct buf *out),
		      void *context, struct metrics_http **out, struct error *err)
{
	(void)address, (void)print, (void)context, (void)out;
	return error_set(err, -ENOTSUP,
			 "this assay was built without libmicrohttpd: use 'assay ctl metrics' for "
			 "metrics");
}

int metrics_http_check(const char *address, struct error *err)
{
	return metrics_http_open(address, NULL, NULL, NULL, err);
}

void metrics_http_close(struct metrics_http *h)
{
	(void)h;
}

int metrics_http_fd(const struct metrics_http *h)
{
	(void)h;
	return -1;
}

void metrics_http_serve(struct metrics_http *h)
{
	(void)h;
}

const char *metrics_http_address(const struct metrics_http *h)
{
	(void)h;
	return "";
}

#endif
