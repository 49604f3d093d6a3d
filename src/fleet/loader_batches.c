/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loading a fleet into ClickHouse: the batches of each shard. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "fleet/batch_list.h"
#include "fleet/clickhouse.h"
#include "fleet/clickhouse_insert.h"
#include "fleet/fleet_store.h"
#include "fleet/leaf_rows.h"
#include "fleet/load_batch.h"
#include "fleet/loader.h"
#include "fleet/unfinished.h"
#include "store/history/blocks.h"
#include "store/session.h"

/* A part that is replaced has another number, because its folder has another file's. */
uint64_t load_part_stamp(const char *path)
{
	struct stat st = { 0 };
	uint64_t stamp[3];

	if (stat(path, &st) < 0)
		st.st_ino = 0;
	stamp[0] = XXH3_64bits(path, strlen(path));
	stamp[1] = st.st_ino;
	stamp[2] = (uint64_t)st.st_mtim.tv_sec * NS_PER_SECOND + (uint64_t)st.st_mtim.tv_nsec;
	return XXH3_64bits(stamp, sizeof(stamp));
}

/* A host of addresses is another one. */
uint64_t loader_host_key(const struct loader *l, const char *host)
{
	return XXH3_64bits_withSeed(host, strlen(host), l->leaves);
}

/* Of a block that is not stored, or perhaps: its host and its part are looked at again. */
static void loader_forget(struct loader *l, const struct batched_block *block)
{
	*intmap_put(&l->memory->hosts, block->host_key, NULL) = 0;
	*intmap_put(&l->memory->parts, block->part_key, NULL) = 0;
}

void loader_leave_out(struct loader *l, const char *host, const char *part, const char *why)
{
	cleanup(free_at_exit) char *text = xasprintf("%s/%s is left out: %s", host, part, why);

	l->result->n_left_out++;
	if (l->config->warn)
		l->config->warn(text);
}

struct bucket_bounds {
	uint64_t from_ns, to_ns;
};

static bool is_in_bucket(void *context, const struct block_span *span)
{
	const struct bucket_bounds *b = context;

	return span->first_ns >= b->from_ns && span->first_ns < b->to_ns;
}

int loader_open_block(const struct loader *l, const char *host, const char *part, uint64_t bucket,
		      struct session **out, struct error *why)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s/%s", l->fleet, host, part);
	struct bucket_bounds bounds = { bucket, bucket + l->bucket_ns };
	const struct block_filter filter = { .takes = is_in_bucket,
					     .context = &bounds,
					     .until_ns = bounds.to_ns };

	return session_open_blocks(path, &filter, out, why);
}

/* A shard gets no more blocks in this round. */
void loader_fail(struct loader *l, uint32_t shard, int code, const struct error *why)
{
	l->failed[shard] |= code != -EINTR;
	if (l->code && code != -EINTR)
		return;
	l->code = code;
	l->why = *why;
}

static void loader_count(struct loader *l, const struct block_rows *rows)
{
	l->result->n_blocks++;
	l->result->samples += rows->samples;
	l->result->lost += rows->lost;
	for (size_t t = 0; t < N_CLICKHOUSE_TABLES; t++) {
		l->result->rows += rows->n[t];
		l->result->bytes += rows->bytes[t].len;
	}
}

/* Names of blocks that were not stored are sent again. */
static void loader_forget_names(struct loader *l, uint32_t shard)
{
	l->n_forgotten++;
	known_rows_clear(&l->memory->known[shard]);
}

/* The blocks of a batch that failed are looked at again, and its names are sent again. */
void loader_drop_batch(struct loader *l, uint32_t shard)
{
	struct load_batch *batch = l->batches[shard];

	for (size_t i = 0; i < load_batch_n(batch); i++)
		loader_forget(l, load_batch_block(batch, i));
	if (load_batch_n(batch))
		loader_forget_names(l, shard);
	load_batch_clear(batch);
}

