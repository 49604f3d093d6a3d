/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counter/foreign_trace.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"

static const struct {
	uint32_t kind;
	const char *pmu, *name; /* pmu: the beginning of its name */
} traces[] = {
	{ 2, "intel_bts", "Intel BTS" },    { 3, "cs_etm", "Arm CoreSight ETM" },
	{ 4, "arm_spe", "Arm SPE" },        { 5, NULL, "s390 CPU-measurement sampling" },
	{ 6, "hisi_ptt", "HiSilicon PTT" },
};

const char *foreign_trace_of_kind(uint32_t auxtrace_type)
{
	for (size_t i = 0; i < ARRAY_SIZE(traces); i++)
		if (traces[i].kind == auxtrace_type)
			return traces[i].name;
	return NULL;
}

const char *foreign_trace_of_pmu(const char *pmu)
{
	for (size_t i = 0; i < ARRAY_SIZE(traces); i++)
		if (traces[i].pmu && !strncmp(pmu, traces[i].pmu, strlen(traces[i].pmu)))
			return traces[i].name;
	return NULL;
}
