/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of a fleet in ClickHouse: its hosts and its blocks, from the table of coverage. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clickhouse;
struct error;

struct listed_coverage {
	const char *host; /* valid during the visit */
	uint64_t start_s, samples, lost;
	uint64_t n_blocks; /* of hosts */
	uint64_t part;     /* of blocks: the number of the part */
};
typedef void listed_coverage_visitor(void *context, const struct listed_coverage *row);

/*
 * Visits each host that can have this name (fleet_host_is_valid()) with its blocks, samples and
 * losses; start_s is of its last block. Where a shard does not answer, a warning names it, and
 * *is_incomplete becomes true. -EMSGSIZE: an answer is too large. -EPROTO: one is not whole.
 */
int clickhouse_list_hosts(struct clickhouse *ch, listed_coverage_visitor *visit, void *context,
			  bool *is_incomplete, struct error *err);

struct listed_blocks {
	uint64_t from_s, to_s;    /* blocks that overlap [from_s, to_s) */
	const char *const *hosts; /* of these hosts alone; NULL: of all */
	size_t n_hosts;
	uint64_t limit; /* of each shard: so many, the newest */
};

/* The same for blocks. *n becomes the number of all that there are. */
int clickhouse_list_blocks(struct clickhouse *ch, const struct listed_blocks *wish,
			   listed_coverage_visitor *visit, void *context, uint64_t *n,
			   bool *is_incomplete, struct error *err);
