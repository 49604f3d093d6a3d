/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `--filter` of a hardware trace. Translates the words of the command line to the kernel's text,
 * with the symbols of the named files.
 */
#pragma once

#include "base/buf.h"

struct counter_sources;
struct error;

struct trace_filter_config {
	const char *pmu;                       /* "intel_pt" */
	const struct counter_sources *sources; /* NULL: this machine */
	const char *kallsyms;                  /* NULL: /proc/kallsyms */
};

/*
 * Puts what PERF_EVENT_IOC_SET_FILTER takes into `out`. -EINVAL: bad words; -ENOENT, -ENOTUNIQ:
 * symbols (with the nearest, or with all of the name); -EOPNOTSUPP, -E2BIG: more than the PMU can.
 */
int trace_filter_resolve(const struct trace_filter_config *config, const char *text,
			 struct buf *out, struct error *err);
