/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/closely.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "daemon/daemon_state.h"

/* Samples are of the whole machine; the target is the filter to look at them. */
static bool closely_is_target(const char *target)
{
	static const char *const kinds[] = { "pid:", "cgroup:", "container:", "unit:", "comm:" };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strncmp(target, kinds[i], strlen(kinds[i])) && target[strlen(kinds[i])])
			return true;
	return !strcmp(target, "machine");
}

static int closely_check(const struct daemon *d, const char *target, uint64_t seconds,
			 uint64_t rate_hz, struct error *err)
{
	if (!d->settings.allows_record)
		return error_set(err, -EPERM,
				 "recording on request is off: add 'allow-record = yes' to "
				 "daemon.conf and reload the daemon");
	if (!closely_is_target(target))
		return error_set(err, -EINVAL,
				 "'%.60s' is no target: there are machine, pid:, cgroup:, "
				 "container:, unit: and comm:",
				 target);
	if (seconds > DAEMON_RECORD_SECONDS || rate_hz > DAEMON_RECORD_HZ)
		return error_set(err, -EINVAL, "at most %d seconds and %d samples a second",
				 DAEMON_RECORD_SECONDS, DAEMON_RECORD_HZ);
	if (d->recorder && !has_a_rate(d))
		return error_set(err, -EOPNOTSUPP,
				 "each event has a fixed period: there is no rate to raise");
	if (daemon_keeps_one(d))
		return error_set(err, -EOPNOTSUPP, "sample files have no times to find samples by");
	if (d->is_paused)
		return error_set(err, -EBUSY, "the daemon does not count: send 'start' first");
	if (d->closely_until_ns)
		return error_set(err, -EBUSY,
				 "another recording runs: ask again when it has ended");
	return 0;
}

int closely_begin(struct daemon *d, const char *target, uint64_t seconds, uint64_t rate_hz,
		  struct error *err)
{
	uint64_t before = d->settings.freq_hz;
	int e = closely_check(d, target, seconds, rate_hz, err);

	if (e >= 0 && rate_hz > d->rate_hz)
		e = change_frequency(d, MAX(rate_hz, before), err);
	if (e < 0)
		return e;
	d->freq_before_hz = before;
	d->closely_until_ns = clock_monotonic_ns() + seconds * NS_PER_SECOND;
	return 0;
}

void closely_end(struct daemon *d)
{
	if (d->closely_until_ns)
		d->settings.freq_hz = d->freq_before_hz;
	d->closely_until_ns = 0;
}

uint64_t closely_freq_before(const struct daemon *d)
{
	return d->closely_until_ns ? d->freq_before_hz : d->settings.freq_hz;
}

bool closely_goes_on(struct daemon *d, uint64_t now_ns)
{
	struct error err = { 0 };

	if (!d->closely_until_ns)
		return false;
	d->is_budget_begun = false;
	/* The end is tried again while counting begins anew. */
	if (now_ns < d->closely_until_ns || change_frequency(d, d->freq_before_hz, &err) == -EAGAIN)
		return true;
	if (err.text[0])
		log_warning("the rate stays at %" PRIu64 " Hz: %s", d->rate_hz, err.text);
	closely_end(d); /* if that failed, watch_cpu() tries on */
	return false;
}
