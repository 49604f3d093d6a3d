/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fleet whose rows a shard of ClickHouse has: one fleet alone (fleet_id_text()).
 *
 * The id is a row of `schema_version` with the version 0: its first 32 bits are the shard of the
 * row, and its last ones the number of shards. So tables of every version can have it, a user that
 * only inserts can add it, and an older assay passes over it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct clickhouse;
struct error;

/*
 * Whether the tables of a shard are those of the fleet in the directory `fleet`. Tables that have
 * no id yet are those of every fleet that knows one of their hosts; `claims`: they get this
 * fleet's. -EXDEV: they have the id of another fleet. Other errors: the server or the directory
 * failed.
 */
int clickhouse_check_fleet(struct clickhouse *ch, uint32_t shard, const char *fleet, bool claims,
			   struct error *err);

/*
 * The same for all shards, without claiming any. Replicas must have all rows, too: -EAGAIN
 * (fleet/clickhouse_replica.h).
 */
int clickhouse_check_fleets(struct clickhouse *ch, const char *fleet, struct error *err);
