/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/load_batch.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "fleet/clickhouse_insert.h"

#define DAY_NS (86400 * NS_PER_SECOND)

/*
 * An insert may go on in the server after the loader is gone, and the next loader would make other
 * batches. With another set of blocks, the insert has another token, and ClickHouse would store its
 * blocks twice. So a batch is one block until its blocks are written down before it is sent.
 */
#define BATCH_BLOCKS 1
#define BATCH_BYTES  ((size_t)32 << 20)

struct batched_block {
	struct fleet_block block; /* its host is owned */
	struct block_rows rows;
	uint64_t number;
};

struct load_batch {
	struct clickhouse *ch;
	VEC(struct batched_block) blocks;
	uint32_t n_rows[N_CLICKHOUSE_TABLES];
	size_t bytes;
};

struct load_batch *load_batch_new(struct clickhouse *ch)
{
	struct load_batch *b = xcalloc(1, sizeof(*b));

	b->ch = ch;
	return b;
}

static void load_batch_clear(struct load_batch *b)
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

void load_batch_add(struct load_batch *b, const struct fleet_block *block, uint64_t number,
		    struct block_rows *rows)
{
	struct batched_block *own = vec_add(&b->blocks);

	*own = (struct batched_block){ .block = *block, .rows = *rows, .number = number };
	own->block.host = xstrdup(block->host);
	*rows = (struct block_rows){ 0 };
	b->bytes += rows_bytes(&own->rows);
	for (size_t t = 0; t < N_CLICKHOUSE_TABLES; t++)
		b->n_rows[t] += own->rows.n[t];
}

size_t load_batch_n(const struct load_batch *b)
{
	return b->blocks.n;
}

/* Stores `n` blocks from `first` on together, and visits them if they were stored or refused. */
static int store_some(struct load_batch *b, size_t first, size_t n, bool visits_refused,
		      load_batch_visitor *visit, void *context, struct error *err)
{
	struct stored_block *blocks = xcalloc(n, sizeof(*blocks));
	struct error why = { 0 };
	int r;

	for (size_t i = 0; i < n; i++)
		blocks[i] = (struct stored_block){ b->blocks.data[first + i].block,
						   &b->blocks.data[first + i].rows };
	r = clickhouse_store(b->ch, blocks, n, &why);
	free(blocks);
	for (size_t i = 0; i < n && (r >= 0 || (r == -EREMOTEIO && visits_refused)); i++)
		visit(context, b->blocks.data[first + i].number, &b->blocks.data[first + i].rows, r,
		      &why);
	return r < 0 ? error_set(err, r, "%s", why.text) : 0;
}

int load_batch_store(struct load_batch *b, load_batch_visitor *visit, void *context,
		     struct error *err)
{
	size_t n = b->blocks.n;
	int r = n ? store_some(b, 0, n, n == 1, visit, context, err) : 0;

	if (r == -EREMOTEIO) {
		r = 0;
		for (size_t i = 0; n > 1 && i < n && r >= 0; i++) {
			r = store_some(b, i, 1, true, visit, context, err);
			r = r == -EREMOTEIO ? 0 : r;
		}
	}
	load_batch_clear(b);
	return r;
}
