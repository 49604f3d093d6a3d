/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In place of http_tls.c: a build without GnuTLS. */
#include <errno.h>

#include "base/error.h"
#include "http/http_tls.h"

int http_tls_read(const struct http_tls *tls, struct http_tls_texts *out, struct error *err)
{
	(void)tls, (void)out;
	return error_set(err, -ENOTSUP, "this assay was built without GnuTLS");
}

void http_tls_fini(struct http_tls_texts *texts)
{
	(void)texts;
}

bool http_tls_peer(const struct http_tls_texts *tls, void *session,
		   char name[static HTTP_NAME_SIZE])
{
	(void)tls, (void)session, (void)name;
	return false;
}
