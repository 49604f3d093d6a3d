/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/tools/opcontrol_event.h"

#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/mem.h"
#include "counter/catalog/cpu_type.h"
#include "counter/probe.h"

/* Ticks a second of the timer, as most kernels had them. */
#define TIMER_HZ 250

/* What old scripts ask for on any x86, whatever the processor's default is called. */
#define CYCLES "CPU_CLK_UNHALTED"

static bool has_counters(void)
{
	static const struct counter_sources sources;
	const struct probe_machine machine = { .sources = &sources };

	return probe_scope(&machine).has_hardware;
}

/* Whether it is one event, of this name. */
static bool is_named(const char *events, const char *name, size_t n)
{
	return n && !strchr(events, ',') && !strncasecmp(events, name, n) && events[n] == ':';
}

char *opcontrol_event(const char *events)
{
	const struct cpu_type *cpu = cpu_type_detect(NULL, NULL);
	const char *usual = cpu && cpu->default_event ? cpu->default_event : "";
	bool is_default = !events || !strcmp(events, "default");

	if ((is_default || is_named(events, usual, strcspn(usual, ":")) ||
	     is_named(events, CYCLES, strlen(CYCLES))) &&
	    !has_counters()) {
		if (!is_default)
			log_info("%s: there are no counters here; the timer takes samples, %d a "
				 "second",
				 events, TIMER_HZ);
		return xasprintf("--freq=%d", TIMER_HZ);
	}
	if (is_default)
		return *usual ? xasprintf("--event=%s", usual) : NULL;
	return xasprintf("--event=%s", events);
}
