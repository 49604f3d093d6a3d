/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/load_batch.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "fleet/batch_list.h"
#include "fleet/clickhouse.h"
#include "fleet/clickhouse_insert.h"

#define DAY_NS       (86400 * NS_PER_SECOND)
#define BATCH_BLOCKS 256
#define BATCH_BYTES  ((size_t)32 << 20)

struct load_batch {
	char *fleet;
	struct clickhouse *ch;
	uint32_t shard;
	bool leaves;
	VEC(struct batched_block) blocks;
	uint32_t n_rows[N_CLICKHOUSE_TABLES];
	size_t bytes;
};

struct load_batch *load_batch_new(const char *fleet, struct clickhouse *ch, uint32_t shard)
{
	struct load_batch *b = xcalloc(1, sizeof(*b));

	b->fleet = xstrdup(fleet);
	b->ch = ch;
	b->shard = shard;
	return b;
}

void load_batch_clear(struct load_batch *b)
{
	vec_foreach (&b->blocks, each) {
		free((char *)each->block.host);
		block_rows_fini(&each->rows);
	}
	b->blocks.n = 0;
	b->bytes = 0;
	for (size_t t = 0; t < N_CLICKHOUSE_TABLES; t++)
		b->n_rows[t] = 0;
}

void load_batch_free(struct load_batch *b)
{
	if (!b)
		return;
	load_batch_clear(b);
	vec_fini(&b->blocks);
	free(b->fleet);
	free(b);
}

static size_t rows_bytes(const struct block_rows *rows)
{
	size_t bytes = 0;

	for (size_t t = 0; t < N_CLICKHOUSE_TABLES; t++)
		bytes += rows->bytes[t].len;
	return bytes;
}

bool load_batch_has_room(const struct load_batch *b, const struct fleet_block *block,
			 const struct block_rows *rows)
{
	if (!b->blocks.n)
		return true;
	if (b->blocks.n == BATCH_BLOCKS || b->bytes + rows_bytes(rows) > BATCH_BYTES ||
	    b->blocks.data[0].block.bucket / DAY_NS != block->bucket / DAY_NS)
		return false;
	for (size_t t = 0; t < N_CLICKHOUSE_TABLES; t++)
		if (b->n_rows[t] + rows->n[t] > BLOCK_ROWS_MAX)
			return false;
	return true;
}

void load_batch_add(struct load_batch *b, const struct batched_block *block, bool leaves)
{
	struct batched_block *own = vec_add(&b->blocks);

	assert(b->blocks.n == 1 || b->leaves == leaves);
	*own = *block;
	own->block.host = xstrdup(block->block.host);
	b->leaves = leaves;
	b->bytes += rows_bytes(&own->rows);
	for (size_t t = 0; t < N_CLICKHOUSE_TABLES; t++)
		b->n_rows[t] += own->rows.n[t];
}

size_t load_batch_n(const struct load_batch *b)
{
	return b->blocks.n;
}

size_t load_batch_bytes(const struct load_batch *b)
{
	return b->bytes;
}

const struct batched_block *load_batch_block(const struct load_batch *b, size_t i)
{
	return &b->blocks.data[i];
}

static int batch_write_list(const struct load_batch *b, struct error *err)
{
	struct batch_list list = { .leaves = b->leaves };
	int r;

	vec_foreach (&b->blocks, each)
		batch_list_add(&list, each->block.host, each->part, each->block.bucket);
	r = batch_list_write(b->fleet, clickhouse_address(b->ch, b->shard), &list, err);
	batch_list_fini(&list);
	return r;
}

/* *opened: an insert was begun whose outcome is not known. */
static int batch_insert(const struct load_batch *b, bool *opened, struct error *err)
{
	struct stored_block *blocks = xcalloc(b->blocks.n, sizeof(*blocks));
	int r;

	for (size_t i = 0; i < b->blocks.n; i++)
		blocks[i] =
			(struct stored_block){ b->blocks.data[i].block, &b->blocks.data[i].rows };
	r = clickhouse_store(b->ch, blocks, b->blocks.n, opened, err);
	free(blocks);
	return r;
}

int load_batch_store(struct load_batch *b, uint64_t listed_ns, struct error *err)
{
	uint64_t now = clock_wall_ns();
	bool may_run = listed_ns && now - MIN(listed_ns, now) < CLICKHOUSE_INSERT_MAX_NS;
	bool opened = false;
	int r = may_run || !b->blocks.n ? 0 : batch_write_list(b, err), kept;

	if (r < 0 || !b->blocks.n)
		return r;
	r = batch_insert(b, &opened, err);
	if (r >= 0 || (!may_run && !opened)) {
		kept = batch_list_remove(b->fleet, clickhouse_address(b->ch, b->shard), err);
		return r < 0 ? r : kept;
	}
	kept = may_run && opened ? batch_write_list(b, NULL) : 0; /* its time begins again */
	if (kept < 0 || r != -EREMOTEIO)
		return r;
	return error_wrap(err, -EAGAIN, "blocks wait, as an earlier insert of them may still run");
}
