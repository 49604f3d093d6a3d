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
#include "counter/sources.h"
#include "counter/uprobe.h"

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
	cleanup(free_at_exit) char *what = xasprintf("waiting for a call of '%s'", name);
	int r = uprobe_check(sources, what, err);

	if (r == -EACCES)
		return error_set(err, r,
				 "%s needs a uprobe, which needs root or CAP_PERFMON: sudo assay "
				 "trace …; the end of a command needs neither (--on-exit)",
				 what);
	return r;
}

int trigger_on_call(const struct counter_sources *sources, const char *name, const char *path,
		    uint64_t file_off, struct counters *out, struct error *err)
{
	struct perf_event_attr a = { .size = sizeof(a), .sample_period = 1 };
	cleanup(free_at_exit) char *probed = xstrdup(path);
	int r = trigger_check_calls(sources, name, err);

	if (r == 0)
		r = uprobe_fill(sources, probed, &(struct uprobe_place){ .file_off = file_off },
				false, &a, err);
	if (r == 0)
		trigger_add(out, name, &a)->probed = take_ptr(probed);
	return r;
}

/* As -e has it; the counter becomes a trigger of the same name. */
int trigger_on_probe(const struct counter_sources *sources, const char *spec, struct counters *out,
		     struct error *err)
{
	struct counter_rate rate = { .count = 1 };
	struct counters parsed = { 0 };
	int r = counter_parse(sources, spec, &rate, &parsed, err);

	for (size_t i = 0; i < parsed.n && r >= 0; i++) {
		struct counter *c = &parsed.data[i];

		trigger_add(out, c->name, &c->attr)->probed = take_ptr(c->probed);
	}
	counters_fini(&parsed);
	return MIN(r, 0);
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
