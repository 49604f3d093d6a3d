/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `assay ship --dry-run`: the data that would leave the host. One thread. */
#pragma once

#include <stdbool.h>

struct block_sums;
struct fleet_key;
struct ship_dry;

/* `host` must outlive it. `labels`: lines NAME=VALUE. */
struct ship_dry *ship_dry_new(const char *host, const char *labels);
void ship_dry_free(struct ship_dry *d); /* NULL is fine */

/* A ship_config.report: prints a line, and keeps the names that are in the block. */
void ship_dry_block(void *dry, const struct fleet_key *key, const struct block_sums *sums,
		    const char *block);

/* A ship_config.report_containers: keeps the names. */
void ship_dry_containers(void *dry, const char *lines);

/*
 * Prints each name that is kept, once. After a block, prints the labels and facts of the host that
 * a fleet gets, too. `to_fleet`: the place is a fleet.
 */
void ship_dry_end(const struct ship_dry *d, bool to_fleet);