static int loader_make_rows(struct loader *l, const struct fleet_block *block,
			    const struct session *session, struct block_rows *rows,
			    struct error *why)
{
	struct known_rows *known =
		&l->memory->known[clickhouse_shard_of(l->config->clickhouse, block->host)];
	cleanup(free_at_exit) char *labels = fleet_labels_read(l->fleet, block->host);
	uint32_t now_s = (uint32_t)(clock_wall_ns() / NS_PER_SECOND);
	int r = l->leaves ? leaf_rows_make(block, session, now_s, rows, why)
			  : block_rows_make(block, session, l->config->symbols, labels, now_s,
					    known, rows, why);

	if (r >= 0)
		block_rows_remember(rows, known);
	else
		block_rows_fini(rows);
	return r;
}

/* Opens a block of the directory, and makes its rows. */
int loader_read_block(struct loader *l, const char *host, const char *part, uint64_t bucket,
		      struct batched_block *out, struct error *why)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s/%s", l->fleet, host, part);
	cleanup(session_close_at_exit) struct session *session = NULL;
	int r = loader_open_block(l, host, part, bucket, &session, why);

	*out = (struct batched_block){ .block = { host, fleet_block_part(part), bucket },
				       .host_key = loader_host_key(l, host),
				       .part_key = load_part_stamp(path) };
	snprintf(out->part, sizeof(out->part), "%s", part);
	return r < 0 ? r : loader_make_rows(l, &out->block, session, &out->rows, why);
}

/*
 * A server may refuse a block for a while only, such as for lack of memory. So it is tried in the
 * next round, too.
 */
static void loader_refuse_block(struct loader *l, const struct batched_block *block,
				const struct error *why)
{
	loader_forget(l, block);
	loader_leave_out(l, block->block.host, block->part, why->text);
}

/* Stores a block alone, which was refused with others: its rows are made with all of its names. */
static int loader_store_alone(struct loader *l, const struct batched_block *refused,
			      struct error *err)
{
	uint32_t shard = clickhouse_shard_of(l->config->clickhouse, refused->block.host);
	struct load_batch *batch = load_batch_new(l->config->fleet, l->config->clickhouse, shard);
	struct batched_block block;
	struct error why = { 0 };
	int r = loader_read_block(l, refused->block.host, refused->part, refused->block.bucket,
				  &block, &why);

	if (r < 0) { /* it is gone, or damaged */
		loader_refuse_block(l, refused, &why);
		load_batch_free(batch);
		return 0;
	}
	load_batch_add(batch, &block, l->leaves);
	r = load_batch_store(batch, 0, &why);
	if (r >= 0)
		loader_count(l, &load_batch_block(batch, 0)->rows);
	else
		loader_forget_names(l, shard);
	if (r == -EREMOTEIO)
		loader_refuse_block(l, refused, &why);
	load_batch_free(batch);
	return r < 0 && r != -EREMOTEIO ? error_set(err, r, "%s", why.text) : 0;
}

/* Stores what waits for a shard. The blocks of a batch that is refused are tried one by one. */
int loader_store_batch(struct loader *l, uint32_t shard, uint64_t listed_ns, struct error *err)
{
	struct load_batch *batch = l->batches[shard];
	size_t n = load_batch_n(batch), i = 0;
	struct error why = { 0 };
	int r = load_batch_store(batch, listed_ns, &why);

	for (; r >= 0 && i < n; i++)
		loader_count(l, &load_batch_block(batch, i)->rows);
	/* Without room for a batch, there may be room for a block: the first one tells. */
	if (r == -EREMOTEIO || (r == -EBUSY && n > 1)) {
		loader_forget_names(l, shard);
		r = 0;
		if (n == 1)
			loader_refuse_block(l, load_batch_block(batch, i++), &why);
		for (; i < n && r >= 0; i++)
			r = loader_store_alone(l, load_batch_block(batch, i), &why);
	}
	if (r < 0) {
		loader_drop_batch(l, shard);
		loader_fail(l, shard, r, &why);
		return error_set(err, r, "%s", why.text);
	}
	load_batch_clear(batch);
	return 0;
}

