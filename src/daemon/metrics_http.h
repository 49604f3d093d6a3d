/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The metrics over HTTP: GET /metrics and nothing else. Uses libmicrohttpd, which is loaded at run
 * time. It has no thread: the daemon's loop serves it, as the control socket. It serves at most
 * METRICS_HTTP_CLIENTS at once: another client takes the place of the oldest one,
 * of the machine that has most of them. It drops a
 * client after METRICS_HTTP_SLOW_S seconds without progress.
 */
#pragma once

#include "base/mem.h"

struct buf;
struct error;
struct metrics_http;

#define METRICS_HTTP_CLIENTS 64
#define METRICS_HTTP_SLOW_S  5

/*
 * Listens. `address` is "PORT" (of 127.0.0.1), "ADDRESS:PORT" or "[ADDRESS]:PORT", in numbers; port
 * 0 is any free port. `print` appends the metrics to *out, for each request. An address that other
 * machines can reach gives a warning. -EINVAL: no such address. -ENOTSUP: built without
 * libmicrohttpd.
 */
int metrics_http_open(const char *address, void (*print)(void *context, struct buf *out),
		      void *context, struct metrics_http **out, struct error *err);
/* Checks an address without listening. -EINVAL: it is invalid. -ENOTSUP as above. */
int metrics_http_check(const char *address, struct error *err);
void metrics_http_close(struct metrics_http *h); /* NULL is fine */
DEFINE_AT_EXIT(metrics_http_close, struct metrics_http)

/* Readable when metrics_http_serve() has work. */
int metrics_http_fd(const struct metrics_http *h);
void metrics_http_serve(struct metrics_http *h);

/* The address that it listens at, for example "127.0.0.1:9464". */
const char *metrics_http_address(const struct metrics_http *h);
