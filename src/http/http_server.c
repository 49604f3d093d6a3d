/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/http_server.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/error.h"
#include "base/lazy_library.h"
#include "config.h"
#include "http/http_body.h"
#include "http/http_listener.h"
#include "http/http_tls.h"

/* Of one http_server_serve(): the caller's other work waits meanwhile. */
#define MAX_RUNS   8
#define MAX_EVENTS 32

/*
 * Of a body that is dropped, before the connection ends: if none is wanted, and if it is larger
 * than wanted. Such a client may send, and learns why from an answer behind its body.
 */
#define UNWANTED_BYTES  ((size_t)64 << 10)
#define TOO_LARGE_BYTES ((size_t)4 << 20)

/* TLS 1.2 and newer, as GnuTLS names it. */
#define TLS_PRIORITIES "SECURE128:-VERS-ALL:+VERS-TLS1.2:+VERS-TLS1.3"

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
	X(MHD_create_response_from_fd64)                      \
	X(MHD_add_response_header)                            \
	X(MHD_queue_response)                                 \
	X(MHD_destroy_response)

static struct {
	FUNCTIONS(LAZY_POINTER)
} mhd;

#define ROW(function) { #function, &mhd.function },
static const struct lazy_function functions[] = { FUNCTIONS(ROW) };

/* Silent clients lose their places first, and those that wait for our answers never do. */
enum client_state { CLIENT_SILENT, CLIENT_RECEIVES, CLIENT_WAITS };

struct server_client {
	int fd;
	uint64_t peer;
	enum client_state state;
};

struct http_request {
	struct http_server *server;
	struct MHD_Connection *connection;
	const char *method, *path;
	struct buf body;
	size_t most_bytes, unwanted_bytes; /* of the body; that were dropped */
	struct MHD_Response *response;     /* NULL: there is no answer yet */
	unsigned int status;
	bool has_begun, is_taken, is_waiting, is_crowded;
	struct http_request *next; /* of the waiting ones */
};

struct http_server {
	struct MHD_Daemon *mhd;
	struct http_options options;
	struct http_listener listener;
	int epoll, timer; /* the epoll has the listener, the timer and the library's own one */
	VEC(struct server_client) clients; /* oldest first */
	struct http_request *waiting;
	size_t bodies_bytes;       /* of all requests */
	uint64_t new_peer;         /* of the connection that is being added */
	struct http_tls_texts tls; /* the library has pointers to them */
	bool is_closing;
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

static struct server_client *client_of(struct http_server *h, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		mhd.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	vec_foreach (&h->clients, client)
		if (info && client->fd == info->connect_fd)
			return client;
	return NULL;
}

static void set_client_state(const struct http_request *q, enum client_state state)
{
	struct server_client *client = client_of(q->server, q->connection);

	if (client)
		client->state = state;
}

/* While the request waits, the library does not look at its connection, so we do. */
static void watch_client(const struct http_request *q, int operation)
{
	struct server_client *client = client_of(q->server, q->connection);
	struct epoll_event e = { .events = EPOLLRDHUP };

	if (!client)
		return;
	e.data.fd = client->fd;
	epoll_ctl(q->server->epoll, operation, client->fd, &e);
}

static void begin_waiting(struct http_request *q)
{
	q->is_waiting = true;
	q->next = q->server->waiting;
	q->server->waiting = q;
	set_client_state(q, CLIENT_WAITS);
	watch_client(q, EPOLL_CTL_ADD);
	mhd.MHD_suspend_connection(q->connection);
}

static void end_waiting(struct http_request *q)
{
	struct http_request **at = &q->server->waiting;

	q->is_waiting = false;
	while (*at != q)
		at = &(*at)->next;
	*at = q->next;
	watch_client(q, EPOLL_CTL_DEL);
	set_client_state(q, CLIENT_RECEIVES);
	mhd.MHD_resume_connection(q->connection);
}

/* Takes the response; NULL: there was no memory for it. */
static void answer_by(struct http_request *q, const struct http_answer *a, struct MHD_Response *r)
{
	assert(!q->response);
	q->status = a->status;
	q->response = r;
	for (size_t i = 0; r && i < a->n_headers; i++)
		mhd.MHD_add_response_header(r, a->headers[i].name, a->headers[i].value);
	if (q->is_waiting)
		end_waiting(q);
}

void http_request_answer(struct http_request *q, const struct http_answer *a)
{
	struct http_body *body = http_body_share(a->body);
	struct MHD_Response *r =
		mhd.MHD_create_response_from_buffer_with_free_callback(http_body_size(body),
								       http_body_bytes(body),
								       http_body_drop_bytes);

	if (!r)
		http_body_drop(body);
	answer_by(q, a, r);
}

void http_request_answer_file(struct http_request *q, const struct http_answer *a, int fd,
			      uint64_t size)
{
	struct MHD_Response *r = mhd.MHD_create_response_from_fd64(size, fd);

	if (!r)
		close(fd);
	answer_by(q, a, r);
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
	set_client_state(q, CLIENT_RECEIVES);
	result = mhd.MHD_queue_response(q->connection, q->status, q->response);
	mhd.MHD_destroy_response(q->response);
	q->response = NULL;
	return result;
}

/* Keeps the next bytes of a body. Of others, some are read and dropped. */
static enum MHD_Result take_body(struct http_request *q, const char *bytes, size_t *size)
{
	struct http_server *h = q->server;
	size_t most = h->options.bodies_bytes;

