/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `assay ship` to a directory: the host stores its blocks itself, after the checks that a gateway
 * makes (fleet/block_take.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fleet/host_facts.h"

struct error;
struct fleet_host;
struct fleet_key;

struct ship_direct {
	const char *fleet; /* that has the facts of the host; those of addresses are of the whole */
	const char *host;
	const char *labels;      /* lines NAME=VALUE; NULL: they stay */
	struct host_facts facts; /* as of the last introduction; here are backlog and rate */
	uint64_t introduced_ns;  /* CLOCK_MONOTONIC; 0: not yet */
	bool is_labelled;
	bool has_expired; /* facts.expired has those of earlier processes, too */
	bool is_leaves;   /* the handle is of the fleet of addresses */
};

/*
 * Says which host this is, if ten minutes have passed, or `now`. The difference of the clocks is
 * that to the file system, which may be on another machine. -EEXIST: another machine runs under
 * this name. `handle` is the open host of `fleet`.
 */
int ship_direct_introduce(struct ship_direct *d, struct fleet_host *handle, bool now,
			  struct error *err);

/*
 * Stores the block at `place` (fleet_host_take()). `handle` is the open host of `fleet`, or with
 * is_leaves that of fleet_leaves(). 0: it is stored, or was. 1: it is refused, with
 * *err. Negative: a failure.
 */
int ship_direct_take(struct ship_direct *d, struct fleet_host *handle, struct fleet_key *key,
		     const char *place, struct error *err);
