/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The metrics over HTTP, by libmicrohttpd, which is loaded for it: GET /metrics and nothing else.
 * No thread: it is served like the control socket. It serves METRICS_HTTP_CLIENTS at once, each for
 * METRICS_HTTP_SLOW_S without progress. Another client takes the place of the oldest one.
 */
#pragma once

#include "base/mem.h"

struct buf;
struct error;
struct metrics_http;

#define METRICS_HTTP_CLIENTS 64
#define METRICS_HTTP_SLOW_S  5

/*
 * `address` is "PORT", which is 127.0.0.1's, "ADDRESS:PORT" or "[ADDRESS]:PORT", in numbers; port 0
 * is one that is free. `print` appends the text, when asked. An address that others can reach is
 * permitted, and warned of. -EINVAL: no such address; -ENOTSUP: built without libmicrohttpd.
 */
int metrics_http_open(const char *address, void (*print)(void *context, struct buf *out),
		      void *context, struct metrics_http **out, struct error *err);
/* -EINVAL: such an address can't be; -ENOTSUP as above. */
int metrics_http_check(const char *address, struct error *err);
void metrics_http_close(struct metrics_http *h); /* NULL is fine */
DEFINE_AT_EXIT(metrics_http_close, struct metrics_http)

/* Readable when metrics_http_serve() has something to do. */
int metrics_http_fd(const struct metrics_http *h);
void metrics_http_serve(struct metrics_http *h);

/* "127.0.0.1:9464": where it listens indeed. */
const char *metrics_http_address(const struct metrics_http *h);
