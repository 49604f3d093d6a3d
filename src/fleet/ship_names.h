/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends the indexes of names that `ship` made to a gateway, each once for each build of the fleet:
 * the gateway is asked which it wants. Its answer counts for a day. The first question about new
 * indexes comes at a random time within ten minutes, so that few hosts with the same new build send
 * it at once.
 *
 * An index is sent in one piece, because a slow body takes room at the gateway. Then no other one
 * is sent until its bytes are within the rate.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct gateway;
struct ship_names;

/* `dir` has the indexes (symbol/cache.h). `at_once`: the first question comes at once. */
struct ship_names *ship_names_new(const char *dir, struct gateway *gateway, uint64_t rate,
				  bool at_once);
void ship_names_free(struct ship_names *n); /* NULL is fine */

/* Another fleet is at the gateway: it is asked about all indexes, at a random time within this. */
void ship_names_forget(struct ship_names *n, double within_s);

/*
 * Asks, or sends one index, if its time has come. *wait_ns: when to call it again, from now on;
 * UINT64_MAX: nothing waits to be sent. A gateway that is busy gets the same index later, as it
 * asks for. After another failure, nothing is sent for ten minutes.
 */
int ship_names_step(struct ship_names *n, uint64_t *wait_ns, struct error *err);
