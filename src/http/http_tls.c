/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/http_tls.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/lazy_library.h"
#include "base/log.h"
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
	X(gnutls_x509_crt_deinit)                  \
	X(gnutls_x509_crt_list_import)             \
	X(gnutls_x509_crt_check_revocation)        \
	X(gnutls_x509_crl_list_import)             \
	X(gnutls_x509_crl_verify)                  \
	X(gnutls_x509_crl_get_next_update)         \
	X(gnutls_x509_crl_deinit)

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

/* ---- revoked certificates ---- */

#define MAX_LISTS 16 /* of one CA each */

/* The lists of a file. */
struct http_crl {
	char *path;
	const char *ca; /* PEM, of the texts */
	gnutls_x509_crl_t lists[MAX_LISTS];
	unsigned int n;
	struct stat is; /* the file that the lists are of */
	uint64_t looked_ns;
};

static void crl_drop(struct http_crl *c)
{
	while (c->n)
		tls.gnutls_x509_crl_deinit(c->lists[--c->n]);
}

/* Whether one of the CAs has signed the list. */
static bool crl_is_of_ca(gnutls_x509_crl_t list, const char *ca)
{
	const gnutls_datum_t text = datum_of((char *)ca);
	gnutls_x509_crt_t issuers[MAX_LISTS];
	unsigned int n = MAX_LISTS, status = 1;
	int found = tls.gnutls_x509_crt_list_import(issuers, &n, &text, GNUTLS_X509_FMT_PEM, 0);

	for (int i = 0; i < found && status; i++)
		if (tls.gnutls_x509_crl_verify(list, &issuers[i], 1, 0, &status) < 0)
			status = 1;
	for (int i = 0; i < found; i++)
		tls.gnutls_x509_crt_deinit(issuers[i]);
	/* An outdated list is signed, too. GnuTLS adds GNUTLS_CERT_INVALID to every reason. */
	return !status || (status & ~(unsigned int)GNUTLS_CERT_INVALID) ==
				  GNUTLS_CERT_REVOCATION_DATA_SUPERSEDED;
}

static int crl_read(const char *path, const char *ca, struct http_crl *out, struct error *err)
{
	cleanup(free_at_exit) char *text = NULL;
	gnutls_datum_t datum;
	int r = tls_read_file(path, false, &text, err), n;

	if (r < 0)
		return r;
	datum = datum_of(text);
	out->n = MAX_LISTS;
	n = tls.gnutls_x509_crl_list_import(out->lists, &out->n, &datum, GNUTLS_X509_FMT_PEM,
					    GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED);
	out->n = (unsigned int)MAX(n, 0);
	if (n <= 0)
		return error_set(err, -EINVAL,
				 "'%s' has no list of revoked certificates that can be read", path);
	for (unsigned int i = 0; i < out->n; i++)
		if (!crl_is_of_ca(out->lists[i], ca))
			return error_set(err, -EINVAL,
					 "a list of '%s' is not signed by the CA of the clients",
					 path);
	return 0;
}

static void crl_free(struct http_crl *c)
{
	if (!c)
		return;
	crl_drop(c);
	free(c->path);
	free(c);
}

static int crl_new(const char *path, const char *ca, struct http_crl **out, struct error *err)
{
	struct http_crl *c = xcalloc(1, sizeof(*c));
	int r;

	c->path = xstrdup(path);
	c->ca = ca;
	stat(path, &c->is);
	r = crl_read(path, ca, c, err);
	if (r < 0)
		crl_free(c);
	else
		*out = c;
	return r;
}

/* At most once in a second. A file that can't be read leaves the lists as they were. */
static void crl_read_again(struct http_crl *c)
{
	struct http_crl new = { 0 };
	uint64_t now = clock_monotonic_ns();
	struct error err = { 0 };
	struct stat is = { 0 };

	if (c->looked_ns && now - c->looked_ns < NS_PER_SECOND)
		return;
	c->looked_ns = now;
	stat(c->path, &is);
	if (is.st_ino == c->is.st_ino && is.st_size == c->is.st_size &&
	    !memcmp(&is.st_ctim, &c->is.st_ctim, sizeof(is.st_ctim)))
		return;
	c->is = is;
	if (crl_read(c->path, c->ca, &new, &err) < 0) {
		crl_drop(&new);
		log_warning("%s; the revoked certificates stay as they were", err.text);
		return;
	}
	crl_drop(c);
	memcpy(c->lists, new.lists, sizeof(c->lists));
	c->n = new.n;
}

/* Of a list that is out of date, nobody knows which certificates it lacks. */
static bool crl_refuses(struct http_crl *c, const gnutls_datum_t *chain, unsigned int n)
{
	time_t now = time(NULL);
	bool refuses = false;

	crl_read_again(c);
	for (unsigned int i = 0; i < c->n; i++) {
		time_t next = tls.gnutls_x509_crl_get_next_update(c->lists[i]);

		refuses |= next != (time_t)-1 && next < now;
	}
	for (unsigned int i = 0; i < n && !refuses; i++) {
		gnutls_x509_crt_t certificate;

		if (tls.gnutls_x509_crt_init(&certificate) < 0)
			return true;
		refuses =
			tls.gnutls_x509_crt_import(certificate, &chain[i], GNUTLS_X509_FMT_DER) <
				0 ||
			tls.gnutls_x509_crt_check_revocation(certificate, c->lists, (int)c->n) != 0;
		tls.gnutls_x509_crt_deinit(certificate);
	}
	return refuses;
}

/* ---- files ---- */

int http_tls_read(const struct http_tls *files, struct http_tls_texts *out, struct error *err)
{
	int r = lazy_library_load(GNUTLS_SONAMES, functions, ARRAY_SIZE(functions), err);

	r = r < 0 ? r : tls_read_file(files->certificate, false, &out->certificate, err);
	r = r < 0 ? r : tls_read_file(files->key, true, &out->key, err);
	r = r < 0 ? r : tls_read_file(files->client_ca, false, &out->client_ca, err);
	r = r < 0 ? r : tls_check(files, out, err);
	return r < 0 || !files->client_crl
		       ? r
		       : crl_new(files->client_crl, out->client_ca, &out->crl, err);
}

void http_tls_fini(struct http_tls_texts *texts)
{
	free(texts->certificate);
	free(texts->key);
	free(texts->client_ca);
	crl_free(texts->crl);
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

bool http_tls_peer(const struct http_tls_texts *texts, void *session,
		   char name[static HTTP_NAME_SIZE])
{
	/* Not the certificate of some server. */
	gnutls_typed_vdata_st purpose = { .type = GNUTLS_DT_KEY_PURPOSE_OID,
					  .data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT };
	unsigned int status, n;
	const gnutls_datum_t *chain;

	if (tls.gnutls_certificate_verify_peers(session, &purpose, 1, &status) < 0 || status)
		return false;
	chain = tls.gnutls_certificate_get_peers(session, &n);
	if (chain && n && texts->crl && crl_refuses(texts->crl, chain, n))
		return false;
	return chain && n && get_common_name(&chain[0], name);
}
