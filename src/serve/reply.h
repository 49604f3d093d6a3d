/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers of `assay serve` to requests, with the headers that each of them has. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct api_row;
struct buf;
struct http_body;
struct http_header;
struct http_request;

/* `more` is one header more; NULL: none. The body is shared. */
void reply(struct http_request *q, unsigned int status, const char *type,
	   const struct http_header *more, struct http_body *body);

/* {"error": sentence}. 429 has Retry-After. */
void reply_error(struct http_request *q, unsigned int status, const char *sentence);

/* An answer in JSON with any status. 429 and 503 have Retry-After. The bytes stay the caller's. */
void reply_status(struct http_request *q, unsigned int status, const void *json, size_t size);

/* A regular file as a download. The descriptor is the server's then. */
void reply_file(struct http_request *q, const char *file_name, int fd, uint64_t size);

/* The bytes stay the caller's. */
void reply_message(struct http_request *q, const char *type, const struct buf *bytes);

/* Takes the text of a JSON object. */
void reply_json(struct http_request *q, struct buf *text);

/* What an answer lacks: several are possible. */
enum reply_lack {
	REPLY_WHOLE = 0,
	REPLY_DAMAGED = 1, /* something is missing in it */
	REPLY_UNNAMED = 2, /* names of files come later */
	REPLY_FOR_NOW = 4, /* damaged, but for lack of memory: soon there may be more */
};

/* The answer of a row of the API. `policy` is the text of policy_of_page(), or empty. */
void reply_row(struct http_request *q, const struct api_row *row, struct http_body *body,
	       const struct buf *policy, unsigned int lacks);
