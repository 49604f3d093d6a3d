/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hardware traces that assay neither records nor decodes, so that it can refuse them by name. Kinds
 * are those of perf's AUXTRACE_INFO (enum auxtrace_type in Linux's tools/perf/util/auxtrace.h).
 *
 * Functions here keep no state, and threads may call them at once.
 */
#pragma once

#include <stdint.h>

/* "Arm CoreSight ETM"; NULL: no such kind, or one that assay decodes. */
const char *foreign_trace_of_kind(uint32_t auxtrace_type);

/* By the PMU that records it: "cs_etm", "arm_spe_0". NULL: it records none of them. */
const char *foreign_trace_of_pmu(const char *pmu);
