/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In place of http_client.c: a build without libcurl. */
#include <errno.h>

#include "base/error.h"
#include "http/http_client.h"

void http_reply_fini(struct http_reply *reply)
{
	buf_fini(&reply->body);
}

int http_client_new(const struct http_client_options *options, struct http_client **out,
		    struct error *err)
{
	(void)options, (void)out;
	return error_set(err, -ENOTSUP, "this assay was built without libcurl");
}

void http_client_free(struct http_client *c)
{
	(void)c;
}

int http_client_ask(struct http_client *c, const struct http_question *question,
		    struct http_reply *reply, struct error *err)
{
	(void)c, (void)question, (void)reply;
	return error_set(err, -ENOTSUP, "this assay was built without libcurl");
}
