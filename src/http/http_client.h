/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An HTTP/1.1 client by libcurl, which is loaded at run time. It speaks TLS 1.2 and newer, and
 * keeps its connection open between requests. It follows no redirect. It uses the proxy of the
 * environment (http_proxy, https_proxy, no_proxy; curl(1)).
 *
 * A client is for one thread at a time. A request blocks until its answer is there; options.stops
 * ends it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"

struct error;
struct http_client;

struct http_client_options {
	/* Files with PEM texts. NULL: the issuers that the system trusts; no certificate. */
	const char *ca;                /* the only issuers that the server may have */
	const char *certificate, *key; /* of the client */
	uint32_t connect_s;            /* until a connection is there; 0: 10 */
	uint32_t silent_s;             /* without a byte in either direction; 0: 30 */
	uint32_t whole_s;              /* for a whole request; 0: any */
	size_t answer_bytes;           /* more is -EMSGSIZE; 0: 1 MiB */
	uint64_t upload_bytes_s;       /* the most that is sent in a second; 0: any */
	bool is_direct;                /* not through the proxy of the environment */
	bool (*stops)(
		void *context); /* asked about once a second: true ends the request. Or NULL */
	void *context;
};

struct http_field {
	const char *name, *value;
};

struct http_question {
	const char *method; /* "GET", "PUT", "POST", "DELETE" */
	const char *url;
	const struct http_field *headers;
	size_t n_headers;
	const void *body; /* NULL: none */
	size_t body_size;
	/*
	 * Sends the body when the server asks for it (RFC 9110, "100-continue"), or after a second.
	 * A server that refuses a request before its body closes the connection then. Its answer
	 * would be lost in the middle of the body.
	 */
	bool asks_first;
};

/* A wrong clock or a wrong header must not silence a client for years. */
#define HTTP_RETRY_AFTER_MOST_S 3600

/* Fill it with zeros first. It can be used for one request after the other. */
struct http_reply {
	unsigned int status;
	uint32_t retry_after_s; /* of the header Retry-After, an hour at most; 0: none */
	char type[64];          /* Content-Type; "" if there is none, or a longer one */
	struct buf body;        /* whole */
};

void http_reply_fini(struct http_reply *reply);

/*
 * Whether a text is a URL that a client takes: "http://…" or "https://…" with a host, without
 * blanks and control characters, user name and fragment. -EINVAL: it is not.
 */
int http_url_check(const char *url, struct error *err);

/*
 * The texts of `options` are copied. -ENOTSUP: built without libcurl. -ENOENT: libcurl is not
 * installed, or a file is missing.
 */
int http_client_new(const struct http_client_options *options, struct http_client **out,
		    struct error *err);
void http_client_free(struct http_client *c); /* NULL is fine */
DEFINE_AT_EXIT(http_client_free, struct http_client)

/*
 * Sends a request and reads its answer. 0: there is one, whatever its status. Otherwise the server
 * may have received the request or not:
 *
 *   -EINVAL        no such URL, or a header with a line break
 *   -EHOSTUNREACH  the name of the host has no address
 *   -ECONNREFUSED  nobody answers at the address
 *   -EPROTO        TLS: the server's certificate, or ours, is refused
 *   -ETIMEDOUT     a limit of the options
 *   -EMSGSIZE      the answer is longer than options.answer_bytes
 *   -EINTR         options.stops
 *   -EIO           the connection broke, or the answer is no HTTP
 */
int http_client_ask(struct http_client *c, const struct http_question *question,
		    struct http_reply *reply, struct error *err);
