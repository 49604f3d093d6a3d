/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of a fleet in ClickHouse: its hosts and its blocks, from the table of coverage. */
#pragma once

#include <stdbool.h>
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
 * losses; start_s is of its last block. `missing` is called with a sentence for each shard that
 * does not answer. -EPROTO: an answer is not whole.
 */
int clickhouse_list_hosts(struct clickhouse *ch, listed_coverage_visitor *visit, void *context,
			  void (*missing)(void *context, const char *sentence), struct error *err);

/* The same for blocks that overlap [from_s, to_s). */
int clickhouse_list_blocks(struct clickhouse *ch, uint64_t from_s, uint64_t to_s,
			   listed_coverage_visitor *visit, void *context,
			   void (*missing)(void *context, const char *sentence), struct error *err);
