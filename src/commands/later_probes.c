/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/later_probes.h"

#include "base/error.h"
#include "base/log.h"
#include "counter/uprobe.h"

struct uprobe_events *later_probes_begin(struct counters *counters, bool can_follow)
{
	static const struct counter_sources here;
	struct uprobe_events *events = NULL;
	struct error why = { 0 };

	if (can_follow && uprobe_events_begin(&here, counters, &events, &why) < 0)
		log_warning("%s (%s)", uprobe_scope(counters), why.text);
	else if (uprobe_scope(counters))
		log_warning("%s", uprobe_scope(counters));
	return events;
}
