/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of a fleet in ClickHouse, in two dialects of SQL. Each shard has all tables, with the
 * rows of its hosts (fleet/clickhouse.h).
 *
 * Every table with a time has one partition for each day (UTC): a day can be dropped and loaded
 * again, and old data go by partition.
 *
 * A *receipt* is a row with an empty service and event. Each insert into a table of sums has one,
 * with the number of its block. ClickHouse stores an insert of one partition whole or not at all,
 * so the receipt says whether the table has the block. It does so for as long as the day is kept:
 * ClickHouse's own deduplication forgets blocks after some time. In 18.16 it also takes two inserts
 * of equal rows for one, and a receipt makes every insert different.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/* 1: without addresses (leaf_*). 2: without builds of stacks (stacks.builds). */
#define CLICKHOUSE_SCHEMA_VERSION 3

enum clickhouse_dialect {
	CLICKHOUSE_TODAY, /* 23 and newer: codecs, TTL, LowCardinality, deduplication tokens */
	CLICKHOUSE_18,    /* 18.16, as Debian 12 has it: none of these */
};

/* The dialect of a server by the answer to SELECT version(). False: it is too old, or unknown. */
bool clickhouse_dialect_of(const char *version, enum clickhouse_dialect *out);

/*
 * X(id, name, kind, keep, receipt). `kind` is the engine: LOG keeps rows as they are, SUM adds up
 * the rows of one key, LAST keeps the newest row of a key. `keep`: days; 0: for good. `receipt`:
 * the column of the block's number in a receipt; NULL: no receipts.
 *
 * In the order of inserts: names come before the rows that use them, and `coverage` is the last
 * one. So a block with a row in `coverage` is in all tables. Likewise, a block of addresses with a
 * row in `leaf_coverage` is in `leaf_day`.
 */
#define CLICKHOUSE_TABLES(X)                               \
	X(STACKS, "stacks", LAST, 0, NULL)                 \
	X(FUNCTIONS, "functions", LAST, 0, NULL)           \
	X(IMAGES, "images", LAST, 0, NULL)                 \
	X(HOSTS, "hosts", LAST, 0, NULL)                   \
	X(FACTS, "facts", LOG, 3, "stack")                 \
	X(FUNC_HOUR, "func_hour", SUM, 90, "func")         \
	X(FUNC_DAY, "func_day", SUM, 730, "func")          \
	X(FUNC_HOST_DAY, "func_host_day", SUM, 90, "func") \
	X(STACK_HOUR, "stack_hour", SUM, 14, "stack")      \
	X(STACK_DAY, "stack_day", SUM, 400, "stack")       \
	X(COVERAGE, "coverage", LAST, 730, NULL)           \
	X(LEAF_DAY, "leaf_day", SUM, 90, "place")          \
	X(LEAF_COVERAGE, "leaf_coverage", LAST, 90, NULL)

enum clickhouse_table {
#define X(id, name, kind, keep, receipt) CLICKHOUSE_##id,
	CLICKHOUSE_TABLES(X)
#undef X
		N_CLICKHOUSE_TABLES
};

struct clickhouse_table_info {
	const char *name;
	uint32_t keep_days;
	const char *receipt;
};
extern const struct clickhouse_table_info clickhouse_tables[N_CLICKHOUSE_TABLES];

/* Blocks are of functions (the fleet itself) or of addresses (fleet_leaves()). */
static inline enum clickhouse_table clickhouse_coverage_of(bool leaves)
{
	return leaves ? CLICKHOUSE_LEAF_COVERAGE : CLICKHOUSE_COVERAGE;
}

/* The column with the samples of a table of sums, and the one that is 1 in receipts. */
const char *clickhouse_counts(enum clickhouse_table table);
const char *clickhouse_receipt_counts(enum clickhouse_table table);

struct clickhouse_layout {
	enum clickhouse_dialect dialect;
	/* Tables are ReplicatedMergeTree below this path of ZooKeeper or Keeper, with the macro
	 * {replica}; the shard's number follows. NULL: plain tables. */
	const char *replicated;
	uint32_t shard, n_shards;
};

/* Appends the statement that makes a table, without a semicolon. */
void clickhouse_print_table(const struct clickhouse_layout *layout, enum clickhouse_table table,
			    struct buf *out);

/* Appends the names of a table's columns, with commas alone between them. */
void clickhouse_print_columns(enum clickhouse_table table, struct buf *out);

/*
 * Tables of older versions lack some columns; `i` counts them from 0. Appends a question, whose
 * answer is 1 if the column is there, and the statement that adds it. In today's dialect, it passes
 * over a column that is there. False: there are no more.
 */
bool clickhouse_print_later_column(const struct clickhouse_layout *layout, size_t i,
				   struct buf *question, struct buf *statement);

/*
 * Appends the statements of the table `schema_version`: the one that makes it, and the one that
 * says the version, and which of how many shards this is. A row of version 0 is the fleet
 * (fleet/clickhouse_fleet.h).
 */
void clickhouse_print_version_table(const struct clickhouse_layout *layout, struct buf *out);
void clickhouse_print_version_row(const struct clickhouse_layout *layout, struct buf *out);

/*
 * Appends the users for writers and readers: SQL for today's dialect, a users.xml for 18.16. The
 * passwords are given as SHA-256 in hexadecimal.
 */
struct clickhouse_users {
	const char *database, *write_sha256, *read_sha256;
};
void clickhouse_print_users(enum clickhouse_dialect dialect, const struct clickhouse_users *users,
			    struct buf *out);
