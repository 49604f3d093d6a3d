/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The blocks that wait to be sent, from one look at the history to the next. So `ship` can count
 * the samples of a part that the history's retention removed before they were sent.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fleet/fleet_store.h"

struct ship_waiting;

struct ship_waiting *ship_waiting_new(void);
void ship_waiting_free(struct ship_waiting *w); /* NULL is fine */

/* Whether a list of parts has the part: names with blanks between. NULL: an empty list. */
bool replaces_part(const char *list, const char *name);

/* Of a look: a block that waits. Its part is there. */
void ship_waiting_put(struct ship_waiting *w, const char *part, uint64_t bucket, uint64_t samples);

/*
 * Of a look: a part that replaces others (as replaces_part() has it), and its time
 * (CLOCK_REALTIME). Blocks of those wait no longer, as this part has their samples. If the history
 * was merged twice since the last look, some of them have other names: the time counts, too.
 */
void ship_waiting_merged(struct ship_waiting *w, const char *replaces, uint64_t from_ns,
			 uint64_t to_ns);

/*
 * Ends a look at the parts `names`, which are sorted. Appends the blocks that waited at an earlier
 * look, and whose part was there neither at this look nor at the last one. One look is not enough:
 * a part may be merged while the names are read. Blocks that have a key of the host are no such
 * blocks.
 */
void ship_waiting_take_gone(struct ship_waiting *w, const struct history_names *names,
			    const struct fleet_host *host, struct fleet_keys *out);
