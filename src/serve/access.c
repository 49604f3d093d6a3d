/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/access.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/error.h"
#include "http/http_server.h"
#include "profile/query.h"
#include "serve/api.h"

/* More browsers than these: the oldest one must log in again. */
#define MAX_COOKIES 64

struct token {
	char *secret, *filters; /* filters: NULL if there are none */
};

struct access {
	char login[sizeof("/login?token=") + ACCESS_SECRET_SIZE];
	char cookies[MAX_COOKIES][ACCESS_SECRET_SIZE];
	uint32_t n_logins;
	char cookie_name[32];
	VEC(struct token) tokens;
	VEC(char *) hosts; /* that the header Host may have; none: all, of a Unix socket */
};

static void make_secret(char *out)
{
	uint8_t random[(ACCESS_SECRET_SIZE - 1) / 2];

	/* Without GRND_NONBLOCK, so few bytes come whole. */
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		abort();
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(out + 2 * i, 3, "%02x", random[i]);
}

static void make_login(struct access *a)
{
	char secret[ACCESS_SECRET_SIZE];

	make_secret(secret);
	snprintf(a->login, sizeof(a->login), "/login?token=%s", secret);
}

/* Takes the same time for all wrong texts of one length. */
static bool is_secret(const char *secret, const char *text)
{
	size_t n = strlen(secret);
	uint8_t difference = 0;

	if (!n || strlen(text) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		difference |= (uint8_t)(secret[i] ^ text[i]);
	return !difference;
}

/* ---- the file of tokens ---- */

/* Copies the filters of a token, a line each. Each must be one, as nobody sees them at use. */
static int parse_filters(char *words, char **out, struct error *err)
{
	struct query query = { 0 };
	struct buf filters = { 0 };
	char *rest = words;
	int r = 0;

	for (char *word; !r && (word = strsep(&rest, " \t"));) {
		if (!*word)
			continue;
		r = api_add_filter(&query, word, err);
		buf_printf(&filters, "%s%s", filters.len ? "\n" : "", word);
	}
	query_fini(&query);
	*out = filters.len && r >= 0 ? xstrdup(buf_cstr(&filters)) : NULL;
	buf_fini(&filters);
	return r < 0 ? r : 0;
}

static int parse_token(struct access *a, char *line, struct error *err)
{
	char *rest = line, *role = strsep(&rest, " \t"), *secret = strsep(&rest, " \t");
	char *filters = NULL;
	int r;

	if (!*role || *role == '#')
		return 0;
	if (strcmp(role, "read"))
		return error_set(err, -EINVAL, "there is no role '%s'; there is 'read'", role);
	if (!secret || strlen(secret) < ACCESS_SECRET_SIZE - 1)
		return error_set(err, -EINVAL, "a token needs %d characters or more",
				 ACCESS_SECRET_SIZE - 1);
	r = rest ? parse_filters(rest, &filters, err) : 0;
	if (r >= 0)
		vec_push(&a->tokens, (struct token){ xstrdup(secret), filters });
	return r;
}

static int read_tokens(struct access *a, const char *path, struct error *err)
{
	FILE *in = fopen(path, "re");
	char *line = NULL;
	size_t size = 0, number = 0;
	struct stat st;
	int r = 0;

	if (!in)
		return error_errno(err, -errno, "cannot read '%s'", path);
	if (!fstat(fileno(in), &st) && (st.st_mode & 077))
		r = error_set(err, -EACCES,
			      "'%s' is not only yours: other users may read it. Try chmod 600",
			      path);
	while (!r && getline(&line, &size, in) >= 0) {
		number++;
		line[strcspn(line, "\n")] = '\0';
		r = parse_token(a, line, err);
		if (r < 0)
			error_wrap(err, r, "'%s', line %zu", path, number);
	}
	free(line);
	fclose(in);
	return r;
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
	if (!strcmp(port, "80")) /* browsers leave it out */
		vec_push(&a->hosts, xasprintf("%.*s", (int)(port - 1 - address), address));
	for (size_t i = 0; i < ARRAY_SIZE(loopback); i++)
		if (!strncmp(address, loopback[i], strlen(loopback[i])))
			add_host(a, "localhost", port);
	snprintf(a->cookie_name, sizeof(a->cookie_name), "assay-%s", port);
}

int access_new(const char *address, const char *token_file, struct access **out, struct error *err)
{
	struct access *a = xcalloc(1, sizeof(*a));
	int r = 0;

	make_login(a);
	strcpy(a->cookie_name, "assay");
	if (*address != 'u')
		find_hosts(a, address);
	if (token_file)
		r = read_tokens(a, token_file, err);
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
	vec_foreach (&a->tokens, token) {
		free(token->secret);
		free(token->filters);
	}
	vec_foreach (&a->hosts, host)
		free(*host);
	vec_fini(&a->tokens);
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

struct access_right access_check_origin(const struct access *a, const struct http_request *q)
{
	const char *host = http_request_header(q, "Host");
	const char *origin = http_request_header(q, "Origin");
	const char *site = http_request_header(q, "Sec-Fetch-Site");
	static const char scheme[] = "http://";

	if (!host || !is_our_host(a, host))
		return (struct access_right){ 403, "The header Host does not name this server.",
					      NULL };
	if (origin &&
	    (strncmp(origin, scheme, strlen(scheme)) || strcasecmp(origin + strlen(scheme), host)))
		return (struct access_right){ 403, "A page of another site sent this request.",
					      NULL };
	/* Links to the once-only address come from terminals and mails. */
	if (site && strcmp(site, "same-origin") && strcmp(site, "none") &&
	    strcmp(http_request_path(q), "/login"))
		return (struct access_right){ 403, "A page of another site sent this request.",
					      NULL };
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

static bool has_cookie(const struct access *a, const struct http_request *q)
{
	const char *cookies = http_request_header(q, "Cookie");
	char value[ACCESS_SECRET_SIZE];
	bool is_known = false;

	if (!cookies || !get_cookie(a, cookies, value))
		return false;
	for (size_t i = 0; i < MAX_COOKIES; i++)
		is_known |= is_secret(a->cookies[i], value);
	return is_known;
}

struct access_right access_check(const struct access *a, const struct http_request *q)
{
	const char *header = http_request_header(q, "Authorization");
	static const char bearer[] = "Bearer ";

	if (has_cookie(a, q))
		return (struct access_right){ .status = 200 };
	if (header && !strncasecmp(header, bearer, strlen(bearer)))
		vec_foreach (&a->tokens, token)
			if (is_secret(token->secret, header + strlen(bearer)))
				return (struct access_right){ .status = 200,
							      .filters = token->filters };
	return (struct access_right){
		401, "Open the address that 'assay serve' printed last, or send a token.", NULL
	};
}

bool access_login(struct access *a, const struct http_request *q, struct buf *cookie)
{
	const char *token = http_request_argument(q, "token");
	char *secret = a->cookies[a->n_logins % MAX_COOKIES];

	if (!token || !is_secret(strchr(a->login, '=') + 1, token))
		return false;
	a->n_logins++;
	make_secret(secret);
	make_login(a);
	buf_printf(cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict", a->cookie_name, secret);
	return true;
}
