/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/metrics_http.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "http/http_server.h"

#define TYPE "text/plain; version=0.0.4; charset=utf-8"

struct metrics_http {
	struct http_server *server;
	void (*print)(void *context, struct buf *out);
	void *context;
};

static void answer_metrics(const struct metrics_http *h, struct http_request *q)
{
	const struct http_header headers[] = { { "Content-Type", TYPE } };
	struct http_answer answer = { 200, headers, ARRAY_SIZE(headers), NULL };
	struct buf text = { 0 };

	h->print(h->context, &text);
	answer.body = http_body_new(text.data, text.len);
	http_request_answer(q, &answer);
	http_body_drop(answer.body);
	buf_fini(&text);
}

static void take_request(void *context, struct http_request *q)
{
	const char *method = http_request_method(q);

	if (strcmp(method, "GET") && strcmp(method, "HEAD"))
		http_request_answer_text(q, 405, "only GET\n");
	else if (strcmp(http_request_path(q), "/metrics"))
		http_request_answer_text(q, 404, "there is /metrics\n");
	else
		answer_metrics(context, q);
}

int metrics_http_open(const char *address, void (*print)(void *context, struct buf *out),
		      void *context, struct metrics_http **out, struct error *err)
{
	struct metrics_http *h = xcalloc(1, sizeof(*h));
	const struct http_options options = { .take = take_request,
					      .context = h,
					      .clients = METRICS_HTTP_CLIENTS,
					      .slow_s = METRICS_HTTP_SLOW_S,
					      .header_bytes = (size_t)16 << 10 };
	int r = http_server_open(address, &options, &h->server, err);

	h->print = print;
	h->context = context;
	if (r < 0) {
		free(h);
		return r;
	}
	if (http_server_is_reachable(h->server))
		log_warning("--metrics-listen %s: other machines can read these metrics",
			    http_server_address(h->server));
	*out = h;
	return 0;
}

int metrics_http_check(const char *address, struct error *err)
{
	int r = http_address_check(address, err);

	return r == -ENOTSUP ? error_wrap(err, r, "use 'assay ctl metrics' for metrics") : r;
}

void metrics_http_close(struct metrics_http *h)
{
	if (!h)
		return;
	http_server_close(h->server);
	free(h);
}

int metrics_http_fd(const struct metrics_http *h)
{
	return http_server_fd(h->server);
}

void metrics_http_serve(struct metrics_http *h)
{
	http_server_serve(h->server);
}

const char *metrics_http_address(const struct metrics_http *h)
{
	return http_server_address(h->server);
}
