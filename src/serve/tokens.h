/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of tokens of `assay serve`: who may ask for what. */
#pragma once

#include <stdbool.h>

#include "base/mem.h"

struct error;

/* Each role may do more than the one before. */
enum access_role {
	ACCESS_READ,   /* ask for answers */
	ACCESS_RECORD, /* have the daemon record, and push profiles */
	ACCESS_ADMIN,  /* let others in */
};

extern const char *const access_role_names[];

/* A line of the file. Either `secret` or `certificate` is NULL. */
struct token {
	enum access_role role;
	char *secret;
	char *certificate; /* the common name of a client's certificate */
	char *filters;     /* that limit all answers, a line each; NULL: none */
	size_t line;       /* its number */
};

struct tokens {
	VEC(struct token) list;
	bool is_whole; /* the last line has an end, and all of the file could be read */
};

/* A token has 128 bits in hexadecimal or more: so many characters. */
#define TOKEN_MIN_SIZE 32

/*
 * Reads a file. Its lines are "ROLE TOKEN [FILTER…]" and "ROLE cert:NAME [FILTER…]", with the roles
 * read, record and admin. Empty lines and lines that begin with '#' are comments. -EACCES: other
 * users may read the file. -EINVAL: a line is wrong.
 */
int tokens_read(struct tokens *t, const char *path, struct error *err);
void tokens_fini(struct tokens *t);

/* Whether the text is the secret; it takes the same time for all wrong texts of one length. */
bool token_is_secret(const char *secret, const char *text);
