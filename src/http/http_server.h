/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An HTTP/1.1 server (RFC 9112) at one address, by libmicrohttpd, which is loaded at run time. It
 * has no thread: the caller's loop serves it. Users are the daemon's metrics and `assay serve`.
 *
 * It serves at most options.clients connections at once: another client takes the place of the
 * oldest silent one, of the machine that has most of them. It drops a client after options.slow_s
 * seconds without progress. So silent and slow clients harm nobody else.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"
#include "http/http_body.h"

struct error;
struct http_request;
struct http_server;

/* Files with PEM texts, for TLS 1.2 and newer. */
struct http_tls {
	const char *certificate; /* of the server, with those of its issuers behind it */
	const char *key;
	const char *client_ca; /* clients are asked for certificates of it; NULL: they are not */
	/*
	 * Certificates that the CA has revoked. The file is read again when it has changed, and
	 * from the time of its next update on, it refuses all. NULL: none.
	 */
	const char *client_crl;
};

struct http_options {
	/* Called with each request. It answers, or keeps the request and answers later. */
	void (*take)(void *context, struct http_request *request);
	/* The client of a kept request is gone: the request must not be used any more. Or NULL. */
	void (*gone)(void *context, struct http_request *request);
	/*
	 * How many bytes the body of a request may have, by its headers; more is answered with 413.
	 * 0: a body is not wanted. That of GET and HEAD is ignored then. NULL: no body is wanted.
	 */
	size_t (*body_limit)(void *context, const struct http_request *request);
	void *context;
	uint32_t clients, slow_s;
	size_t header_bytes;        /* of a connection: more is answered with 431 */
	size_t bodies_bytes;        /* of all bodies at once: more is answered with 503; 0: any */
	const struct http_tls *tls; /* NULL: without TLS */
};

/*
 * Listens. `address` is "PORT" (of 127.0.0.1), "ADDRESS:PORT" or "[ADDRESS]:PORT", in numbers, with
 * port 0 for any free port; or "unix:PATH", a socket that only the own user may connect to; or
 * "systemd", the socket that systemd passed. The server copies `options`. -EINVAL: no such address.
 * -ENOTSUP: built without libmicrohttpd.
 */
int http_server_open(const char *address, const struct http_options *options,
		     struct http_server **out, struct error *err);
/* Checks an address without listening. -EINVAL: it is invalid. -ENOTSUP as above. */
int http_address_check(const char *address, struct error *err);
/* Requests that wait for an answer end without one. NULL is fine. */
void http_server_close(struct http_server *h);
DEFINE_AT_EXIT(http_server_close, struct http_server)

/* Readable when http_server_serve() has work. Call that also after late answers. */
int http_server_fd(const struct http_server *h);
void http_server_serve(struct http_server *h);

/* The address that it listens at, for example "127.0.0.1:9464". */
const char *http_server_address(const struct http_server *h);
/* Whether other machines may reach it: the address is neither of loopback nor a socket's path. */
bool http_server_is_reachable(const struct http_server *h);

/* Of a request. All texts are valid until its answer; NULL: it has no such header or argument. */
const char *http_request_method(const struct http_request *q);
const char *http_request_path(const struct http_request *q); /* decoded, without the query */
const char *http_request_header(const struct http_request *q, const char *name);
const char *http_request_argument(const struct http_request *q, const char *name); /* decoded */
const struct buf *http_request_body(const struct http_request *q);

/*
 * Whether the client has a certificate for clients, signed by the client_ca of the options. Then
 * `name` is its common name.
 */
#define HTTP_NAME_SIZE 256
bool http_request_certificate(const struct http_request *q, char name[static HTTP_NAME_SIZE]);

struct http_header {
	const char *name, *value;
};

struct http_answer {
	unsigned int status;
	const struct http_header *headers;
	size_t n_headers;
	struct http_body *body; /* the server shares it; NULL: a file is the body */
};

/* Answers a request, once. The request must not be used afterwards. */
void http_request_answer(struct http_request *q, const struct http_answer *answer);
/*
 * The same, with the bytes of a regular file as the body. The descriptor is the server's then. If
 * the file becomes shorter meanwhile, the connection ends before the body does.
 */
void http_request_answer_file(struct http_request *q, const struct http_answer *answer, int fd,
			      uint64_t size);
/* The same with a text and no other headers. */
void http_request_answer_text(struct http_request *q, unsigned int status, const char *text);
