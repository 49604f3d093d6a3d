/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/collector.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "collect/sampler.h"
#include "counter/sources.h"

static bool is_for_sampler(const struct counter *c)
{
	return c->attr.type != PERF_TYPE_TRACEPOINT && !c->ext && !c->probed;
}

bool counters_fit_sampler(const struct counters *counters)
{
	vec_foreach (counters, c)
		if (!is_for_sampler(c))
			return false;
	return true;
}

static bool is_group_for_sampler(const struct counters *counters, const struct counter *member)
{
	vec_foreach (counters, c)
		if ((c == member || (c->group && c->group == member->group)) && !is_for_sampler(c))
			return false;
	return true;
}

void counters_choose_in_kernel(struct counters *counters)
{
	vec_foreach (counters, c)
		c->in_kernel = is_group_for_sampler(counters, c);
}

size_t counters_n_for_sampler(const struct counters *counters)
{
	size_t n = 0;

	vec_foreach (counters, c)
		n += is_group_for_sampler(counters, c);
	return n;
}

const struct counter *counters_find_for_rings(const struct counters *counters)
{
	vec_foreach (counters, c)
		if (!is_group_for_sampler(counters, c))
			return c;
	return NULL;
}

/* If each event can be a sample, the rate has no limit: 16 KB with each are too much. */
static bool is_for_copies(const struct counter *c)
{
	const struct perf_event_attr *a = &c->attr;

	if (a->exclude_user)
		return false;
	if (counter_is_rare(c))
		return true;
	if (a->freq)
		return a->sample_freq <= 10000;
	return a->sample_period >= (strcmp(c->unit, "ns") ? 10000 : 100000);
}

bool counters_fit_copies(const struct counters *counters)
{
	bool fit = true;

	for (size_t i = 0; i < counters->n; i++)
		fit &= counters->data[i].in_kernel || is_for_copies(&counters->data[i]);
	return fit;
}

int collector_check_waits(bool is_refused, struct error *err)
{
	static const struct counter_sources sources;
	char why[640];

	if (is_refused)
		return error_set(err, -EPERM, "--off-cpu: the in-kernel sampler is not possible");
	if (sources_pid_namespace(NULL))
		return error_set(err, -ENOTSUP,
				 "--off-cpu works in the initial pid namespace alone: start the "
				 "container with --pid=host");
	if (!sampler_is_available(&sources, why, sizeof(why)))
		return error_set(err, -EPERM, "--off-cpu: %s", why);
	return 0;
}
