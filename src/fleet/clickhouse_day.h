/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Days of ClickHouse that are dropped and stored again from the directory of a fleet. Tells whether
 * this would lose samples, and which days are still to be stored.
 *
 * FLEET/.rebuilding has a line for each day that was dropped and is not stored again yet: the
 * seconds of its beginning. Whoever loads the fleet looks at all blocks then. The file changes
 * under the lock of loading (fleet_load_lock()).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct clickhouse;
struct error;

/* Seconds since 1970. */
struct clickhouse_day {
	const char *fleet; /* the directory, which also has the log of forgotten hosts */
	const char *place; /* `fleet`, or with is_leaves the fleet of addresses in it */
	bool is_leaves;
	uint64_t start_s;
};

/*
 * Whether the directory has the samples of the day that ClickHouse has, of each host. A host that
 * the log names as forgotten may have none.
 *
 * -EBADMSG: it has fewer, as after a retention, or does not know a host. Or a server can't read
 * another day, so it could not store this one. -EUCLEAN: a server can't read its own files of this
 * day any longer, also some seconds later. Its hosts were not compared; the others are whole.
 */
int clickhouse_check_day(struct clickhouse *ch, const struct clickhouse_day *day,
			 struct error *err);

/* Notes that the day is about to be dropped. */
int rebuilding_add(const char *fleet, uint64_t start_s, struct error *err);

/* The day is stored again; UINT64_MAX: all days. */
int rebuilding_remove(const char *fleet, uint64_t start_s, struct error *err);

/* Whether a day may have a hole. */
bool rebuilding_has_days(const char *fleet);
