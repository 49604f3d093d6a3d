/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frequencies as periods.
 *
 * If the kernel samples a counter at a frequency, its first period in each thread is one event. It
 * needs a dozen interrupts to find the right period (perf_adjust_period()). 3000 short processes
 * had 5300 samples of no weight, and with copied stacks they filled the rings. For events with a
 * known rate, this search is needless. So the frequency becomes a period, as in the kernel's clocks
 * (perf_swevent_init_hrtimer()).
 */
#pragma once

#include <stdint.h>

#include "counter/counter.h"

/*
 * Finds the highest rate of events, for counters at a frequency where it can be known: for cycles,
 * the processor's highest frequency (cpuinfo_max_freq of cpufreq). If that is unknown or too low,
 * the rate is measured for a millisecond. A slower processor gives fewer samples, with the same
 * number of cycles each.
 */
void pace_find(const struct counter_sources *sources, struct counters *counters);

/* How many events, or ns of a clock, are between two samples; 0: the kernel decides. */
uint64_t pace_period(const struct counter *counter);

/* What perf_event_open(2) is given for the counter. */
struct perf_event_attr pace_attr(const struct counter *counter);
