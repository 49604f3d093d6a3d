/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of a block for the tables of ClickHouse (fleet/clickhouse_schema.h).
 *
 * A function has the number H(image's base name, demangled name), the same in all builds. Without a
 * name, its number is H(build id, start). A stack has the number of the functions in it. A function
 * counts once in the inclusive sum of a stack, however often it is there, and for the build of its
 * outermost frame.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/intmap.h"
#include "fleet/clickhouse_schema.h"

struct error;
struct profile;
struct session;
struct symbolizer;

/* More rows for a table than this are refused: an insert is stored whole only up to ClickHouse's
 * max_insert_block_size. */
#define BLOCK_ROWS_MAX 1000000u

/* The key of a block: the same for the gateway and for a directory of blocks. */
struct fleet_block {
	const char *host;
	uint32_t part;   /* fleet_block_part() of its name */
	uint64_t bucket; /* its start, CLOCK_REALTIME in ns */
};

/* The number of a block's part: the one in the block's name, or a hash of another name. */
uint32_t fleet_block_part(const char *name);

/* The number of a block in receipts. */
uint64_t fleet_block_id(const struct fleet_block *block);

/* Numbers of stacks and functions that a shard has. */
struct known_rows {
	struct intmap stacks, functions, images;
};
void known_rows_clear(struct known_rows *known);
void known_rows_fini(struct known_rows *known);

struct block_rows {
	struct buf bytes[N_CLICKHOUSE_TABLES]; /* RowBinary, sorted by the table's key */
	uint32_t n[N_CLICKHOUSE_TABLES];
	struct {
		uint64_t *data;
		size_t n, cap;
	} new_stacks, new_functions, new_images; /* the keys of those that were not known */
	uint64_t samples, lost;
};

void block_rows_fini(struct block_rows *rows);

/* The event of a counter, as rows have it. Never "", which rows of a block have. */
const char *rows_event_name(const struct profile *p, uint32_t lane);

/* The service of a group of a profile by services; never "". The text is the profile's. */
const char *rows_service_name(const struct profile *p, uint32_t group);

/*
 * Adds the rows of a block to its table of coverage. Each event has a row, in the order of `lanes`.
 * The row of the block has the losses. `n_rows`: of its samples. Sets out->samples and
 * out->lost. Lanes of one name follow each other.
 */
struct coverage_rows {
	const struct fleet_block *block;
	const struct profile *profile;
	const uint32_t *lanes; /* sorted by the event's name */
	enum clickhouse_table table;
	uint32_t n_rows, seen_s;
};
void rows_put_coverage(const struct coverage_rows *c, struct block_rows *out);

/* -EBADMSG: not all samples of the block have a row in its coverage. -E2BIG: too many rows. */
int block_rows_check(const struct block_rows *rows, const struct profile *p, struct error *err);

/*
 * Makes the rows of a block, which is open as `session`. `seen_s`: the time of day in seconds.
 * `labels`: lines NAME=VALUE. Of stacks, functions and images, only those that are not in `known`
 * have rows; block_rows_remember() adds them when they are stored. -E2BIG: there are too many rows.
 */
int block_rows_make(const struct fleet_block *block, const struct session *session,
		    struct symbolizer *symbols, const char *labels, uint32_t seen_s,
		    const struct known_rows *known, struct block_rows *out, struct error *err);

void block_rows_remember(const struct block_rows *rows, struct known_rows *known);
