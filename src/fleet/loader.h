/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside fleet/: a round of loading a fleet into ClickHouse (fleet/clickhouse_load.h). One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "fleet/clickhouse_load.h"
#include "fleet/clickhouse_rows.h"

struct batched_block;
struct load_batch;
struct session;

struct fleet_load_memory {
	struct known_rows *known; /* by shard */
	uint32_t n_shards;
	struct intmap hosts; /* loader_host_key() to a hash of its folder's last change; 0: no */
	struct intmap parts; /* part_stamp() of parts whose blocks are stored: 1; else 0 */
	uint64_t named_s;    /* since when indexes of names are new, CLOCK_REALTIME */
};

struct loader {
	const struct fleet_load_config *config;
	struct fleet_load_result *result;
	struct fleet_load_memory *memory;
	const char *fleet;  /* the directory of blocks at hand … */
	bool leaves;        /* … of addresses */
	uint64_t bucket_ns; /* the length of its blocks */

	struct load_batch **batches; /* by shard */
	bool *failed;                /* by shard: no more blocks go there */
	int code;                    /* the first failure, or -EINTR … */
	struct error why;            /* … and its text */
	uint64_t n_forgotten;        /* how often loader_forget_names() was called */

	/* Of the host at hand. */
	const char *host;
	char *dir;
	struct intmap stored;   /* hash of (time, part) of the blocks that ClickHouse has … */
	VEC(uint64_t) stored_s; /* … and their times */
};

/* A part that is replaced has another number. */
uint64_t load_part_stamp(const char *path);
/* A host of addresses is another one than the host of functions. */
uint64_t loader_host_key(const struct loader *l, const char *host);

/* Counts a part or a block that is not stored, and says why. */
void loader_leave_out(struct loader *l, const char *host, const char *part, const char *why);

/* Notes a failure: the shard gets no more blocks in this round. -EINTR ends the round. */
void loader_fail(struct loader *l, uint32_t shard, int code, const struct error *why);

/* Opens a block of the directory. */
int loader_open_block(const struct loader *l, const char *host, const char *part, uint64_t bucket,
		      struct session **out, struct error *why);

/* The same, and makes its rows, which are the caller's. out->block.host is `host`. */
int loader_read_block(struct loader *l, const char *host, const char *part, uint64_t bucket,
		      struct batched_block *out, struct error *why);

/*
 * Adds a block of the host at hand to its batch, and stores what has no room beside it. The block
 * is taken. Fails if its shard failed.
 */
int loader_add_block(struct loader *l, struct batched_block *block, struct error *err);

/*
 * Stores what waits for a shard. The blocks of a batch that is refused are tried one by one. A
 * failure is noted, and its blocks are looked at again. `listed_ns` as load_batch_store().
 */
int loader_store_batch(struct loader *l, uint32_t shard, uint64_t listed_ns, struct error *err);

/* Empties a batch whose blocks were not stored: they are looked at again. */
void loader_drop_batch(struct loader *l, uint32_t shard);

/* The blocks at hand are those of functions of the fleet, or those of addresses in `leaves`. */
void loader_choose(struct loader *l, const char *leaves);

/* Stores the blocks whose insert an earlier loader began. */
void loader_replay(struct loader *l, uint32_t shard, const char *leaves);
