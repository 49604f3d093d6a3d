/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hardware trace's description in its perf.data: from sysfs, processor and ring's page. */
#pragma once

#include "base/buf.h"
#include "collect/aux.h"
#include "counter/counter.h"

struct raw_trace {
	const struct counter *counter;
	const struct counter_sources *sources;
	enum aux_mode mode;
	bool is_per_cpu;        /* areas of CPUs, not of threads */
	bool is_of_whole_cpus;  /* areas, and switches, of all threads there */
	bool has_switches;      /* SWITCH records */
	bool has_switch_events; /* sched_switch's samples instead */
	const struct perf_event_mmap_page *page;
};

/* AUXTRACE_INFO, and TIME_CONV if the kernel gives it. */
void raw_trace_info(const struct raw_trace *t, struct buf *out);

/* "GenuineIntel,6,94,3" */
void raw_trace_cpuid(char *text, size_t size);
