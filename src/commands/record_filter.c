/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/record_filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "counter/address_filter.h"
#include "counter/intel_pt.h"
#include "trace/trace_filter.h"

static bool takes_addresses(const struct counter *c)
{
	return c->is_trace;
}

static bool takes_fields(const struct counter *c)
{
	return c->attr.type == PERF_TYPE_TRACEPOINT;
}

static size_t give(struct counters *counters, bool (*takes)(const struct counter *c),
		   const char *filter)
{
	size_t n = 0;

	vec_foreach (counters, c) {
		if (!takes(c))
			continue;
		free(c->filter);
		c->filter = xstrdup(filter);
		log_verbose("filter of '%s': %s", c->name, filter);
		n++;
	}
	return n;
}

static int give_addresses(const struct counter_sources *sources, const char *text,
			  struct counters *counters, struct error *err)
{
	const struct trace_filter_config config = { .pmu = INTEL_PT, .sources = sources };
	struct buf kernel_text = { 0 };
	int r = 0;
	bool has_trace = false;

	vec_foreach (counters, c)
		has_trace |= takes_addresses(c);
	if (!has_trace)
		return error_set(
			err, -EINVAL,
			"--filter '%.100s' is for addresses: it goes with a hardware trace, "
			"such as -e intel_pt//u",
			text);
	r = trace_filter_resolve(&config, text, &kernel_text, err);
	if (r == -ENOENT && !strchr(text, '@'))
		r = error_wrap(err, r,
			       "--filter '%.100s' is for the kernel's code, as it has no '@FILE'",
			       text);
	if (r >= 0)
		give(counters, takes_addresses, buf_cstr(&kernel_text));
	buf_fini(&kernel_text);
	return r;
}

int record_set_filters(const struct counter_sources *sources, const struct option_list *filters,
		       struct counters *counters, struct error *err)
{
	struct buf addresses = { 0 };
	int r = 0;

	vec_foreach (filters, text) {
		if (address_filter_is_one(*text))
			buf_printf(&addresses, "%s%s", addresses.len ? " , " : "", *text);
		else if (!give(counters, takes_fields, *text) && !r)
			r = error_set(err, -EINVAL,
				      "--filter '%.100s': an address filter begins with filter, "
				      "start, stop or tracestop; any other is for a tracepoint, "
				      "such as -e sched:sched_switch",
				      *text);
	}
	if (!r && addresses.len)
		r = give_addresses(sources, buf_cstr(&addresses), counters, err);
	buf_fini(&addresses);
	return r;
}
