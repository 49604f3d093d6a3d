/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/tokens.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/files/secret_file.h"
#include "profile/query.h"
#include "serve/api.h"

#define CERTIFICATE "cert:"

const char *const access_role_names[] = {
	[ACCESS_READ] = "read",
	[ACCESS_RECORD] = "record",
	[ACCESS_ADMIN] = "admin",
};

static int parse_role(const char *word, enum access_role *out, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(access_role_names); i++)
		if (!strcmp(word, access_role_names[i])) {
			*out = (enum access_role)i;
			return 0;
		}
	return error_set(err, -EINVAL,
			 "there is no role '%s'; there are 'read', 'record' and 'admin'", word);
}

/* The next word; blanks between quotation marks are part of it. NULL: there is none. */
static char *next_word(char **rest)
{
	char *word = *rest + strspn(*rest, " \t"), *at = word;
	bool is_quoted = false;

	if (!*word)
		return NULL;
	for (; *at && (is_quoted || !strchr(" \t", *at)); at++) {
		if (is_quoted && at[0] == '\\' && at[1])
			at++;
		else if (*at == '"')
			is_quoted = !is_quoted;
	}
	if (*at)
		*at++ = '\0';
	*rest = at;
	return word;
}

/* Takes quotation marks and their backslashes out of a word, in place. */
static char *unquote(char *word)
{
	bool is_quoted = false;
	char *to = word;

	for (const char *at = word; *at; at++) {
		if (*at == '"') {
			is_quoted = !is_quoted;
			continue;
		}
		at += is_quoted && at[0] == '\\' && at[1];
		*to++ = *at;
	}
	*to = '\0';
	return word;
}

/* Copies the filters of a token, a line each. Each must be one, as nobody sees them at use. */
static int parse_filters(char *rest, char **out, struct error *err)
{
	struct query query = { 0 };
	struct buf filters = { 0 };
	int r = 0;

	for (char *word; r >= 0 && (word = next_word(&rest));) {
		r = api_add_filter(&query, word, err);
		buf_printf(&filters, "%s%s", filters.len ? "\n" : "", word);
	}
	query_fini(&query);
	*out = filters.len && r >= 0 ? xstrdup(buf_cstr(&filters)) : NULL;
	buf_fini(&filters);
	return MIN(r, 0);
}

static int parse_token(struct tokens *t, char *line, size_t number, struct error *err)
{
	char *rest = line, *role = next_word(&rest), *secret;
	struct token token = { .line = number };
	int r;

	if (!role || *role == '#')
		return 0;
	secret = next_word(&rest);
	r = parse_role(role, &token.role, err);
	if (r < 0)
		return r;
	if (secret && !strncmp(secret, CERTIFICATE, strlen(CERTIFICATE)))
		token.certificate = unquote(secret + strlen(CERTIFICATE));
	else if (!secret || strlen(secret) < TOKEN_MIN_SIZE)
		return error_set(err, -EINVAL, "a token needs %d characters or more",
				 TOKEN_MIN_SIZE);
	r = parse_filters(rest, &token.filters, err);
	if (r < 0)
		return r;
	if (token.certificate)
		token.certificate = xstrdup(token.certificate);
	else
		token.secret = xstrdup(secret);
	vec_push(&t->list, token);
	return 0;
}

int tokens_read(struct tokens *t, const char *path, struct error *err)
{
	FILE *in = fopen(path, "re");
	char *line = NULL;
	size_t size = 0, number = 0;
	struct stat st;
	int r = 0;

	if (!in)
		return error_errno(err, -errno, "cannot read '%s'", path);
	if (!fstat(fileno(in), &st) && (st.st_mode & secret_file_forbidden_bits(&st)))
		r = error_set(err, -EACCES,
			      "'%s' is not only yours: other users may read it. Try chmod 600",
			      path);
	while (!r && getline(&line, &size, in) >= 0) {
		number++;
		t->is_whole = strchr(line, '\n') != NULL;
		line[strcspn(line, "\n")] = '\0';
		r = parse_token(t, line, number, err);
		if (r < 0)
			error_wrap(err, r, "'%s', line %zu", path, number);
	}
	if (!r && ferror(in))
		r = error_set(err, -EIO, "cannot read all of '%s'", path);
	free(line);
	fclose(in);
	return r;
}

void tokens_fini(struct tokens *t)
{
	vec_foreach (&t->list, token) {
		free(token->secret);
		free(token->certificate);
		free(token->filters);
	}
	vec_fini(&t->list);
}

bool token_is_secret(const char *secret, const char *text)
{
	size_t n = strlen(secret);
	uint8_t difference = 0;

	if (!n || strlen(text) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		difference |= (uint8_t)(secret[i] ^ text[i]);
	return !difference;
}
