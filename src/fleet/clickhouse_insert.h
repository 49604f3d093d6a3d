/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stores blocks in ClickHouse, each exactly once.
 *
 * Blocks of one day go together: one insert for each table, into the shard of their hosts.
 * `coverage` is the last one. Two rules make each block's rows come once, whenever a process stops
 * or an answer is lost:
 *
 *   1. Tables of names take a row again without harm: the newest row of a key counts.
 *   2. In tables of sums, each block has a receipt (fleet/clickhouse_schema.h). Before it inserts
 *      into a table, assay asks for the receipts. This is done before the first try and after each
 *      answer that did not come. Only blocks without a receipt are in the insert.
 *
 * One process at a time may store the blocks of a fleet: fleet_load() holds a lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "fleet/clickhouse_rows.h"

struct clickhouse;
struct error;

/* A block with its rows. */
struct stored_block {
	struct fleet_block block;
	const struct block_rows *rows;
};

/* After this time, an insert whose answer did not come has ended. */
#define CLICKHOUSE_INSERT_MAX_NS (600 * NS_PER_SECOND)

/*
 * Stores the rows in those tables that do not have them. All blocks are of one shard and one day,
 * and together they have BLOCK_ROWS_MAX rows of a table at most. After a failure some tables have
 * the blocks; call it again, now or later. -EREMOTEIO: the server refused a block: try them alone.
 * -EBUSY: it has no room for any block now.
 *
 * *opened is set if an insert was begun whose outcome is not known: it may still run. Only the same
 * blocks may then be inserted, until a call succeeds or the time above is over.
 */
int clickhouse_store(struct clickhouse *ch, const struct stored_block *blocks, size_t n,
		     bool *opened, struct error *err);

/* How much of a block a shard has. */
enum block_presence {
	BLOCK_IS_NOWHERE,
	BLOCK_IS_IN_SOME_TABLES, /* its insert was not finished */
	BLOCK_IS_STORED,         /* the last table has it */
};

/* Finds n blocks of one day (at least one), of functions or of addresses, in a shard. */
int clickhouse_find_blocks(struct clickhouse *ch, uint32_t shard, const struct fleet_block *blocks,
			   size_t n, bool leaves, enum block_presence *presence, struct error *err);

/*
 * Removes the rows of a day (its first second) from every table of sums of all shards. `leaves`:
 * also from the tables of addresses.
 */
int clickhouse_drop_day(struct clickhouse *ch, uint64_t day_s, bool leaves, struct error *err);

/* Removes the days that are older than each table keeps them. */
int clickhouse_drop_old(struct clickhouse *ch, uint64_t now_s, struct error *err);
