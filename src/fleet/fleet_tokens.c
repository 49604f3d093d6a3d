/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/fleet_tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/token.h"
#include "fleet/fleet_store.h"

#define TOKENS_MAX  (32u << 20)
#define CERTIFICATE "certificate"
#define JOIN        "*"

_Static_assert(sizeof(((struct fleet_token *)0)->host) == FLEET_HOST_MAX + 1, "a name fits");
_Static_assert(sizeof(((struct fleet_token *)0)->hash) == TOKEN_HASH_SIZE, "a hash fits");

static char *tokens_path(const char *fleet)
{
	return xasprintf("%s/.tokens", fleet);
}

/* ---- reading ---- */

static bool parse_hash(const char *hex, uint8_t hash[static TOKEN_HASH_SIZE])
{
	if (strlen(hex) != (size_t)TOKEN_HASH_SIZE * 2 ||
	    strspn(hex, "0123456789abcdef") != (size_t)TOKEN_HASH_SIZE * 2)
		return false;
	for (size_t i = 0; i < TOKEN_HASH_SIZE; i++)
		sscanf(hex + 2 * i, "%2hhx", &hash[i]);
	return true;
}

static bool parse_line(const char *line, struct fleet_token *out)
{
	char word[65] = "";
	int end = 0;
	bool is_join;

	*out = (struct fleet_token){ 0 };
	if (sscanf(line, "%64s %64s%n %" SCNu64 "%n", out->host, word, &end, &out->n_joins, &end) <
	    2)
		return false;
	is_join = !strcmp(out->host, JOIN);
	if (line[end] || (!is_join && (!fleet_host_is_valid(out->host) || out->n_joins)))
		return false;
	out->has_certificate = !is_join && !strcmp(word, CERTIFICATE);
	return out->has_certificate || parse_hash(word, out->hash);
}

static int by_hash(const void *a, const void *b)
{
	const struct fleet_token *x = a, *y = b;

	return memcmp(x->hash, y->hash, sizeof(x->hash));
}

static int parse_tokens(char *text, const char *path, struct fleet_tokens *out, struct error *err)
{
	char *rest = text, *line;
	size_t number = 0;

	while ((line = strsep(&rest, "\n"))) {
		struct fleet_token token;

		number++;
		if (!*line)
			continue;
		if (!rest || !parse_line(line, &token)) {
			fleet_tokens_fini(out);
			return error_set(err, -EBADMSG, "%s: line %zu is wrong", path, number);
		}
		vec_push(&out->list, token);
	}
	if (out->list.n)
		qsort(out->list.data, out->list.n, sizeof(*out->list.data), by_hash);
	return 0;
}

int fleet_tokens_read(const char *fleet, struct fleet_tokens *out, struct error *err)
{
	cleanup(free_at_exit) char *path = tokens_path(fleet), *text = NULL;
	cleanup(close_at_exit) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	size_t size;
	int r;

	*out = (struct fleet_tokens){ 0 };
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &out->file) < 0)
		return error_errno(err, -errno, "cannot read %s", path);
	if (out->file.st_mode & 077)
		return error_set(err, -EACCES,
				 "%s is not only yours: other users may read it. Try chmod 600",
				 path);
	r = file_read_fd(fd, TOKENS_MAX, &text, &size);
	if (r < 0)
		return error_errno(err, r, "cannot read %s", path);
	return parse_tokens(text, path, out, err);
}

void fleet_tokens_fini(struct fleet_tokens *t)
{
	vec_fini(&t->list);
}

int fleet_tokens_read_again(const char *fleet, struct fleet_tokens *t, struct error *err)
{
	cleanup(free_at_exit) char *path = tokens_path(fleet);
	struct fleet_tokens again;
	struct stat is = { 0 };
	int r;

	if (lstat(path, &is) < 0)
		is = (struct stat){ 0 };
	if (is.st_ino == t->file.st_ino && is.st_size == t->file.st_size &&
	    !memcmp(&is.st_ctim, &t->file.st_ctim, sizeof(is.st_ctim)))
		return 0;
	r = fleet_tokens_read(fleet, &again, err);
	if (r < 0) {
		t->file = is; /* it is reported once */
		return r;
	}
	fleet_tokens_fini(t);
	*t = again;
	return 0;
}

