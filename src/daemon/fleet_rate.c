/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/fleet_rate.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/log.h"
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

static void look_at_fleet(struct daemon *d)
{
	struct ship_status ship = { 0 };

	if (d->settings.follows_fleet)
		ship_status_read(&ship);
	d->fleet_hz = ship.rate_hz;
}

void fleet_rate_watch(struct daemon *d, uint64_t now_ns)
{
	uint64_t before = fleet_rate_wanted(d), rate = d->rate_hz, wanted;
	struct error err = { 0 };

	if (d->fleet_looked_ns && now_ns - d->fleet_looked_ns < d->pace.retry_ns)
		return;
	d->fleet_looked_ns = now_ns;
	look_at_fleet(d);
	/* It rises at once if nothing else held it down; the budget lowers it again. */
	wanted = permitted_rate(fleet_rate_wanted(d));
	if (!has_a_rate(d) || (rate <= wanted && (rate < before || rate == wanted)))
		return;
	if (set_rate(d, wanted, &err) < 0)
		log_warning("cannot change the rate: %s", err.text);
	else
		log_info("sampling at %" PRIu64 " Hz instead of %" PRIu64 ", as the fleet asks",
			 wanted, rate);
}
