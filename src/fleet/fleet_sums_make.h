/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes the sums of a fleet (fleet/fleet_sums.h). Sums that exist grow: the next ones are the sum
 * of them and of the new parts. So the present day costs little each hour.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct history_names;

struct sums_made {
	uint32_t n_made, n_parts; /* sums, and the parts that they got */
	uint32_t n_removed;       /* sums that were stale or damaged */
};

/*
 * Locks the sums, and makes their folder. The caller closes the descriptor. -EBUSY: another process
 * has them; with `wait_ms`, after so long.
 */
int fleet_sums_lock(const char *fleet, uint32_t wait_ms, struct error *err);

/*
 * Removes sums that do not count, and makes those that are missing. Under the lock. A part that
 * can't be read is left out. stops(): whether to end, asked between two sums. NULL: never.
 */
int fleet_sums_make(const char *fleet, bool (*stops)(void), struct sums_made *out,
		    struct error *err);

/*
 * To be called when parts of a host were merged, with all of their stacks. Sums that have all parts
 * that a new one replaces have the new one from now on. `before` and `after` are the names of the
 * host's parts. Nobody else may have merged parts of the host between them. Under the lock.
 */
void fleet_sums_follow(const char *fleet, const char *host, const struct history_names *before,
		       const struct history_names *after);

/* Removes all sums that have samples of the host; NULL: all sums. Under the lock. */
int fleet_sums_forget(const char *fleet, const char *host, struct error *err);

/* ---- inside fleet/fleet_sums_*.c ---- */

#define FLEET_SUMS_MAKE_PREFIX ".make-" /* of sums that are being made */

/* Removes sums, or what is left of some. */
int fleet_sums_remove(const char *fleet, const char *name, struct error *err);

/* The parts that a part replaces; NULL: it replaces none. The caller frees it. */
char *fleet_sums_replaced(const char *fleet, const char *host, const char *part);

bool fleet_sums_names_have(const struct history_names *sorted, char *const *name);