/* Keeps the memory of all batches within LOAD_BATCHES_BYTES. The failure of a shard is its own. */
static void loader_bound_memory(struct loader *l)
{
	uint32_t n_shards = clickhouse_n_shards(l->config->clickhouse), largest = 0;
	size_t bytes = 0;

	for (uint32_t s = 0; s < n_shards; s++) {
		bytes += load_batch_bytes(l->batches[s]);
		if (load_batch_bytes(l->batches[s]) > load_batch_bytes(l->batches[largest]))
			largest = s;
	}
	if (bytes > LOAD_BATCHES_BYTES)
		loader_store_batch(l, largest, 0, NULL);
}

/* Adds a block to its batch, and stores what has no room beside it. The block is taken. */
int loader_add_block(struct loader *l, struct batched_block *block, struct error *err)
{
	uint32_t shard = clickhouse_shard_of(l->config->clickhouse, block->block.host);
	struct load_batch *batch = l->batches[shard];
	uint64_t n_forgotten = l->n_forgotten;
	struct error why = { 0 };
	int r = 0;

	if (!load_batch_has_room(batch, &block->block, &block->rows))
		r = loader_store_batch(l, shard, 0, err);
	if (r >= 0 && l->n_forgotten != n_forgotten) { /* its rows lack names that were refused */
		struct batched_block again = *block;

		block_rows_fini(&again.rows);
		if (loader_read_block(l, l->host, again.part, again.block.bucket, block, &why) <
		    0) {
			loader_leave_out(l, l->host, again.part, why.text); /* it is gone */
			return 0;
		}
	} else if (r < 0) {
		block_rows_fini(&block->rows);
	}
	if (r < 0)
		return r;
	load_batch_add(batch, block, l->leaves);
	loader_bound_memory(l);
	return l->failed[shard] || l->code == -EINTR ? error_set(err, l->code, "%s", l->why.text)
						     : 0;
}

/* The blocks of functions of the fleet, or those of addresses in `leaves`. */
void loader_choose(struct loader *l, const char *leaves)
{
	l->fleet = leaves ? leaves : l->config->fleet;
	l->leaves = leaves;
	l->bucket_ns = leaves ? LEAVES_BUCKET_NS : BLOCK_BUCKET_NS;
}

/* ---- what an earlier loader left ---- */

/* Blocks that are gone from the directory. */
struct gone_blocks {
	VEC(struct fleet_block) blocks;
	VEC(const struct listed_block *) listed;
};

/* Those of a list. Its other blocks are stored in this round. */
static void loader_find_gone(const struct loader *l, const struct batch_list *list,
			     struct gone_blocks *out)
{
	vec_foreach (&list->blocks, block) {
		cleanup(free_at_exit) char *path =
			xasprintf("%s/%s/%s", l->fleet, block->host, block->part);
		const struct fleet_block gone = { block->host, fleet_block_part(block->part),
						  block->bucket };

		if (access(path, F_OK) == 0)
			continue;
		vec_push(&out->blocks, gone);
		vec_push(&out->listed, block);
	}
}

static void loader_leave_out_gone(struct loader *l, const struct listed_block *block,
				  const char *where, bool needs_rebuild, const struct error *reason)
{
	cleanup(free_at_exit) char *advice = NULL, *why = NULL;
	char when[FLEET_TIME_SIZE];

	fleet_time_text(block->bucket, when);
	if (needs_rebuild)
		advice = xasprintf(": 'assay fleet rebuild' of %.10s stores all", when);
	why = xasprintf("its insert was not finished, and %s%s (%s)", where, advice ? advice : "",
			reason->text);
	loader_leave_out(l, block->host, block->part, why);
}

