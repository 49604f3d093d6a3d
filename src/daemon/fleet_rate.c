/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/fleet_rate.h"

#include "base/mem.h"
#include "daemon/daemon_state.h"
#include "fleet/ship_status.h"

uint64_t fleet_rate_wanted(const struct daemon *d)
{
	return d->fleet_hz ? MIN(d->settings.freq_hz, d->fleet_hz) : d->settings.freq_hz;
}

const char *fleet_rate_reason(const struct daemon *d)
{
	if (d->rate_hz == permitted_rate(d->settings.freq_hz))
		return ", as kernel.perf_event_max_sample_rate permits no more";
	if (d->rate_hz == fleet_rate_wanted(d))
		return ", as the fleet asks";
	return " to stay within the daemon's budget";
}

static uint64_t fleet_asks(const struct daemon *d)
{
	struct ship_status ship = { 0 };

	if (d->settings.follows_fleet)
		ship_status_read(&ship);
	return ship.rate_hz;
}

/* Now, unless the budget holds the rate down: then it rises by the budget's steps. */
static void follow(struct daemon *d, uint64_t before, uint64_t now_ns)
{
	uint64_t wanted = permitted_rate(fleet_rate_wanted(d));

	if (!has_a_rate(d) || d->rate_hz == wanted ||
	    (d->rate_hz < wanted && d->rate_hz < permitted_rate(before)))
		return;
	change_rate(d, wanted,
		    wanted < d->settings.freq_hz ? "the fleet asks for it"
						 : "the fleet asks for no less");
	d->is_budget_begun = false; /* its window had the CPU time of the other rate */
	d->fleet_changed_ns = now_ns;
}

void fleet_rate_watch(struct daemon *d, uint64_t now_ns)
{
	uint64_t before = fleet_rate_wanted(d), asked;

	if (d->fleet_looked_ns && now_ns - d->fleet_looked_ns < d->pace.retry_ns)
		return;
	d->fleet_looked_ns = now_ns;
	asked = fleet_asks(d);
	if (asked == d->fleet_hz)
		return;
	if (d->settings.follows_fleet && d->fleet_changed_ns &&
	    now_ns - d->fleet_changed_ns < d->pace.fleet_ns)
		return;
	d->fleet_hz = asked;
	if (fleet_rate_wanted(d) != before)
		follow(d, before, now_ns);
}
