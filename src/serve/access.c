/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/access.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/token.h"
#include "http/http_server.h"
#include "serve/tokens.h"

/* More browsers than these: the oldest one must log in again. */
#define MAX_COOKIES 64

/* A browser that is logged in. */
struct cookie {
	char secret[ACCESS_SECRET_SIZE];
	const struct token *token; /* whose rights it has; NULL: all, by the once-only address */
};

struct access {
	char login[sizeof("/login?token=") + ACCESS_SECRET_SIZE];
	struct cookie cookies[MAX_COOKIES];
	uint32_t n_logins;
	char cookie_name[32];
	struct tokens tokens;
	char *token_file;       /* NULL: none */
	struct stat tokens_are; /* the file that was read last, or that could not be read */
	uint64_t looked_ns;     /* when the file was looked at */
	bool is_secure, is_behind_proxy;
	VEC(char *) hosts; /* that the header Host may have; none: all, of a Unix socket */
};

static void make_secret(char *out)
{
	if (!token_make(out, ACCESS_SECRET_SIZE))
		abort();
}

static void make_login(struct access *a)
{
	char secret[ACCESS_SECRET_SIZE];

	make_secret(secret);
	snprintf(a->login, sizeof(a->login), "/login?token=%s", secret);
}

/* ---- the object ---- */

static void add_host(struct access *a, const char *host, const char *port)
{
	vec_push(&a->hosts, xasprintf("%s:%s", host, port));
}

/* The names of this machine that a browser on it may have used. */
static void find_hosts(struct access *a, const char *address)
{
	static const char *const loopback[] = { "127.0.0.1", "[::1]" };
	const char *port = strrchr(address, ':') + 1;

	vec_push(&a->hosts, xstrdup(address));
	if (!strcmp(port, a->is_secure ? "443" : "80")) /* browsers leave it out */
		vec_push(&a->hosts, xasprintf("%.*s", (int)(port - 1 - address), address));
	for (size_t i = 0; i < ARRAY_SIZE(loopback); i++)
		if (!strncmp(address, loopback[i], strlen(loopback[i])))
			add_host(a, "localhost", port);
	snprintf(a->cookie_name, sizeof(a->cookie_name), "assay-%s", port);
}

/* Names of --host, with the port or without. */
static void find_names(struct access *a, const struct access_config *c)
{
	const char *port = strrchr(c->address, ':');

	for (size_t i = 0; i < c->n_hosts; i++) {
		vec_push(&a->hosts, xstrdup(c->hosts[i]));
		if (port && *c->address != 'u')
			add_host(a, c->hosts[i], port + 1);
	}
}

/* A missing file is all zero. */
static void look_at_tokens(const struct access *a, struct stat *out)
{
	*out = (struct stat){ 0 };
	if (stat(a->token_file, out) < 0)
		*out = (struct stat){ 0 };
}

int access_new(const struct access_config *c, struct access **out, struct error *err)
{
	struct access *a = xcalloc(1, sizeof(*a));
	int r = 0;

	a->is_secure = c->is_secure;
	a->is_behind_proxy = c->is_behind_proxy;
	make_login(a);
	strcpy(a->cookie_name, "assay");
	if (*c->address != 'u')
		find_hosts(a, c->address);
	find_names(a, c);
	if (c->token_file) {
		a->token_file = xstrdup(c->token_file);
		look_at_tokens(a, &a->tokens_are);
		r = tokens_read(&a->tokens, c->token_file, err);
	}
	if (r < 0) {
		access_free(a);
		return r;
	}
	*out = a;
	return 0;
}

void access_free(struct access *a)
{
	if (!a)
		return;
	tokens_fini(&a->tokens);
	free(a->token_file);
	vec_foreach (&a->hosts, host)
		free(*host);
	vec_fini(&a->hosts);
	free(a);
}

const char *access_login_path(const struct access *a)
{
	return a->login;
}

/* ---- requests ---- */

static bool is_our_host(const struct access *a, const char *host)
{
	vec_foreach (&a->hosts, known)
		if (!strcasecmp(*known, host))
			return true;
	return !a->hosts.n;
}