/* A search by the hash tells by its time about hashes alone, of which no token can be made. */
static struct fleet_token *find_token(const struct fleet_tokens *t, const char *token)
{
	struct fleet_token key = { 0 };

	if (strlen(token) != FLEET_TOKEN_SIZE - 1 || !t->list.n)
		return NULL;
	token_hash(token, key.hash);
	return bsearch(&key, t->list.data, t->list.n, sizeof(*t->list.data), by_hash);
}

const char *fleet_tokens_host(const struct fleet_tokens *t, const char *token)
{
	const struct fleet_token *found = find_token(t, token);

	return found && !found->has_certificate ? found->host : NULL;
}

static struct fleet_token *find_host(const struct fleet_tokens *t, const char *host)
{
	vec_foreach (&t->list, token)
		if (!strcmp(token->host, host))
			return token;
	return NULL;
}

bool fleet_is_enrolled(const char *fleet, const char *host)
{
	struct fleet_tokens t;
	bool is_there;

	if (fleet_tokens_read(fleet, &t, NULL) < 0)
		return true;
	is_there = find_host(&t, host);
	fleet_tokens_fini(&t);
	return is_there;
}

bool fleet_tokens_have_certificate(const struct fleet_tokens *t, const char *host)
{
	const struct fleet_token *found = find_host(t, host);

	return found && found->has_certificate;
}

/* ---- changing ---- */

static int write_tokens(const char *fleet, const struct fleet_tokens *t, struct error *err)
{
	cleanup(free_at_exit) char *path = tokens_path(fleet);
	struct buf text = { 0 };
	int r;

	vec_foreach (&t->list, token) {
		char hex[2 * TOKEN_HASH_SIZE + 1];

		token_print_hex(token->hash, sizeof(token->hash), hex);
		buf_printf(&text, "%s %s", token->host, token->has_certificate ? CERTIFICATE : hex);
		if (!strcmp(token->host, JOIN))
			buf_printf(&text, " %" PRIu64, token->n_joins);
		buf_u8(&text, '\n');
	}
	r = file_replace_mode(path, 0600, text.data, text.len, err);
	r = r < 0 ? r : fleet_sync(path, err);
	/* The rename as well: a token that was printed, or a host that was forgotten, stays so. */
	r = r < 0 ? r : fleet_sync(fleet, err);
	buf_fini(&text);
	return r;
}

int fleet_token_make(char token[static FLEET_TOKEN_SIZE], struct error *err)
{
	return token_make(token, FLEET_TOKEN_SIZE)
		       ? 0
		       : error_errno(err, -errno, "there are no random bytes");
}

/* One process changes the file at a time. The caller closes the descriptor. */
static int lock_tokens(const char *fleet, struct fleet_tokens *t, struct error *err)
{
	int fd = fleet_lock(fleet, err), r = fd;

	if (fd >= 0 && (r = fleet_tokens_read(fleet, t, err)) < 0)
		close(fd);
	return r < 0 ? r : fd;
}

static void remove_host(struct fleet_tokens *t, const char *host)
{
	struct fleet_token *token;

	while ((token = find_host(t, host)))
		*token = t->list.data[--t->list.n];
}

/* Replaces the lines of a name by one. `token` NULL: a certificate. */
static int put_token(struct fleet_tokens *t, const char *name, uint64_t n_joins, const char *token,
		     struct error *err)
{
	struct fleet_token line = { .has_certificate = !token, .n_joins = n_joins };

	snprintf(line.host, sizeof(line.host), "%s", name);
	if (token)
		token_hash(token, line.hash);
	if (strcmp(name, JOIN))
		remove_host(t, name);
	if (t->list.n >= FLEET_HOSTS_MAX)
		return error_set(err, -E2BIG, "the fleet has %d hosts: it takes no more",
				 FLEET_HOSTS_MAX);
	vec_push(&t->list, line);
	return 0;
}

