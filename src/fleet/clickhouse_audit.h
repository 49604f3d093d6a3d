/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares ClickHouse with the keys of a fleet's directory (fleet/fleet_store.h): whether each
 * block that came is stored once.
 *
 * A day in which merged parts were loaded has no row for each block. It is compared by its sum.
 * Days that are older than a table keeps them are left out.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct clickhouse;
struct error;

struct audit_difference {
	const char *host;          /* NULL: of a shard */
	uint32_t shard;            /* of it */
	const char *table;         /* that differs */
	uint64_t time_s, length_s; /* a block's ten minutes, or a day */
	uint64_t sent, sent_lost;  /* as the keys have them; of a shard, as the coverage has them */
	uint64_t stored, stored_lost;
	uint64_t doubled; /* blocks that the table has more than once; else 0 */
};

typedef void audit_difference_visitor(void *context, const struct audit_difference *d);

struct audit_host_sums {
	uint64_t n_blocks, samples, lost; /* as ClickHouse has them */
};

/*
 * Compares the blocks of a host with their table of coverage. `leaves`: `fleet` is fleet_leaves()
 * of one, with blocks of addresses.
 */
int clickhouse_audit_host(struct clickhouse *ch, const char *fleet, bool leaves, const char *host,
			  audit_difference_visitor *visit, void *context,
			  struct audit_host_sums *sums, struct error *err);

/*
 * Reports each host that ClickHouse has samples of, and the directory `fleet` does not know: one
 * that was forgotten, or one of another fleet.
 */
int clickhouse_audit_strangers(struct clickhouse *ch, const char *fleet, bool leaves,
			       audit_difference_visitor *visit, void *context, struct error *err);

/* Compares each table of sums with its coverage, for each shard and day, and looks for blocks that
 * are there more than once. */
int clickhouse_audit_tables(struct clickhouse *ch, audit_difference_visitor *visit, void *context,
			    struct error *err);
