/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counter/uprobe.h"

#include <errno.h>

#include "base/error.h"
#include "counter/pmu.h"
#include "counter/reason.h"
#include "counter/sources.h"

#define PMU_UPROBE "uprobe"

static int explain_no_uprobes(const struct counter_sources *sources, const char *what,
			      struct error *err)
{
	struct reason_text text;

	if (sources_has_sysfs(sources))
		return error_set(
			err, -EOPNOTSUPP,
			"%s: this kernel has no uprobes (CONFIG_UPROBE_EVENTS, Linux 4.17)", what);
	reason_tell(sources, REASON_NO_SYSFS, &text);
	return error_set(err, -EOPNOTSUPP, "%s: %s, which lists the kernel's uprobes; %s", what,
			 text.reason, text.remedy);
}

int uprobe_check(const struct counter_sources *sources, const char *what, struct error *err)
{
	uint32_t type;

	if (!pmu_type(sources, PMU_UPROBE, &type))
		return explain_no_uprobes(sources, what, err);
	if (!sources_perfmon(sources))
		return error_set(err, -EACCES,
				 "%s: a uprobe needs root or CAP_PERFMON ('sudo assay …')", what);
	return 0;
}

int uprobe_fill(const struct counter_sources *sources, const char *path,
		const struct uprobe_place *place, bool is_return, struct perf_event_attr *out,
		struct error *err)
{
	uint64_t semaphore = pmu_format_bits(sources, PMU_UPROBE, "ref_ctr_offset");
	uint64_t returns = pmu_format_bits(sources, PMU_UPROBE, "retprobe");
	uint32_t type;

	if (!pmu_type(sources, PMU_UPROBE, &type))
		return explain_no_uprobes(sources, path, err);
	if (place->semaphore_off && (!semaphore || place->semaphore_off > UINT32_MAX))
		return error_set(err, -EOPNOTSUPP,
				 "%s: this kernel can't enable a static probe by its semaphore "
				 "(Linux 4.20)",
				 path);
	out->type = type;
	out->config = is_return ? returns : 0;
	if (place->semaphore_off)
		out->config |= place->semaphore_off << __builtin_ctzll(semaphore);
	out->uprobe_path = (uintptr_t)path;
	out->probe_offset = place->file_off;
	return 0;
}

const char *uprobe_scope(const struct counters *counters)
{
	for (size_t i = 0; i < counters->n; i++)
		if (counter_is_probe(&counters->data[i]))
			return "probes see the command's first thread, or the present threads of "
			       "-p: the kernel can't pass them on to later threads and processes; "
			       "with -a they see all";
	return NULL;
}

bool counters_has_probe(const struct counters *counters, size_t at)
{
	uint32_t group = counters->data[at].group;

	for (size_t i = 0; i < counters->n; i++)
		if (counter_is_probe(&counters->data[i]) &&
		    (i == at || (group && counters->data[i].group == group)))
			return true;
	return false;
}
