/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/http_body.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct http_body {
	uint32_t uses;
	size_t size;
	uint8_t bytes[];
};

struct http_body *http_body_new(const void *bytes, size_t size)
{
	struct http_body *body = xmalloc(sizeof(*body) + size);

	*body = (struct http_body){ .uses = 1, .size = size };
	if (size)
		memcpy(body->bytes, bytes, size);
	return body;
}

struct http_body *http_body_share(struct http_body *body)
{
	body->uses++;
	return body;
}

void http_body_drop(struct http_body *body)
{
	if (body && !--body->uses)
		free(body);
}

size_t http_body_size(const struct http_body *body)
{
	return body->size;
}

void *http_body_bytes(struct http_body *body)
{
	return body->bytes;
}

void http_body_drop_bytes(void *bytes)
{
	http_body_drop((struct http_body *)((char *)bytes - offsetof(struct http_body, bytes)));
}
