/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a fleet (fleet/fleet_store.h) as one session. The samples of each segment have the host's
 * name in the fleet, whatever the blocks say of themselves. Segments of sums (fleet/fleet_sums.h)
 * have no host.
 */
#pragma once

#include "store/history/history.h"

struct error;
struct query;

/*
 * Opens the hosts that the query's filter host: takes; `query` may be NULL. A host that can't be
 * read, or has no samples in the window, is left out. The session counts it as asked for
 * (n_hosts_asked), and of an unreadable one it has a warning. -ENODATA: no host has samples.
 *
 * `hosts_together`: nobody asks which host a sample is of. Then sums may stand for the blocks of
 * hosts, where request->overview_ns permits blocks of their length. A filter host: refuses them.
 */
int fleet_open(const char *dir, const struct query *query, const struct history_request *request,
	       bool hosts_together, struct session **out, struct error *err);