/* Says which blocks of a list that is given up are not stored, or not in all tables. */
static void loader_leave_out_list(struct loader *l, uint32_t shard, const struct batch_list *list,
				  const struct error *reason)
{
	struct gone_blocks gone = { 0 };
	cleanup(free_at_exit) enum block_presence *presence = NULL;
	struct error why = { 0 };
	int r = 0;

	loader_find_gone(l, list, &gone);
	presence = xcalloc(gone.blocks.n + 1, sizeof(*presence));
	if (gone.blocks.n)
		r = clickhouse_find_blocks(l->config->clickhouse, shard, gone.blocks.data,
					   gone.blocks.n, l->leaves, presence, &why);
	for (size_t i = 0; i < gone.blocks.n; i++) {
		const struct listed_block *block = gone.listed.data[i];

		if (r < 0)
			loader_leave_out_gone(l, block, "some tables may have it", true, reason);
		else if (presence[i] == BLOCK_IS_IN_SOME_TABLES)
			loader_leave_out_gone(l, block, "some tables have it, and others do not",
					      true, reason);
		else if (presence[i] == BLOCK_IS_NOWHERE)
			loader_leave_out_gone(l, block, "no table has it", false, reason);
		else
			l->result->n_known++;
	}
	vec_fini(&gone.blocks);
	vec_fini(&gone.listed);
}

/* A part that was merged from the blocks must not be stored beside them: unfinished_find(). */
static int loader_end_list(struct loader *l, uint32_t shard, const struct batch_list *list,
			   const struct error *reason, struct error *err)
{
	const char *address = clickhouse_address(l->config->clickhouse, shard);
	int r = unfinished_add(l->config->fleet, list, err);

	r = r < 0 ? r : batch_list_remove(l->config->fleet, address, err);
	if (r >= 0)
		loader_leave_out_list(l, shard, list, reason);
	return r;
}

/*
 * Blocks of the list that are gone, as after a retention, can't be inserted again. Until the
 * earlier insert has ended for certain, no other block of the shard is inserted.
 */
static void loader_give_up_list(struct loader *l, uint32_t shard, const struct batch_list *list,
				const struct error *reason)
{
	const char *address = clickhouse_address(l->config->clickhouse, shard);
	uint64_t now = clock_wall_ns(), age = now - MIN(list->written_ns, now);
	struct error why = { 0 };
	int r;

	loader_drop_batch(l, shard);
	if (age < CLICKHOUSE_INSERT_MAX_NS)
		r = error_set(&why, -EAGAIN,
			      "%s: blocks wait for %" PRIu64
			      " s, as an earlier insert may still run, and its blocks can't be "
			      "read: %s",
			      address, (CLICKHOUSE_INSERT_MAX_NS - age) / NS_PER_SECOND + 1,
			      reason->text);
	else
		r = loader_end_list(l, shard, list, reason, &why);
	if (r < 0)
		loader_fail(l, shard, r, &why);
}

/* Stores the blocks whose insert an earlier loader began. */
void loader_replay(struct loader *l, uint32_t shard, const char *leaves)
{
	const char *address = clickhouse_address(l->config->clickhouse, shard);
	struct batch_list list = { 0 };
	struct error why = { 0 };
	int r = batch_list_read(l->config->fleet, address, &list, &why);

	if (r < 0 && r != -EBADMSG) { /* it may be read the next time */
		loader_fail(l, shard, r, &why);
		batch_list_fini(&list);
		return;
	}
	if (r)
		loader_choose(l, list.leaves ? leaves : NULL);
	for (size_t i = 0; i < list.blocks.n && r > 0; i++) {
		const struct listed_block *listed = &list.blocks.data[i];
		struct batched_block block;

		if (clickhouse_shard_of(l->config->clickhouse, listed->host) != shard)
			r = error_set(&why, -EBADMSG, "%s is on another shard", listed->host);
		else
			r = loader_read_block(l, listed->host, listed->part, listed->bucket, &block,
					      &why);
		if (r < 0)
			break;
		load_batch_add(l->batches[shard], &block, list.leaves);
		r = 1;
	}
	if (r < 0)
		loader_give_up_list(l, shard, &list, &why);
	else if (r > 0)
		loader_store_batch(l, shard, list.written_ns, NULL);
	batch_list_fini(&list);
}
