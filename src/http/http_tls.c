/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/http_tls.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/lazy_library.h"
#include "base/mem.h"
#include "config.h"
#include "http/http_server.h"

#define MAX_PEM_BYTES ((size_t)1 << 20)

#define FUNCTIONS(X)                               \
	X(gnutls_certificate_allocate_credentials) \
	X(gnutls_certificate_free_credentials)     \
	X(gnutls_certificate_set_x509_key_mem)     \
	X(gnutls_certificate_set_x509_trust_mem)   \
	X(gnutls_certificate_verify_peers)         \
	X(gnutls_certificate_get_peers)            \
	X(gnutls_strerror)                         \
	X(gnutls_x509_crt_init)                    \
	X(gnutls_x509_crt_import)                  \
	X(gnutls_x509_crt_get_dn_by_oid)           \
	X(gnutls_x509_crt_deinit)

static struct {
	FUNCTIONS(LAZY_POINTER)
} tls;

#define ROW(function) { #function, &tls.function },
static const struct lazy_function functions[] = { FUNCTIONS(ROW) };

static int tls_read_file(const char *path, bool is_secret, char **out, struct error *err)
{
	struct stat st;
	size_t size;
	int r;

	if (!path)
		return 0;
	r = file_read_all(path, MAX_PEM_BYTES, out, &size);
	if (r < 0)
		return error_errno(err, r, "cannot read '%s'", path);
	if (is_secret && !stat(path, &st) && (st.st_mode & 07))
		return error_set(err, -EACCES, "every user may read the key '%s'. Try chmod 600",
				 path);
	return 0;
}

static gnutls_datum_t datum_of(char *text)
{
	return (gnutls_datum_t){ (unsigned char *)text, (unsigned int)strlen(text) };
}

/* libmicrohttpd would only say that it cannot start. */
static int tls_check(const struct http_tls *files, const struct http_tls_texts *texts,
		     struct error *err)
{
	const gnutls_datum_t certificate = datum_of(texts->certificate);
	const gnutls_datum_t key = datum_of(texts->key);
	gnutls_certificate_credentials_t all;
	int r = tls.gnutls_certificate_allocate_credentials(&all);

	if (r < 0)
		return error_set(err, -ENOMEM, "TLS: %s", tls.gnutls_strerror(r));
	r = tls.gnutls_certificate_set_x509_key_mem(all, &certificate, &key, GNUTLS_X509_FMT_PEM);
	if (r < 0)
		r = error_set(err, -EINVAL, "cannot use the certificate '%s' with the key '%s': %s",
			      files->certificate, files->key, tls.gnutls_strerror(r));
	if (r >= 0 && texts->client_ca) {
		const gnutls_datum_t ca = datum_of(texts->client_ca);

		r = tls.gnutls_certificate_set_x509_trust_mem(all, &ca, GNUTLS_X509_FMT_PEM);
		if (r <= 0)
			r = error_set(err, -EINVAL, "'%s' has no certificate that can be read",
				      files->client_ca);
	}
	tls.gnutls_certificate_free_credentials(all);
	return MIN(r, 0);
}

int http_tls_read(const struct http_tls *files, struct http_tls_texts *out, struct error *err)
{
	int r = lazy_library_load(GNUTLS_SONAMES, functions, ARRAY_SIZE(functions), err);

	r = r < 0 ? r : tls_read_file(files->certificate, false, &out->certificate, err);
	r = r < 0 ? r : tls_read_file(files->key, true, &out->key, err);
	r = r < 0 ? r : tls_read_file(files->client_ca, false, &out->client_ca, err);
	return r < 0 ? r : tls_check(files, out, err);
}

void http_tls_fini(struct http_tls_texts *texts)
{
	free(texts->certificate);
	free(texts->key);
	free(texts->client_ca);
}

static bool get_common_name(const gnutls_datum_t *der, char name[static HTTP_NAME_SIZE])
{
	gnutls_x509_crt_t certificate;
	size_t size = HTTP_NAME_SIZE;
	bool is_good;

	if (tls.gnutls_x509_crt_init(&certificate) < 0)
		return false;
	is_good = tls.gnutls_x509_crt_import(certificate, der, GNUTLS_X509_FMT_DER) >= 0 &&
		  tls.gnutls_x509_crt_get_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, 0,
						    name, &size) >= 0 &&
		  /* A NUL in the name would hide its rest. */
		  strnlen(name, HTTP_NAME_SIZE) == size;
	tls.gnutls_x509_crt_deinit(certificate);
	return is_good;
}

bool http_tls_peer(void *session, char name[static HTTP_NAME_SIZE])
{
	/* Not the certificate of some server. */
	gnutls_typed_vdata_st purpose = { .type = GNUTLS_DT_KEY_PURPOSE_OID,
					  .data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT };
	unsigned int status, n;
	const gnutls_datum_t *chain;

	if (tls.gnutls_certificate_verify_peers(session, &purpose, 1, &status) < 0 || status)
		return false;
	chain = tls.gnutls_certificate_get_peers(session, &n);
	return chain && n && get_common_name(&chain[0], name);
}
