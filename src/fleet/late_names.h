/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of functions that came after their samples were stored in ClickHouse.
 *
 * A function without a name has a number by its build id and its start (fleet/clickhouse_rows.h).
 * Its row in `functions` has these two. If the fleet gets an index of the build (.names), the
 * number gets a newer row with the name. So old samples have the name, and none is written again.
 * Reports add up the old number and the one of later samples, because both have one name and file.
 *
 * A loader that read its indexes before this one came can put a row without a name behind it. Its
 * next round names the function again.
 */
#pragma once

#include <stdint.h>

struct clickhouse;
struct error;
struct symbolizer;

struct late_names {
	const char *fleet; /* the directory */
	struct clickhouse *clickhouse;
	struct symbolizer *symbols; /* has the indexes of the fleet */
	uint64_t since_s;           /* indexes of files that changed since then, CLOCK_REALTIME */
};

/*
 * Names the functions of a shard. Returns their number, which may include some of an earlier call
 * that failed; else the errors of clickhouse_ask() and clickhouse_insert().
 */
int64_t late_names_load(const struct late_names *config, uint32_t shard, struct error *err);
