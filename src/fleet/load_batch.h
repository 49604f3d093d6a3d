/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that go into ClickHouse together (fleet/clickhouse_insert.h). A server does nearly as much
 * work for the insert of one block as for that of fifty.
 *
 * A batch has blocks of one shard and one day. It is full before its rows are too many for one
 * insert, or take too much memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fleet/clickhouse_rows.h"

struct clickhouse;
struct error;
struct load_batch;

struct load_batch *load_batch_new(struct clickhouse *ch);
void load_batch_free(struct load_batch *b); /* NULL is fine. Blocks that are in it are forgotten. */

/* Whether the block can join those that are there. An empty batch takes every block. */
bool load_batch_has_room(const struct load_batch *b, const struct fleet_block *block,
			 const struct block_rows *rows);

/*
 * Adds a block, for which there is room. *rows is the batch's from here on, and empty. `number`:
 * the caller's, for load_batch_visitor.
 */
void load_batch_add(struct load_batch *b, const struct fleet_block *block, uint64_t number,
		    struct block_rows *rows);
size_t load_batch_n(const struct load_batch *b);

/* A block was stored: r is 0. Or it was refused: -EREMOTEIO, with *why. */
typedef void load_batch_visitor(void *context, uint64_t number, const struct block_rows *rows,
				int r, const struct error *why);

/*
 * Stores the blocks, and visits each; the batch is then empty. If the server refuses the batch,
 * each block is tried alone, so a bad one does not stop the others. Other errors end it: blocks
 * without a visit may be stored or not.
 */
int load_batch_store(struct load_batch *b, load_batch_visitor *visit, void *context,
		     struct error *err);
