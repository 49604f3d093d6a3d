/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside http/: certificates for TLS. GnuTLS is loaded when they are used. */
#pragma once

#include <stdbool.h>

#include "http/http_server.h"

struct error;

struct http_tls_texts {
	char *certificate, *key, *client_ca; /* PEM; NULL: none */
	struct http_crl *crl;                /* NULL: none */
};

/* Reads the files. -EACCES: others may read the key. -ENOTSUP: there is no GnuTLS. */
int http_tls_read(const struct http_tls *tls, struct http_tls_texts *out, struct error *err);
void http_tls_fini(struct http_tls_texts *texts);

/*
 * Whether the client of a GnuTLS session has a certificate for clients that the CA signed, and has
 * not revoked. Then `name` is its common name.
 */
bool http_tls_peer(const struct http_tls_texts *tls, void *session,
		   char name[static HTTP_NAME_SIZE]);
