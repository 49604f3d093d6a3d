/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/memory_limit.h"

#include <malloc.h>
#include <stdio.h>

#include "base/log.h"
#include "daemon/daemon_state.h"
#include "daemon/helpers.h"
#include "guard/parser.h"

enum memory_excess memory_excess(uint64_t limit, uint64_t daemon, uint64_t parsers)
{
	uint64_t most = limit - limit / 8;

	if (!limit || daemon + parsers < most)
		return MEMORY_FITS;
	return daemon < most ? MEMORY_OF_PARSERS : MEMORY_OF_DAEMON;
}

static void end_idle_parsers(double mib)
{
	uint32_t n = parser_end_idle();

	if (n)
		log_verbose("the daemon and its parsers use %.1f MiB: %u idle parsers end", mib, n);
}

/*
 * The recorder keeps files, names, stacks and call trees that it has seen; counting anew releases
 * them. If the memory is still too much then, it is the memory for one second's samples, and only a
 * lower rate helps.
 */
static void use_less(struct daemon *d, const char *why, uint64_t now_ns)
{
	malloc_trim(0);
	if (!d->renewed_ns || now_ns - d->renewed_ns > d->pace.renew_ns) {
		d->renewed_ns = now_ns;
		log_warning("%s: counting begins anew", why);
		renew(d);
	} else if (now_ns - d->budget.changed_ns > d->pace.settle_ns && d->rate_hz > 1 &&
		   has_a_rate(d)) {
		d->budget.changed_ns = now_ns;
		change_rate(d, d->rate_hz / 2, why);
	}
}

void memory_limit_watch(struct daemon *d, uint64_t own_bytes, uint64_t now_ns)
{
	uint64_t limit = d->settings.max_bytes, bytes, parsers;
	struct daemon_helpers helpers;
	enum memory_excess excess;
	char why[128];

	daemon_helpers_look(d, &helpers);
	parsers = helpers.parsers.bytes;
	bytes = own_bytes + helpers.bytes - parsers;
	excess = memory_excess(limit, bytes, parsers);
	if (excess == MEMORY_FITS)
		return;
	end_idle_parsers((double)(bytes + parsers) / 1048576);
	if (excess == MEMORY_OF_PARSERS || now_ns - d->started_ns < d->pace.settle_ns)
		return;
	snprintf(why, sizeof(why), "the daemon uses %.1f MiB, of %.1f MiB at most",
		 (double)bytes / 1048576, (double)limit / 1048576);
	use_less(d, why, now_ns);
}