/* A proxy may speak TLS for us. */
static bool is_our_origin(const struct access *a, const char *origin, const char *host)
{
	static const struct {
		const char *text;
		bool is_secure;
	} schemes[] = { { "http://", false }, { "https://", true } };

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		size_t n = strlen(schemes[i].text);

		if ((a->is_behind_proxy || schemes[i].is_secure == a->is_secure) &&
		    !strncmp(origin, schemes[i].text, n) && !strcasecmp(origin + n, host))
			return true;
	}
	return false;
}

static struct access_right refuse(unsigned int status, const char *reason)
{
	return (struct access_right){ .status = status, .reason = reason };
}

struct access_right access_check_origin(const struct access *a, const struct http_request *q)
{
	const char *host = http_request_header(q, "Host");
	const char *origin = http_request_header(q, "Origin");
	const char *site = http_request_header(q, "Sec-Fetch-Site");

	if (!host || !is_our_host(a, host))
		return refuse(403, "The header Host does not name this server.");
	if (origin && !is_our_origin(a, origin, host))
		return refuse(403, "A page of another site sent this request.");
	/* Links to the once-only address come from terminals and mails. */
	if (site && strcmp(site, "same-origin") && strcmp(site, "none") &&
	    (strcmp(http_request_path(q), "/login") || strcmp(http_request_method(q), "GET")))
		return refuse(403, "A page of another site sent this request.");
	return (struct access_right){ .status = 200 };
}

/* The value of our cookie among "a=b; assay-8080=VALUE". */
static bool get_cookie(const struct access *a, const char *cookies, char value[ACCESS_SECRET_SIZE])
{
	size_t n = strlen(a->cookie_name);

	for (const char *at = cookies; at; at = strchr(at, ';')) {
		at += strspn(at, "; ");
		if (strncmp(at, a->cookie_name, n) || at[n] != '=')
			continue;
		snprintf(value, ACCESS_SECRET_SIZE, "%.*s", (int)strcspn(at + n + 1, "; "),
			 at + n + 1);
		return true;
	}
	return false;
}

/* Digits of a hash. A token stays secret. */
static void name_asker(struct access_right *right, const char *secret)
{
	uint8_t hash[TOKEN_HASH_SIZE];

	token_hash(secret, hash);
	token_print_hex(hash, sizeof(right->id) / 2, right->id);
}

static const struct cookie *find_cookie(const struct access *a, const struct http_request *q)
{
	const char *cookies = http_request_header(q, "Cookie");
	const struct cookie *found = NULL;
	char value[ACCESS_SECRET_SIZE];

	if (!cookies || !get_cookie(a, cookies, value))
		return NULL;
	for (size_t i = 0; i < MAX_COOKIES; i++)
		if (token_is_secret(a->cookies[i].secret, value))
			found = &a->cookies[i];
	return found;
}

static const struct token *find_token(const struct access *a, const char *secret)
{
	const struct token *found = NULL;

	vec_foreach (&a->tokens.list, token)
		if (token->secret && token_is_secret(token->secret, secret))
			found = token;
	return found;
}

/* The role of a certificate without a line is `read`, unless the file has lines of certificates. */
static struct access_right right_of_certificate(const struct access *a, const char *name)
{
	struct access_right right = { .status = 200, .role = ACCESS_READ, .is_by_default = true };

	snprintf(right.asker, sizeof(right.asker), "certificate %s", name);
	name_asker(&right, right.asker);
	vec_foreach (&a->tokens.list, token) {
		if (!token->certificate)
			continue;
		if (!strcmp(token->certificate, name)) {
			right.status = 200;
			right.is_by_default = false;
			right.role = token->role;
			right.filters = token->filters;
			return right;
		}
		right.status = 401;
		right.reason = "The file of tokens has other certificates.";
	}
	return right;
}

static struct access_right right_of_token(const struct token *token)
{
	struct access_right right = { .status = 200,
				      .role = token->role,
				      .filters = token->filters };

	snprintf(right.asker, sizeof(right.asker), "token of line %zu", token->line);
	name_asker(&right, token->secret);
	return right;
}

