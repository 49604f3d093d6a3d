/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of a block of addresses (store/history/blocks.h) for ClickHouse: what compilers and
 * linkers need of a fleet. `leaf_day` adds up the hosts: samples and their events by build, file
 * and offset. fleet/clickhouse_rows.h has those of blocks of functions.
 */
#pragma once

#include <stdint.h>

#include "fleet/clickhouse_rows.h"

/*
 * Makes the rows of a block, which is open as `session`. `seen_s`: the time of day in seconds. One
 * thread. Errors as block_rows_make().
 */
int leaf_rows_make(const struct fleet_block *block, const struct session *session, uint32_t seen_s,
		   struct block_rows *out, struct error *err);
