/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that go into a shard of ClickHouse together (fleet/clickhouse_insert.h). A server does
 * nearly as much work for the insert of one block as for that of fifty.
 *
 * A batch has blocks of one day, all of functions or all of addresses. It is full before its rows
 * are too many for one insert, or take too much memory. Its list (fleet/batch_list.h) is on the
 * disk before it is sent, until its outcome is known.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fleet/clickhouse_rows.h"
#include "store/history/history.h"

struct clickhouse;
struct error;
struct load_batch;

/* The memory that all batches of a loader may have. */
#define LOAD_BATCHES_BYTES ((size_t)64 << 20)

struct batched_block {
	struct fleet_block block;     /* its host is owned by the batch */
	char part[HISTORY_NAME_SIZE]; /* the name of its folder */
	uint64_t host_key, part_key;  /* the caller's */
	struct block_rows rows;
};

/* `fleet`: where the list goes. */
struct load_batch *load_batch_new(const char *fleet, struct clickhouse *ch, uint32_t shard);
void load_batch_free(struct load_batch *b); /* NULL is fine. Blocks that are in it are forgotten. */

/* Whether the block can join those that are there. An empty batch takes every block. */
bool load_batch_has_room(const struct load_batch *b, const struct fleet_block *block,
			 const struct block_rows *rows);

/*
 * Adds a block, for which there is room. block->host is copied, and block->rows are the batch's
 * from here on. `leaves`: of addresses.
 */
void load_batch_add(struct load_batch *b, const struct batched_block *block, bool leaves);
void load_batch_clear(struct load_batch *b);

size_t load_batch_n(const struct load_batch *b);
size_t load_batch_bytes(const struct load_batch *b);
const struct batched_block *load_batch_block(const struct load_batch *b, size_t i);

/*
 * Stores the blocks, which stay in the batch. 0: all are stored. -EREMOTEIO: the server refused
 * them: try each alone. Other errors: they may be stored or not, and the list stays.
 *
 * `listed_ns`: 0, or when the list of exactly these blocks was written by an earlier loader, whose
 * insert may still run.
 */
int load_batch_store(struct load_batch *b, uint64_t listed_ns, struct error *err);