struct access_right access_check(const struct access *a, const struct http_request *q)
{
	const char *header = http_request_header(q, "Authorization");
	static const char bearer[] = "Bearer ";
	const struct cookie *cookie = find_cookie(a, q);
	const struct token *token = NULL;
	char name[HTTP_NAME_SIZE];

	if (cookie && !cookie->token)
		return (struct access_right){ .status = 200,
					      .role = ACCESS_ADMIN,
					      .asker = "the once-only address",
					      .id = "once-only" };
	if (cookie)
		return right_of_token(cookie->token);
	if (header && !strncasecmp(header, bearer, strlen(bearer)))
		token = find_token(a, header + strlen(bearer));
	if (token)
		return right_of_token(token);
	if (http_request_certificate(q, name))
		return right_of_certificate(a, name);
	return refuse(401, "Open the address that 'assay serve' printed last, or send a token.");
}

/* A browser keeps its cookie if its token is in the new file, with the rights of the new line. */
static void renew_cookies(struct access *a)
{
	for (size_t i = 0; i < MAX_COOKIES; i++) {
		struct cookie *cookie = &a->cookies[i];

		if (!cookie->token)
			continue;
		cookie->token = find_token(a, cookie->token->secret);
		if (!cookie->token)
			*cookie = (struct cookie){ 0 };
	}
}

static bool has_certificates(const struct tokens *t)
{
	vec_foreach (&t->list, token)
		if (token->certificate)
			return true;
	return false;
}

/*
 * A file that is being written may lack the filters of its last line, and more lines. Without a
 * line of certificates, each certificate would do. NULL: nothing widens a right.
 */
static const char *doubt_of(const struct tokens *old, const struct tokens *new)
{
	if (!new->list.n)
		return "it has no token";
	if (!new->is_whole)
		return "its last line has no end";
	if (has_certificates(old) && !has_certificates(new))
		return "it has no line with cert: any more";
	return NULL;
}

void access_read_again(struct access *a)
{
	uint64_t now = clock_monotonic_ns();
	struct tokens old = a->tokens, new = { 0 };
	struct error err = { 0 };
	const char *doubt = NULL;
	struct stat is;
	int r;

	if (!a->token_file || now - a->looked_ns < NS_PER_SECOND)
		return;
	a->looked_ns = now;
	look_at_tokens(a, &is);
	if (is.st_ino == a->tokens_are.st_ino && is.st_size == a->tokens_are.st_size &&
	    is.st_mode == a->tokens_are.st_mode &&
	    !memcmp(&is.st_ctim, &a->tokens_are.st_ctim, sizeof(is.st_ctim)))
		return;
	a->tokens_are = is;
	r = tokens_read(&new, a->token_file, &err);
	doubt = r < 0 ? NULL : doubt_of(&old, &new);
	if (doubt)
		r = error_set(&err, -EINVAL, "'%s': %s", a->token_file, doubt);
	if (r < 0) {
		log_warning("%s; the tokens stay as they were", err.text);
		tokens_fini(&new);
		return;
	}
	a->tokens = new;
	renew_cookies(a);
	tokens_fini(&old);
	log_info("%s: the tokens were read again", a->token_file);
}

static void set_cookie(struct access *a, const struct token *token, struct buf *cookie)
{
	struct cookie *made = &a->cookies[a->n_logins++ % MAX_COOKIES];

	made->token = token;
	make_secret(made->secret);
	buf_printf(cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict%s", a->cookie_name,
		   made->secret, a->is_secure || a->is_behind_proxy ? "; Secure" : "");
}

bool access_login(struct access *a, const struct http_request *q, struct buf *cookie)
{
	const char *token = http_request_argument(q, "token");

	if (!token || !token_is_secret(strchr(a->login, '=') + 1, token))
		return false;
	set_cookie(a, NULL, cookie);
	make_login(a);
	return true;
}

bool access_login_by_token(struct access *a, const char *secret, struct buf *cookie)
{
	const struct token *token = find_token(a, secret);

	if (token)
		set_cookie(a, token, cookie);
	return token != NULL;
}
