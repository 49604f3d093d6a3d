/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ratios of counts: a count by another one, and the use of a processor's pipeline by the top-down
 * method (A. Yasin, "A top-down method for performance analysis and counters architecture", ISPASS
 * 2014). The events of the method have their names in sysfs (bus/event_source/devices/PMU/events),
 * and Linux's tools/perf/Documentation/topdown.txt explains them:
 *
 * Ice Lake and newer: slots, topdown-retiring, … take no general counter. From Sapphire Rapids on,
 * level 2 is there, too (topdown-heavy-ops, …).
 * Older: topdown-total-slots, … With two threads on a core, two of these events count both threads,
 * so they are for whole machines.
 *
 * Arm: stall_slot, op_spec, … in sysfs, and PMU/caps/slots. Formulas: Linux's
 * tools/perf/pmu-events/arch/arm64/sbsa.json. Those of Neoverse N2, V2, N3 and V3 are in
 * metrics.json of their folders beside it. sysfs has no names of N3's and V3's events of level 2,
 * so these processors are known by the part in /proc/cpuinfo. AMD Zen 4 and newer: "pipeline
 * utilization" of the Processor Programming Reference, as in Linux's
 * tools/perf/pmu-events/arch/x86/amdzen{4,5,6}/pipeline.json. The kernel has no names for these
 * events, so a processor is known by its family and model.
 *
 * Functions here keep no state, and threads may call them at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "collect/counts.h"

struct counter_sources;
struct topdown_formula;

/*
 * "1.31 per cycle": the relation of count `i` to another one of the same counters. False, and ""
 * in `text`, if there is none.
 */
bool ratio_print(const struct counters *counters, const struct count *values, size_t i, char *text,
		 size_t size);

/* The method of a machine. */
struct topdown {
	char *events; /* to be counted, for counter_parse() */
	const struct topdown_formula *formulas;
	double width; /* slots in a cycle: width of the pipeline by threads, 1 to 16 */
	bool is_free; /* its events take no counter from others, and are right for threads, too */
};
void topdown_fini(struct topdown *t);

/* False if this machine has none. */
bool topdown_find(const struct counter_sources *sources, struct topdown *out);

struct topdown_share {
	unsigned level; /* 1; 2: a part of the share of level 1 before it */
	const char *name;
	double share; /* of the slots: 0 to 1 */
};
#define TOPDOWN_SHARES_MAX 32

/*
 * The shares whose events were all counted. Those of level 2 have no more in all than the share of
 * level 1 before them. Returns their number.
 */
size_t topdown_shares(const struct topdown *t, const struct counters *counters,
		      const struct count *values, struct topdown_share out[TOPDOWN_SHARES_MAX]);

/* The formulas of all ratios, a line each, for help. To be freed. */
char *ratio_formulas(void);
