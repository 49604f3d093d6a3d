/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/reply.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "http/http_server.h"
#include "serve/api.h"
#include "serve/policy.h"

/* Every answer has these: only this browser keeps it, and only as its type. */
#define COMMON_HEADERS                                                            \
	{ "Cache-Control", "no-store" }, { "X-Content-Type-Options", "nosniff" }, \
		{ "Referrer-Policy", "no-referrer" },                             \
	{                                                                         \
		"Cross-Origin-Resource-Policy", "same-origin"                     \
	}

/* `lacks`: of enum reply_lack. */
static void reply_with_warnings(struct http_request *q, unsigned int status, const char *type,
				const struct http_header *more, struct http_body *body,
				unsigned int lacks)
{
	static const struct http_header
		damaged = { "X-Assay-Warning",
			    "The source is damaged, or memory ran out: something is missing." },
		unnamed = { "X-Assay-Names", "later" };
	/* And two of `lacks`, the row of `more`, and an empty one. */
	struct http_header headers[5 + 4] = { { "Content-Type", type }, COMMON_HEADERS };
	size_t n = 0;

	while (headers[n].name)
		n++;
	headers[n++] = more ? *more : (struct http_header){ "X-Frame-Options", "SAMEORIGIN" };
	if (lacks & REPLY_DAMAGED)
		headers[n++] = damaged;
	if (lacks & REPLY_UNNAMED)
		headers[n++] = unnamed;
	http_request_answer(q, &(struct http_answer){ status, headers, n, body });
}

void reply(struct http_request *q, unsigned int status, const char *type,
	   const struct http_header *more, struct http_body *body)
{
	reply_with_warnings(q, status, type, more, body, REPLY_WHOLE);
}

void reply_status(struct http_request *q, unsigned int status, const void *json, size_t size)
{
	static const struct http_header retry = { "Retry-After", "5" };
	cleanup(http_body_drop_at_exit) struct http_body *body = http_body_new(json, size);

	reply(q, status, "application/json", status == 429 || status == 503 ? &retry : NULL, body);
}

void reply_error(struct http_request *q, unsigned int status, const char *sentence)
{
	static const struct http_header retry = { "Retry-After", "2" };
	cleanup(http_body_drop_at_exit) struct http_body *body = NULL;
	struct buf text = { 0 };

	buf_u8(&text, '{');
	json_put_text(&text, "error", sentence);
	buf_printf(&text, "}\n");
	body = http_body_new(text.data, text.len);
	reply(q, status, "application/json", status == 429 ? &retry : NULL, body);
	buf_fini(&text);
}

void reply_file(struct http_request *q, const char *file_name, int fd, uint64_t size)
{
	cleanup(free_at_exit) char *attachment =
		xasprintf("attachment; filename=\"%s\"", file_name);
	const struct http_header headers[] = { { "Content-Type", "application/octet-stream" },
					       COMMON_HEADERS,
					       { "Content-Disposition", attachment } };
	const struct http_answer a = { .status = 200,
				       .headers = headers,
				       .n_headers = ARRAY_SIZE(headers) };

	http_request_answer_file(q, &a, fd, size);
}

void reply_message(struct http_request *q, const char *type, const struct buf *bytes)
{
	cleanup(http_body_drop_at_exit) struct http_body *body =
		http_body_new(bytes->data, bytes->len);

	reply(q, 200, type, NULL, body);
}

void reply_json(struct http_request *q, struct buf *text)
{
	cleanup(http_body_drop_at_exit) struct http_body *body =
		http_body_new(text->data, text->len);

	reply(q, 200, "application/json", NULL, body);
	buf_fini(text);
}

void reply_row(struct http_request *q, const struct api_row *row, struct http_body *body,
	       const struct buf *policy, unsigned int lacks)
{
	char attachment[128];
	struct http_header more = { "Content-Security-Policy", POLICY_NOTHING };

	snprintf(attachment, sizeof(attachment), "attachment; filename=\"%s\"", row->file);
	if (row->file)
		more = (struct http_header){ "Content-Disposition", attachment };
	else if (policy->len)
		more.value = (const char *)policy->data;
	reply_with_warnings(q, 200, row->type, &more, body, lacks);
}
