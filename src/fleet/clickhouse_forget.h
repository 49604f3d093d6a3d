/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Forgets a service or a host in ClickHouse. The samples of a service stay as a number, in rows of
 * the service "[forgotten]" and of one function of this name. So each table still has the samples
 * that `coverage` says.
 *
 * For each table and day, a row with the sums is inserted, and then the rows of the service are
 * deleted. If it is stopped between the two, the next call with the same `run` does not insert
 * again.
 */
#pragma once

#include <stdint.h>

struct buf;
struct clickhouse;
struct error;

/* The service of such rows, and the name of their function. */
#define CLICKHOUSE_FORGOTTEN "[forgotten]"

/*
 * `run`: a random number, the same after a failure. Nothing may load the tables meanwhile
 * (fleet_load_lock()). -ETIMEDOUT: a server has not deleted the rows after ten minutes, and goes
 * on.
 */
int clickhouse_forget_service(struct clickhouse *ch, const char *service, uint64_t run,
			      struct error *err);

/*
 * Appends the days that have samples of a host, as uint32_t of days since 1970, in order. The sums
 * of all hosts lose it when these days are loaded again from the directory without the host.
 */
int clickhouse_days_of_host(struct clickhouse *ch, const char *host, struct buf *days,
			    struct error *err);

/* Removes the host from the list of known hosts. -ETIMEDOUT as above. */
int clickhouse_forget_host(struct clickhouse *ch, const char *host, struct error *err);
