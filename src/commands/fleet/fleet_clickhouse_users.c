/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay fleet init --users: files for the users of ClickHouse. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/token.h"
#include "commands/fleet/fleet_words.h"
#include "fleet/clickhouse.h"
#include "fleet/clickhouse_schema.h"

#define SECRET_BYTES 32

/* A new password, and its SHA-256, in hexadecimal. */
struct new_password {
	char text[2 * SECRET_BYTES + 1], sha256[2 * TOKEN_HASH_SIZE + 1];
};

static int make_password(struct new_password *out, struct error *err)
{
	uint8_t digest[TOKEN_HASH_SIZE];

	if (!token_make(out->text, sizeof(out->text)))
		return error_errno(err, -errno, "cannot make a password");
	token_hash(out->text, digest);
	token_print_hex(digest, sizeof(digest), out->sha256);
	return 0;
}

/* A new file that only its owner can read. */
static int write_secret(const char *dir, const char *name, const char *text, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", dir, name);
	cleanup(close_at_exit) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return error_errno(err, errno ? -errno : -ENOSPC, "cannot write %s", path);
	return 0;
}

static int write_login(const char *dir, const char *user, const struct new_password *p,
		       struct error *err)
{
	cleanup(free_at_exit) char *name = xasprintf("%s.login", user);
	cleanup(free_at_exit) char *line = xasprintf("assay_%s:%s\n", user, p->text);

	return write_secret(dir, name, line, err);
}

int fleet_write_users(const char *dir, const struct clickhouse *ch, struct error *err)
{
	enum clickhouse_dialect dialect = clickhouse_dialect(ch, 0);
	const char *name = dialect == CLICKHOUSE_18 ? "users.xml" : "users.sql";
	struct new_password writer, reader;
	struct clickhouse_users users = { .database = clickhouse_database(ch, 0),
					  .write_sha256 = writer.sha256,
					  .read_sha256 = reader.sha256 };
	struct buf text = { 0 };
	int r = make_password(&writer, err);

	r = r < 0 ? r : make_password(&reader, err);
	if (r >= 0 && mkdir(dir, 0700) < 0)
		r = error_errno(err, -errno, "cannot make %s", dir);
	r = r < 0 ? r : write_login(dir, "write", &writer, err);
	r = r < 0 ? r : write_login(dir, "read", &reader, err);
	if (r >= 0) {
		clickhouse_print_users(dialect, &users, &text);
		r = write_secret(dir, name, buf_cstr(&text), err);
	}
	buf_fini(&text);
	if (r >= 0 && dialect == CLICKHOUSE_18)
		log_info("%s/%s is for the folder users.d of each server", dir, name);
	else if (r >= 0)
		log_info("%s/%s is for clickhouse-client, as a user who may make users. Read it "
			 "first: assay's tests have no server that can run it",
			 dir, name);
	return r;
}
