/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frequencies as periods.
 *
 * A counter that the kernel samples at a frequency begins with a period of one event in each
 * thread that has it, and needs a dozen interrupts to find the right one (perf_adjust_period()):
 * 3000 short processes were 5300 samples that stand for nothing, and with copied stacks they
 * filled the rings. What counts at a known rate need not be searched for: as the kernel does for
 * clocks (perf_swevent_init_hrtimer()), the frequency is made a period.
 */
#pragma once

#include <stdint.h>

#include "counter/counter.h"

/*
 * Finds how many events a second has at most, for counters at a frequency where that can be known:
 * cycles, by the processor's highest frequency (cpuinfo_max_freq of cpufreq) or, where that is not
 * told or is less, by counting for a millisecond. Samples of a processor that runs slower are
 * fewer, of as many cycles each.
 */
void pace_find(const struct counter_sources *sources, struct counters *counters);

/* How many events, or ns of a clock, are between two samples; 0: the kernel decides. */
uint64_t pace_period(const struct counter *counter);

/* What perf_event_open(2) is given for the counter. */
struct perf_event_attr pace_attr(const struct counter *counter);
