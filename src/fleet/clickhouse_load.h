/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads the directory of a fleet into ClickHouse, with the addresses in it (fleet_leaves()). The
 * directory is the queue: each block that `coverage` (of addresses: `leaf_coverage`) does not have
 * is stored, so it can stop at any moment.
 *
 * Parts of a host that were merged (`assay retain FLEET/HOST`) are longer than a bucket, and have
 * the samples of several blocks. They are loaded only where ClickHouse has nothing of the host in
 * their time, as after clickhouse_drop_day().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct clickhouse;
struct error;
struct fleet_load_memory;
struct symbolizer;

/*
 * Which parts earlier calls of fleet_load() stored, and which names ClickHouse has: a later call
 * with the same servers reads new parts alone. Make another one after a failure: the servers may
 * have other tables then.
 */
struct fleet_load_memory *fleet_load_memory_new(void);
void fleet_load_memory_free(struct fleet_load_memory *memory); /* NULL is fine */

struct fleet_load_config {
	const char *fleet; /* the directory */
	struct clickhouse *clickhouse;
	struct symbolizer *symbols;
	uint64_t from_ns, to_ns;          /* buckets that begin in this time, CLOCK_REALTIME */
	struct fleet_load_memory *memory; /* NULL: all blocks are looked at */
	bool drops_first;                 /* the day of from_ns is dropped before, under the lock */
	bool takes_broken; /* drops_first: also if ClickHouse can't read the day, with a warning */
	bool (*stops)(void); /* asked before each block: whether to end. May be NULL */
	/* Called for a part that is left out, with the reason. */
	void (*warn)(const char *sentence);
};

struct fleet_load_result {
	uint32_t n_blocks, n_known, n_left_out; /* known: stored before */
	uint64_t samples, lost, rows, bytes;    /* of those stored; bytes: of the inserts */
	uint64_t n_named; /* functions that got a name after their samples (fleet/late_names.h) */
};

/*
 * Locks the loading of a fleet, as fleet_load() does. The caller closes the descriptor. -EBUSY:
 * another process loads it.
 */
int fleet_load_lock(const char *fleet, struct error *err);

/*
 * -EBUSY: another process loads this fleet. -EINTR: config->stops, or that of the servers. -EAGAIN:
 * an insert of an earlier call may still run (fleet/batch_list.h), or a replica lacks rows. -EXDEV:
 * ClickHouse has another fleet (fleet/clickhouse_fleet.h). -EBADMSG: with drops_first, ClickHouse
 * has samples of the day that the directory lacks, so the day stays. Other errors: ClickHouse or
 * the directory failed; what was stored is in *out, also then. If a shard fails, the hosts of the
 * other shards are loaded.
 */
int fleet_load(const struct fleet_load_config *config, struct fleet_load_result *out,
	       struct error *err);
