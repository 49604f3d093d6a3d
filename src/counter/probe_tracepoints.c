/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counter/probe.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "counter/reason.h"
#include "counter/sources.h"

#define WITHOUT_TRACEFS "Events such as sched:sched_switch are not known without it."
#define IN_CONTAINER                                                                   \
	" To do: start the container with -v /sys/kernel/tracing:/sys/kernel/tracing " \
	"--cap-add PERFMON."

void probe_tracepoints(const struct probe_machine *m, struct finding *f)
{
	char tracefs[PATH_MAX], events[PATH_MAX + 8];
	bool is_there = sources_tracefs(m->sources, tracefs);
	bool may_raw = sources_perfmon(m->sources) || sources_paranoid(m->sources) < 0;

	snprintf(events, sizeof(events), "%s/events", tracefs);
	if (!is_there) {
		bool is_contained = sources_in_container(m->sources);
		bool has_sysfs = sources_has_sysfs(m->sources);

		finding_set(f, PROBE_MISSING, "tracefs is not mounted");
		finding_means(f, WITHOUT_TRACEFS "%s",
			      is_contained ? IN_CONTAINER
			      : has_sysfs  ? ""
					   : " It is a part of /sys, which is not there, either.");
		if (!is_contained && has_sysfs)
			finding_command(f, m, true, "mount -t tracefs nodev %.100s", tracefs);
	} else if (access(events, R_OK | X_OK) < 0) {
		finding_set(f, PROBE_MISSING, "%.100s can't be read by this user", tracefs);
		finding_means(f, WITHOUT_TRACEFS);
		finding_command(f, m, true, "mount -o remount,mode=755 %.100s", tracefs);
	} else if (!may_raw) {
		finding_set(f, PROBE_LIMITED, "%.80s is readable, but the data is not", tracefs);
		finding_means(f, "Tracepoints of other processes and their fields need root.");
		finding_remedy(f, m, REASON_LEVEL_TRACEPOINT);
	} else {
		finding_set(f, PROBE_OK, "%.100s is readable", tracefs);
	}
}
