/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/push.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "http/http_server.h"
#include "serve/access.h"

#define NAME_BYTES  64
#define LABEL_BYTES 256
#define LABELS_MAX  16

static const struct push_row {
	struct api_row answer; /* an empty message, or an empty text */
	const char *body;      /* of assay import */
	const char *type;      /* that the body must have; NULL: any */
} push_rows[] = {
	[PUSH_INGEST] = { { .name = "ingest", .type = "text/plain" }, "--body=ingest", NULL },
	[PUSH_CONNECT] = { { .name = "push", .type = "application/proto" },
			   "--body=push",
			   "application/proto" },
	[PUSH_OTLP] = { { .name = "otlp", .type = "application/x-protobuf" },
			"--body=otlp",
			"application/x-protobuf" },
};

const struct api_row push_retain_row = { .name = "retain", .type = "text/plain" };

static void push_add_word(struct api_call *c, const char *option, const char *value)
{
	vec_push(&c->words, xasprintf("%s%s", option, value));
}

static bool answer_empty(const struct api_call *call, const struct buf *output, struct buf *out)
{
	(void)call, (void)output, (void)out;
	return true;
}

/* "application/proto; charset=…" */
static bool is_type(const char *type, const char *wanted)
{
	size_t n = strlen(wanted);

	return type && !strncasecmp(type, wanted, n) && strchr("; ", type[n]);
}

/* "shop.cpu{region=eu}": the name of the program is before the labels. */
static void add_name(struct api_call *c, const struct http_request *q)
{
	const char *name = http_request_argument(q, "name");
	cleanup(free_at_exit) char *program =
		name ? xstrndup(name, MIN(strcspn(name, "{"), (size_t)NAME_BYTES)) : NULL;

	if (program && *program)
		push_add_word(c, "--name=", program);
}

/* The labels behind the name: {region=eu,zone=b}. */
static void add_labels(struct api_call *c, const struct http_request *q)
{
	const char *name = http_request_argument(q, "name"), *at = name ? strchr(name, '{') : NULL;

	for (int i = 0; at && (*at == '{' || *at == ',') && i < LABELS_MAX; i++) {
		size_t n = strcspn(++at, ",}"), tag = strcspn(at, "=");
		cleanup(free_at_exit) char *label = xstrndup(at, MIN(n, (size_t)LABEL_BYTES));

		if (tag < n)
			push_add_word(c, "--label=", label);
		at += n;
	}
}

/* Seconds since 1970; the profile itself may tell its time. */
static void add_start(struct api_call *c, const struct http_request *q)
{
	const char *from = http_request_argument(q, "from");
	size_t n = from ? strspn(from, "0123456789") : 0;

	if (n && n <= 10 && !from[n])
		push_add_word(c, "--start=@", from);
}

int push_call(enum push_kind kind, const struct http_request *q, const struct access_right *right,
	      const char *dir, const struct api_row **row, struct api_call *out, struct error *err)
{
	cleanup(free_at_exit) char *pusher = xasprintf("%s %s", right->id, right->asker);
	const struct push_row *push = &push_rows[kind];
	const char *encoding = http_request_header(q, "Content-Encoding");

	*out = (struct api_call){ .is_action = true, .has_body = true, .convert = answer_empty };
	*row = &push->answer;
	if (push->type && !is_type(http_request_header(q, "Content-Type"), push->type))
		return error_set(err, -EINVAL, "Send %s.", push->type);
	if (encoding && strcasecmp(encoding, "identity") && strcasecmp(encoding, "gzip"))
		return error_set(err, -EINVAL, "Send it gzipped, or not compressed.");
	push_add_word(out, "assay", "");
	push_add_word(out, "import", "");
	push_add_word(out, "--quiet", "");
	push_add_word(out, "--into=", dir);
	push_add_word(out, push->body, "");
	push_add_word(out, "--pusher=", pusher);
	if (kind == PUSH_INGEST) {
		add_name(out, q);
		add_labels(out, q);
		add_start(out, q);
	}
	push_add_word(out, "--", "");
	push_add_word(out, "-", "");
	vec_push(&out->words, NULL);
	return 0;
}

void push_retain(const char *dir, uint64_t max_bytes, struct api_call *out)
{
	cleanup(free_at_exit) char *size = xasprintf("%" PRIu64, max_bytes);

	*out = (struct api_call){ .is_action = true };
	push_add_word(out, "assay", "");
	push_add_word(out, "retain", "");
	push_add_word(out, "--quiet", "");
	push_add_word(out, "--tier=", "minutes=10m");
	push_add_word(out, "--max-size=", size);
	push_add_word(out, "--", "");
	push_add_word(out, dir, "");
	vec_push(&out->words, NULL);
}
