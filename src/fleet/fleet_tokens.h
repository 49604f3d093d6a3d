/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tokens of the hosts of a fleet: FLEET/.tokens, which only its owner may read. A line is
 *
 *     HOST SHA256         the SHA-256 (FIPS 180-4) of the host's token, in hexadecimal
 *     HOST certificate    a client's certificate whose common name is HOST
 *     * SHA256 NUMBER     a join token, with which so many hosts may still enroll themselves
 *
 * A token is 256 random bits in hexadecimal. Whoever reads the file cannot send as a host.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/mem.h"

struct error;

/* A token as text, with its NUL. */
#define FLEET_TOKEN_SIZE 65

/* More hosts than these are not enrolled. */
#define FLEET_HOSTS_MAX 100000

struct fleet_token {
	char host[65];    /* "*": a join token */
	uint8_t hash[32]; /* of the token; zeros for a certificate */
	bool has_certificate;
	uint64_t n_joins;
};

struct fleet_tokens {
	VEC(struct fleet_token) list; /* by hash */
	struct stat file;             /* the file that was read */
};

/* No tokens if there is no file. -EACCES: others may read it. -EBADMSG: a line is wrong. */
int fleet_tokens_read(const char *fleet, struct fleet_tokens *out, struct error *err);
void fleet_tokens_fini(struct fleet_tokens *t);

/* Reads them again if the file is another one. After a failure, they stay as they were. */
int fleet_tokens_read_again(const char *fleet, struct fleet_tokens *t, struct error *err);

/* Whose token the text is; "*" for a join token, and NULL if it is none. */
const char *fleet_tokens_host(const struct fleet_tokens *t, const char *token);

/* Whether the fleet has a token or a certificate of the host. A file that can't be read: true. */
bool fleet_is_enrolled(const char *fleet, const char *host);

/* Whether the host may send by its certificate. */
bool fleet_tokens_have_certificate(const struct fleet_tokens *t, const char *host);

/*
 * Gives a host a token, which `token` has then; the old one of the host is void. `token` NULL: the
 * host has a certificate. -E2BIG: there are FLEET_HOSTS_MAX hosts.
 */
int fleet_enroll(const char *fleet, const char *host, char *token, struct error *err);

/* A new token: random bits. */
int fleet_token_make(char token[static FLEET_TOKEN_SIZE], struct error *err);

/* Makes a join token for so many hosts. */
int fleet_invite(const char *fleet, uint64_t n_hosts, char token[static FLEET_TOKEN_SIZE],
		 struct error *err);

/* Makes all join tokens void. */
int fleet_uninvite(const char *fleet, struct error *err);

/*
 * Enrolls a host by a join token: 1. `token` is its own, which the host made, so a host that did
 * not get the answer asks again: 0 if it is enrolled with this token already. -ENOKEY: there is no
 * such join token, or it is used up. -EEXIST: the host is enrolled with another token, or has
 * blocks. -EINVAL: the name, or a token that is none or not its own.
 */
int fleet_join(const char *fleet, const char *join_token, const char *host, const char *token,
	       struct error *err);

/* The host may not send any more. 0 also if it could not. */
int fleet_revoke(const char *fleet, const char *host, struct error *err);
