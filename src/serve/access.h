/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The users of `assay serve`. There are these ways in:
 *
 * - The once-only address that serve prints. Opening it gives the browser a cookie. Then the
 *   address is void, and there is a new one.
 * - A token of --token-file, in the header "Authorization: Bearer TOKEN", or in the form of the
 *   page for logging in, which gives the browser a cookie.
 * - A certificate of the client, if serve has a CA for them.
 *
 * Beside that, the headers Host and Origin must name this server. So a page of another site can
 * neither read answers nor send requests, also if its name leads to this machine (DNS rebinding).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/mem.h"
#include "serve/tokens.h"

struct access;
struct error;
struct http_request;

/* Bytes of a secret as text, with its NUL: 128 bits in hexadecimal. */
#define ACCESS_SECRET_SIZE 33

struct access_right {
	unsigned int status; /* 200, or the status of the refusal */
	const char *reason;  /* of the refusal, a sentence */
	enum access_role role;
	/* Filters that limit all answers, a line each; NULL: none. Valid until access_read_again().
	 */
	const char *filters;
	char asker[288];    /* for logs: "token of line 3" */
	char id[17];        /* of the token or the certificate: it stays when the file changes */
	bool is_by_default; /* of a certificate that no line of the file names */
};

struct access_config {
	const char *address;    /* http_server_address() */
	const char *token_file; /* tokens_read(); NULL: none */
	char *const *hosts;     /* further names that the header Host may have */
	size_t n_hosts;
	bool is_secure;       /* it speaks TLS */
	bool is_behind_proxy; /* a proxy may speak TLS for it */
};

/* -EACCES and -EINVAL: as of tokens_read(). */
int access_new(const struct access_config *config, struct access **out, struct error *err);
void access_free(struct access *a); /* NULL is fine */
DEFINE_AT_EXIT(access_free, struct access)

/* The path of the once-only address: "/login?token=…". */
const char *access_login_path(const struct access *a);

/*
 * Reads the file of tokens again if it is another one, at most once in a second. A file that can't
 * be read leaves the tokens as they were, with a warning. Call it before a request is checked.
 */
void access_read_again(struct access *a);

/* Whether the request names this server: 200, or 403. */
struct access_right access_check_origin(const struct access *a, const struct http_request *q);

/* The right of the request, after access_check_origin(): 200, or 401. */
struct access_right access_check(const struct access *a, const struct http_request *q);

/*
 * Whether the request has the token of the once-only address. Then *cookie is the value of the
 * header Set-Cookie, and the address is another one.
 */
bool access_login(struct access *a, const struct http_request *q, struct buf *cookie);
/* The same by a token of the file. The cookie has its rights. */
bool access_login_by_token(struct access *a, const char *secret, struct buf *cookie);
