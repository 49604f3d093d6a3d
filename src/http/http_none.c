/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In place of http_server.c: a build without libmicrohttpd. No server opens, so none has requests.
 */
#include <errno.h>

#include "base/error.h"
#include "http/http_server.h"

int http_address_check(const char *address, struct error *err)
{
	(void)address;
	return error_set(err, -ENOTSUP, "this assay was built without libmicrohttpd");
}

int http_server_open(const char *address, const struct http_options *options,
		     struct http_server **out, struct error *err)
{
	(void)options, (void)out;
	return http_address_check(address, err);
}

void http_server_close(struct http_server *h)
{
	(void)h;
}

int http_server_fd(const struct http_server *h)
{
	(void)h;
	return -1;
}

void http_server_serve(struct http_server *h)
{
	(void)h;
}

const char *http_server_address(const struct http_server *h)
{
	(void)h;
	return "";
}

bool http_server_is_reachable(const struct http_server *h)
{
	(void)h;
	return false;
}

const char *http_request_method(const struct http_request *q)
{
	(void)q;
	return "";
}

const char *http_request_path(const struct http_request *q)
{
	(void)q;
	return "";
}

const char *http_request_header(const struct http_request *q, const char *name)
{
	(void)q, (void)name;
	return NULL;
}

const char *http_request_argument(const struct http_request *q, const char *name)
{
	(void)q, (void)name;
	return NULL;
}

void http_request_answer(struct http_request *q, const struct http_answer *answer)
{
	(void)q, (void)answer;
}

void http_request_answer_file(struct http_request *q, const struct http_answer *answer, int fd,
			      uint64_t size)
{
	(void)q, (void)answer, (void)fd, (void)size;
}

void http_request_answer_text(struct http_request *q, unsigned int status, const char *text)
{
	(void)q, (void)status, (void)text;
}

const struct buf *http_request_body(const struct http_request *q)
{
	static const struct buf none;

	(void)q;
	return &none;
}

bool http_request_certificate(const struct http_request *q, char name[static HTTP_NAME_SIZE])
{
	(void)q, (void)name;
	return false;
}
