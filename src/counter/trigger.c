/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counter/trigger.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "counter/pmu.h"
#include "counter/sources.h"

static struct counter *trigger_add(struct counters *out, const char *name,
				   const struct perf_event_attr *a)
{
	char *text = xasprintf("trigger:%s", name);

	vec_push(out, ((struct counter){ .attr = *a,
					 .name = text,
					 .spec = xstrdup(text),
					 .unit = "events",
					 .wakes = true }));
	return &out->data[out->n - 1];
}

int trigger_check_calls(const struct counter_sources *sources, const char *name, struct error *err)
{
	uint32_t type;

	if (!pmu_type(sources, "uprobe", &type))
		return error_set(err, -EOPNOTSUPP,
				 "this kernel has no uprobes (CONFIG_UPROBE_EVENTS, Linux 4.17): a "
				 "call of '%s' can't be waited for",
				 name);
	if (!sources_perfmon(sources))
		return error_set(
			err, -EACCES,
			"waiting for a call of '%s' needs a uprobe, which needs root or "
			"CAP_PERFMON: "
			"sudo assay trace …; the end of a command needs neither (--on-exit)",
			name);
	return 0;
}

int trigger_on_call(const struct counter_sources *sources, const char *name, const char *path,
		    uint64_t file_off, struct counters *out, struct error *err)
{
	struct perf_event_attr a = { .size = sizeof(a), .sample_period = 1 };
	struct counter *c;
	uint32_t type;
	int r = trigger_check_calls(sources, name, err);

	if (r < 0 || !pmu_type(sources, "uprobe", &type))
		return r;
	a.type = type;
	c = trigger_add(out, name, &a);
	c->probed = xstrdup(path);
	c->attr.uprobe_path = (uintptr_t)c->probed;
	c->attr.probe_offset = file_off;
	return 0;
}

int trigger_on_signal(const struct counter_sources *sources, int number, struct counters *out,
		      struct error *err)
{
	struct counter_rate rate = { .count = 1 };
	struct counters parsed = { 0 };
	char name[32];
	int r = counter_parse(sources, "signal:signal_deliver", &rate, &parsed, err);

	if (r >= 0) {
		const char *abbreviation = sigabbrev_np(number);

		if (abbreviation)
			snprintf(name, sizeof(name), "SIG%s", abbreviation);
		else
			snprintf(name, sizeof(name), "signal %d", number);
		trigger_add(out, name, &parsed.data[0].attr)->filter =
			xasprintf("sig == %d", number);
	}
	counters_fini(&parsed);
	return r < 0 ? error_wrap(err, r, "waiting for a signal") : 0;
}

int signal_parse(const char *text, struct error *err)
{
	const char *name = strncasecmp(text, "SIG", 3) ? text : text + 3;
	char *end;
	long n = strtol(text, &end, 10);

	if (isdigit((unsigned char)*text) && !*end && n >= 1 && n <= SIGRTMAX)
		return (int)n;
	for (int i = 1; i <= SIGRTMAX; i++)
		if (sigabbrev_np(i) && !strcasecmp(sigabbrev_np(i), name))
			return i;
	return error_set(err, -EINVAL,
			 "'%s' is no signal: SEGV, ABRT, USR1, TERM … or a number up to %d", text,
			 SIGRTMAX);
}
