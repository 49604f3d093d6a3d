/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stores blocks in ClickHouse, each exactly once.
 *
 * A block is one insert for each table, into the shard of its host. `coverage` is the last one. Two
 * rules make each insert happen once, whenever a process stops or an answer is lost:
 *
 *   1. Tables of names take a row again without harm: the newest row of a key counts.
 *   2. In tables of sums, each insert has a receipt (fleet/clickhouse_schema.h). Before it inserts
 *      into a table, assay asks for the receipt. This is done before the first try and after each
 *      answer that did not come.
 *
 * One process at a time may store the blocks of a fleet: fleet_load() holds a lock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fleet/clickhouse_rows.h"

struct clickhouse;
struct error;

/* Which tables of a shard have a block. */
struct block_receipts {
	uint64_t n[N_CLICKHOUSE_TABLES]; /* 0: not there; more than 1: it is there several times */
};

int clickhouse_receipts(struct clickhouse *ch, const struct fleet_block *block,
			struct block_receipts *out, struct error *err);

/*
 * Stores the rows in those tables that do not have them. `known` is of the host's shard, and gets
 * the new names. After a failure some tables have the block; call it again, now or later.
 */
int clickhouse_store(struct clickhouse *ch, const struct fleet_block *block,
		     const struct block_rows *rows, struct known_rows *known, struct error *err);

/* Removes the rows of a day (its first second) from every table of sums of all shards. */
int clickhouse_drop_day(struct clickhouse *ch, uint64_t day_s, struct error *err);

/* Removes the days that are older than each table keeps them. */
int clickhouse_drop_old(struct clickhouse *ch, uint64_t now_s, struct error *err);