	q->is_crowded |= most && q->most_bytes && h->bodies_bytes + *size > most;
	if (q->is_crowded || q->unwanted_bytes || q->body.len + *size > q->most_bytes) {
		q->unwanted_bytes += *size;
	} else {
		buf_bytes(&q->body, bytes, *size);
		h->bodies_bytes += *size;
	}
	*size = 0;
	return q->unwanted_bytes > (q->most_bytes ? TOO_LARGE_BYTES : UNWANTED_BYTES) ? MHD_NO
										      : MHD_YES;
}

/* Whether a body may come. An answer before its end would end the connection. */
static bool may_have_body(struct http_request *q)
{
	const struct http_options *o = &q->server->options;

	if (o->body_limit)
		q->most_bytes = o->body_limit(o->context, q);
	return q->most_bytes || !strcmp(q->method, "GET") || !strcmp(q->method, "HEAD");
}

static enum MHD_Result take_request(struct http_request *q)
{
	q->is_taken = true;
	if (q->is_crowded)
		http_request_answer_text(q, 503, "too many bodies are on their way\n");
	else if (q->most_bytes && q->unwanted_bytes)
		http_request_answer_text(q, 413, "the body is too large\n");
	else
		q->server->options.take(q->server->options.context, q);
	if (q->response)
		return send_answer(q);
	begin_waiting(q);
	return MHD_YES;
}

/*
 * The library calls this with the headers, then with each piece of the body, then without one, and
 * again when a waiting request has its answer, or its client is gone.
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
	}
	q->method = method;
	q->path = url;
	if (!q->has_begun) {
		q->has_begun = true;
		if (may_have_body(q))
			return MHD_YES;
	}
	if (*upload_size)
		return take_body(q, upload, upload_size);
	return q->is_taken ? send_answer(q) : take_request(q);
}

static void on_end(void *data, struct MHD_Connection *connection, void **state,
		   enum MHD_RequestTerminationCode why)
{
	struct http_request *q = *state;

	(void)data, (void)connection, (void)why;
	if (!q)
		return;
	set_client_state(q, CLIENT_SILENT);
	if (q->response)
		mhd.MHD_destroy_response(q->response);
	q->server->bodies_bytes -= q->body.len;
	buf_fini(&q->body);
	free(q);
	*state = NULL;
}

bool http_request_certificate(const struct http_request *q, char name[static HTTP_NAME_SIZE])
{
	const union MHD_ConnectionInfo *info;

	if (!q->server->tls.client_ca)
		return false;
	info = mhd.MHD_get_connection_info(q->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	return info && info->tls_session && http_tls_peer(&q->server->tls, info->tls_session, name);
}

/* ---- clients ---- */

/*
 * The machine: of IPv4, also in IPv6, the address; of IPv6, the network of 64 bits, as one machine
 * has all of its addresses.
 */
static uint64_t peer_of(const struct sockaddr *a)
{
	const struct sockaddr_in6 *v6 = (const void *)a;
	uint64_t peer = 0;

	if (a->sa_family == AF_INET)
		return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr;
	if (a->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		return v6->sin6_addr.s6_addr32[3];
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
		vec_push(&h->clients,
			 (struct server_client){ .fd = info->connect_fd, .peer = h->new_peer });
		return;
	}
	for (size_t i = 0; i < h->clients.n; i++) {
		struct server_client *at = &h->clients.data[i];

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

/* The oldest client in the state, of the machine that has most of them; NULL: there is none. */
static const struct server_client *find_victim(const struct http_server *h, enum client_state state)
{
	const struct server_client *victim = NULL;
	uint32_t most = 0;

	vec_foreach (&h->clients, client) {
		uint32_t n = client->state == state ? clients_of(h, client->peer) : 0;

		if (n > most)
			victim = client;
		most = MAX(n, most);
	}
	return victim;
}

/*
 * Connections that say nothing cannot keep others out: a new client takes the place of a silent
 * one. Only if there is none, an answer that is being sent ends. Returns false if all clients wait
 * for our answers.
 */
static bool make_place(struct http_server *h)
{
	const struct server_client *victim = find_victim(h, CLIENT_SILENT);

	victim = victim ? victim : find_victim(h, CLIENT_RECEIVES);
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
		int fd = accept4(h->listener.fd, (struct sockaddr *)&a, &size,
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
	struct MHD_OptionItem options[] = {
		/* The library counts a connection until it has closed the socket. */
		{ MHD_OPTION_CONNECTION_LIMIT, (intptr_t)o->clients * 2, NULL },
		{ MHD_OPTION_CONNECTION_TIMEOUT, o->slow_s, NULL },
		{ MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)o->header_bytes, NULL },
		{ o->tls ? MHD_OPTION_HTTPS_PRIORITIES : MHD_OPTION_END, 0, TLS_PRIORITIES },
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, h->tls.certificate },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, h->tls.key },
		{ h->tls.client_ca ? MHD_OPTION_HTTPS_MEM_TRUST : MHD_OPTION_END, 0,
		  h->tls.client_ca },
		{ MHD_OPTION_END, 0, NULL },
	};
	int r;

	h->mhd = mhd.MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET |
					      MHD_ALLOW_SUSPEND_RESUME |
					      (h->options.tls ? MHD_USE_TLS : 0),
				      0, NULL, NULL, on_request, h, MHD_OPTION_NOTIFY_CONNECTION,
				      on_connection, h, MHD_OPTION_NOTIFY_COMPLETED, on_end, h,
				      MHD_OPTION_ARRAY, options, MHD_OPTION_END);
	if (!h->mhd)
		return -EIO;
	info = mhd.MHD_get_daemon_info(h->mhd, MHD_DAEMON_INFO_EPOLL_FD);
	h->epoll = epoll_create1(EPOLL_CLOEXEC);
	h->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (!info || h->epoll < 0 || h->timer < 0)
		return -EMFILE;
	r = http_add_descriptor(h, info->epoll_fd);
	r = r < 0 ? r : http_add_descriptor(h, h->timer);
	return r < 0 ? r : http_add_descriptor(h, h->listener.fd);
}

