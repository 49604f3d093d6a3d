/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "counter/draft.h"
#include "counter/sources.h"

/* A clock below this is over 100 kHz; the kernel lifts it to this anyway
 * (perf_swevent_init_hrtimer).
 */
#define MIN_CLOCK_NS   10000
#define IBS_STEP       16 /* its registers lack the lowest four bits */
#define MIN_CORE_COUNT UINT64_C(500)

static int check_count(const struct draft *d, uint64_t count, const char *name, struct error *err)
{
	uint64_t least = MAX(d->min_count, d->is_core ? MIN_CORE_COUNT : 0);

	if (count == 0)
		return error_set(err, -EINVAL, "event '%s': a count of 0 would never sample", name);
	if (count >> 63)
		return error_set(err, -EINVAL,
				 "event '%s': a count of %" PRIu64
				 " is too large; the kernel takes "
				 "less than 2^63",
				 name, count);
	if (attr_is_clock(&d->attr) && count < MIN_CLOCK_NS)
		return error_set(err, -EINVAL,
				 "event '%s': a count of %" PRIu64
				 " ns is faster than 100 kHz; the "
				 "least is %d",
				 name, count, MIN_CLOCK_NS);
	if (d->is_ibs && count % IBS_STEP)
		return error_set(err, -EINVAL,
				 "event '%s': IBS counts in steps of %d: %" PRIu64 " would do",
				 name, IBS_STEP, MAX(count / IBS_STEP, 1u) * IBS_STEP);
	if (count < least)
		return error_set(err, -EINVAL,
				 "event '%s': a count of %" PRIu64
				 " is below the minimum of %" PRIu64 " events "
				 "between two samples",
				 name, count, least);
	return 0;
}

static int check_freq(uint64_t freq_hz, uint64_t max, const char *name, struct error *err)
{
	if (freq_hz == 0)
		return error_set(err, -EINVAL, "event '%s': a frequency of 0 would never sample",
				 name);
	if (max && freq_hz > max)
		return error_set(err, -EINVAL,
				 "event '%s': a frequency of %" PRIu64
				 " Hz is above kernel.perf_event_max_sample_rate, which is %" PRIu64
				 "; as root, 'sysctl kernel.perf_event_max_sample_rate=%" PRIu64
				 "' raises it",
				 name, freq_hz, max, freq_hz);
	return 0;
}

static int rate_set_count(struct draft *d, uint64_t count, const char *name, struct error *err)
{
	int r = check_count(d, count, name, err);

	if (r == 0)
		d->attr.sample_period = count;
	return r;
}

static int set_freq(const struct counter_sources *sources, struct draft *d, uint64_t freq_hz,
		    const char *name, struct error *err)
{
	int r = check_freq(freq_hz, sources_max_rate(sources), name, err);

	if (r < 0)
		return r;
	d->attr.freq = 1;
	d->attr.sample_freq = freq_hz;
	return 0;
}

int rate_apply(const struct counter_sources *sources, const struct counter_rate *rate,
	       struct draft *d, const char *name, struct error *err)
{
	uint64_t max = sources_max_rate(sources);

	if ((d->has_freq && d->has_count) || (rate->freq_hz && rate->count))
		return error_set(err, -EINVAL, "event '%s': give a frequency or a count, not both",
				 name);
	if (d->has_count)
		return rate_set_count(d, d->count, name, err);
	if (d->has_freq)
		return set_freq(sources, d, d->freq_hz, name, err);
	if (rate->count)
		return rate_set_count(d, rate->count, name, err);
	if (rate->freq_hz)
		return set_freq(sources, d, rate->freq_hz, name, err);
	/* A tracepoint is a place in the code, not a quantity: every pass is a sample. */
	if (d->probed || d->attr.type == PERF_TYPE_TRACEPOINT || attr_is_rare(&d->attr))
		return rate_set_count(d, 1, name, err);
	return set_freq(sources, d, max ? MIN(DEFAULT_FREQ_HZ, max) : DEFAULT_FREQ_HZ, name, err);
}