static int add_line(const char *fleet, const char *name, uint64_t n_joins, char *token,
		    struct error *err)
{
	struct fleet_tokens t;
	cleanup(close_at_exit) int lock = lock_tokens(fleet, &t, err);
	int r = lock < 0 ? lock : token ? fleet_token_make(token, err) : 0;

	r = r < 0 ? r : put_token(&t, name, n_joins, token, err);
	r = r < 0 ? r : write_tokens(fleet, &t, err);
	if (lock >= 0)
		fleet_tokens_fini(&t);
	return r;
}

static int check_host_name(const char *host, struct error *err)
{
	if (!strcmp(host, FLEET_PUSHED_HOST))
		return error_set(err, -EINVAL,
				 "'%s' is the name of the host with the profiles that programs "
				 "push: give this one another name",
				 host);
	return fleet_host_is_valid(host)
		       ? 0
		       : error_set(err, -EINVAL, "'%s' can't be the name of a host", host);
}

int fleet_enroll(const char *fleet, const char *host, char *token, struct error *err)
{
	int r = check_host_name(host, err);

	if (r < 0)
		return r;
	return add_line(fleet, host, 0, token, err);
}

int fleet_invite(const char *fleet, uint64_t n_hosts, char token[static FLEET_TOKEN_SIZE],
		 struct error *err)
{
	return add_line(fleet, JOIN, n_hosts, token, err);
}

int fleet_uninvite(const char *fleet, struct error *err)
{
	struct fleet_tokens t;
	cleanup(close_at_exit) int lock = lock_tokens(fleet, &t, err);
	int r;

	if (lock < 0)
		return lock;
	remove_host(&t, JOIN);
	r = write_tokens(fleet, &t, err);
	fleet_tokens_fini(&t);
	return r;
}

static int join_locked(const char *fleet, struct fleet_tokens *t, const char *join_token,
		       const char *host, const char *token, struct error *err)
{
	struct fleet_token *join = find_token(t, join_token), *own;
	int r;

	if (!join || strcmp(join->host, JOIN))
		return error_set(err, -ENOKEY, "there is no such join token");
	r = check_host_name(host, err);
	if (r < 0)
		return r;
	if (strlen(token) != FLEET_TOKEN_SIZE - 1 ||
	    strspn(token, "0123456789abcdef") != FLEET_TOKEN_SIZE - 1)
		return error_set(err, -EINVAL, "a token has 64 hexadecimal digits");
	own = find_token(t, token);
	if (own)
		return !strcmp(own->host, host)
			       ? 0
			       : error_set(err, -EINVAL, "another host has this token");
	if (!join->n_joins)
		return error_set(err, -ENOKEY, "the join token is used up");
	/* A join token must not take a host over. */
	if (find_host(t, host) || fleet_has_host(fleet, host))
		return error_set(err, -EEXIST, "the fleet has a host '%s' already", host);
	join->n_joins--;
	r = put_token(t, host, 0, token, err);
	r = r < 0 ? r : write_tokens(fleet, t, err);
	return r < 0 ? r : 1;
}

int fleet_join(const char *fleet, const char *join_token, const char *host, const char *token,
	       struct error *err)
{
	struct fleet_tokens t;
	cleanup(close_at_exit) int lock = lock_tokens(fleet, &t, err);
	int r = lock < 0 ? lock : join_locked(fleet, &t, join_token, host, token, err);

	if (lock >= 0)
		fleet_tokens_fini(&t);
	return r;
}

int fleet_revoke(const char *fleet, const char *host, struct error *err)
{
	struct fleet_tokens t;
	cleanup(close_at_exit) int lock = lock_tokens(fleet, &t, err);
	int r;

	if (lock < 0)
		return lock;
	remove_host(&t, host);
	r = write_tokens(fleet, &t, err);
	fleet_tokens_fini(&t);
	return r;
}