int http_server_open(const char *address, const struct http_options *options,
		     struct http_server **out, struct error *err)
{
	cleanup(http_server_close_at_exit) struct http_server *h = xcalloc(1, sizeof(*h));
	int r = lazy_library_load(MICROHTTPD_SONAMES, functions, ARRAY_SIZE(functions), err);

	h->listener.fd = h->epoll = h->timer = -1;
	h->options = *options;
	if (r >= 0 && options->tls)
		r = http_tls_read(options->tls, &h->tls, err);
	r = r < 0 ? r : http_listen(&h->listener, address, err);
	if (r < 0)
		return r;
	r = http_start(h);
	if (r < 0)
		return error_errno(err, r, "cannot serve HTTP at '%s'", address);
	*out = take_ptr(h);
	return 0;
}

/* The library must not stop while requests wait. */
static void http_stop(struct http_server *h)
{
	h->is_closing = true;
	while (h->waiting)
		end_waiting(h->waiting);
	mhd.MHD_run(h->mhd);
	mhd.MHD_stop_daemon(h->mhd);
}

void http_server_close(struct http_server *h)
{
	if (!h)
		return;
	if (h->mhd)
		http_stop(h);
	http_listener_fini(&h->listener);
	close_at_exit(&h->timer);
	close_at_exit(&h->epoll);
	http_tls_fini(&h->tls);
	vec_fini(&h->clients);
	free(h);
}

int http_server_fd(const struct http_server *h)
{
	return h->epoll;
}

static struct http_request *waiting_request(const struct http_server *h, int fd)
{
	for (struct http_request *q = h->waiting; q; q = q->next) {
		const struct server_client *client = client_of(q->server, q->connection);

		if (client && client->fd == fd)
			return q;
	}
	return NULL;
}

static bool end_gone_request(struct http_server *h, const struct epoll_event *event)
{
	struct http_request *q = waiting_request(h, event->data.fd);

	if (!q || !(event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
		return false;
	if (h->options.gone)
		h->options.gone(h->options.context, q);
	end_waiting(q);
	return true;
}

/*
 * Waiting requests whose clients are gone get no answer, and the library ends them. All of them do
 * before new requests come, which need their places.
 */
static void end_gone_requests(struct http_server *h)
{
	struct epoll_event events[MAX_EVENTS];
	bool has_found;

	do {
		int n = epoll_wait(h->epoll, events, MAX_EVENTS, 0);

		has_found = false;
		for (int i = 0; i < n; i++)
			has_found |= end_gone_request(h, &events[i]);
	} while (has_found);
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
	end_gone_requests(h);
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
	return h->listener.address;
}

bool http_server_is_reachable(const struct http_server *h)
{
	return h->listener.is_reachable;
}
