/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The servers of a fleet's ClickHouse, by HTTP. A fleet has one or several *shards*: each is a
 * server, or replicas behind one address, with the rows of its hosts. A host's shard is a hash of
 * its name. The order of the addresses is therefore part of the fleet, and each shard knows its
 * number (schema_version).
 *
 * assay asks each shard itself and adds up their answers. So a shard that does not answer is known;
 * ClickHouse's own Distributed tables can leave it out without a word.
 *
 * One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"
#include "fleet/clickhouse_schema.h"

struct error;
struct clickhouse;

/* Texts and numbers for SQL. A text becomes a literal, whatever is in it. */
void sql_put_text(struct buf *out, const char *text);
void sql_put_time(struct buf *out, uint64_t seconds); /* toDateTime(N) */

struct clickhouse_options {
	const char *urls;  /* "URL,URL…": http://HOST[:PORT][/DATABASE], or https:// */
	const char *login; /* a file with a line USER:PASSWORD; NULL: the server's default user */
	bool is_new;       /* the tables may be missing */
	/* Asked about once a second: true ends the request at hand, with -EINTR. May be NULL. */
	bool (*stops)(void);
};

/*
 * Connects to the servers. Unless options->is_new, every server that answers must have the tables
 * of this version, in its place of this order. -EINVAL: an address is wrong. A server that does not
 * answer is no failure if another one does: clickhouse_trouble(). It is checked before its first
 * answer.
 */
int clickhouse_open(const struct clickhouse_options *options, struct clickhouse **out,
		    struct error *err);
void clickhouse_close(struct clickhouse *ch); /* NULL is fine */
DEFINE_AT_EXIT(clickhouse_close, struct clickhouse)

/*
 * Whether the shard has the tables of this version, in its place of this order. -ENODATA: it has no
 * tables of a fleet. -EINVAL: it has another place. -ESTALE: its tables are of an older version,
 * and this is its place; `assay fleet init` adds what is missing.
 */
int clickhouse_check_place(struct clickhouse *ch, uint32_t shard, struct error *err);

uint32_t clickhouse_n_shards(const struct clickhouse *ch);
uint32_t clickhouse_shard_of(const struct clickhouse *ch, const char *host);
/* The URL as it was given. */
const char *clickhouse_address(const struct clickhouse *ch, uint32_t shard);
/* Letters, digits and '_'. */
const char *clickhouse_database(const struct clickhouse *ch, uint32_t shard);
enum clickhouse_dialect clickhouse_dialect(const struct clickhouse *ch, uint32_t shard);
const char *clickhouse_version(const struct clickhouse *ch, uint32_t shard);

/* Why the shard did not answer the last time; "": it did. */
const char *clickhouse_trouble(const struct clickhouse *ch, uint32_t shard);

/*
 * Sends a statement. *answer, which may be NULL, gets the body. -EREMOTEIO: the server refused it,
 * and says why: nothing was changed. Other errors: it is not known whether it was done. *answer is
 * whole, or the result is an error.
 */
int clickhouse_ask(struct clickhouse *ch, uint32_t shard, const char *sql, struct buf *answer,
		   struct error *err);

/* Whether the text of a refusal says that the server can't read its own files. */
bool clickhouse_is_broken(const char *refusal);

/*
 * Inserts rows (RowBinary), which the server stores whole or not at all. `token` tells this insert
 * from others, where the dialect has tokens. Errors as above. Refusals after which the rows may be
 * stored (a timeout of the server or of a proxy, a lost connection to Keeper) are -EIO. -EBUSY: the
 * server has no room for any insert now.
 */
int clickhouse_insert(struct clickhouse *ch, uint32_t shard, enum clickhouse_table table,
		      const char *token, const struct buf *rows, struct error *err);
