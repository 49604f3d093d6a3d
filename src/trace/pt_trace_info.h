/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a recording says of its Intel PT trace, and how much of it is decoded. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "perfdata/perfdata.h"
#include "pt/flow_config.h"

enum { AUX_INTEL_PT = 1 /* enum auxtrace_type of perf */ };

/* The facts of the trace in AUXTRACE_INFO. */
struct pt_trace_info {
	struct pt_clock clock;
	uint32_t pmu_type; /* perf_event_attr.type of its events */
	bool is_timeless, has_kernel, has_user;
	bool is_per_cpu;  /* buffers are of CPUs, not of threads */
	bool is_snapshot; /* pieces of a buffer may overlap */
	uint32_t errata;  /* of the processor: a set of enum pt_erratum */
	bool has_mtc, has_cyc, compresses_returns, traces_branches;
	bool lacks_tnt;       /* without directions of branches: only quick decoding is possible */
	bool has_event_trace; /* CFE and EVD packets; MODE.Exec has the interrupt flag */
	uint64_t config;      /* of the first of its events */
};

/* The text of the address filters in AUXTRACE_INFO, not terminated. NULL: it is not there. */
const char *pt_trace_info_filter(const struct perfdata_info *info, uint64_t *size);

/* False: the recording has no Intel PT. */
bool pt_trace_read_info(const struct perfdata *data, struct pt_trace_info *out);

enum pt_detail {
	PT_ALL_BRANCHES, /* each taken branch is an event */
	PT_CALLS,        /* calls and returns, and what the trace says of itself; faster */
	PT_NO_BRANCHES,  /* what the trace says of itself, errors, where tracing begins and ends */
};
