/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replicas of a shard of ClickHouse. A replica that was away answers before it has the rows that
 * other replicas got meanwhile. It then lacks receipts, so a block would be stored twice; or it has
 * those of a day that was dropped, so a block would be lost.
 */
#pragma once

#include <stdint.h>

struct clickhouse;
struct error;

/*
 * 0: the tables of the shard are not replicated, or this replica has all inserts and drops of the
 * others. -EAGAIN: it lacks some. Other errors: the server failed.
 */
int clickhouse_check_replica(struct clickhouse *ch, uint32_t shard, struct error *err);
