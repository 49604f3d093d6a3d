/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counter/pace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files/file.h"
#include "counter/draft.h"
#include "counter/sources.h"

/* A processor that slept is at its full frequency within some of these. */
#define N_WINDOWS 10
#define WINDOW_NS 100000

/* IBS takes no other periods (perf_ibs_init()). */
#define PERIOD_STEP 16

static bool is_cycles(const struct counter *c)
{
	/* Above 32 bits: the PMU of a machine with cores of several kinds. */
	return c->attr.type == PERF_TYPE_HARDWARE &&
	       (uint32_t)c->attr.config == PERF_COUNT_HW_CPU_CYCLES;
}

static uint64_t highest_frequency(const struct counter_sources *sources, const struct counter *c)
{
	char path[PATH_MAX], line[32];

	snprintf(path, sizeof(path), "%s/devices/system/cpu/cpu%lu/cpufreq/cpuinfo_max_freq",
		 sources_sysfs(sources), c->cpus ? strtoul(c->cpus, NULL, 10) : 0);
	return file_read_line(path, line, sizeof(line)) ? strtoull(line, NULL, 10) * 1000 : 0;
}

/* In one window of time; 0 where there was none in that the counter counted. */
static uint64_t count_window(int fd)
{
	uint64_t before, after, start = clock_monotonic_ns(), end = start;

	if (read(fd, &before, sizeof(before)) != sizeof(before))
		return 0;
	while (end - start < WINDOW_NS)
		end = clock_monotonic_ns();
	if (read(fd, &after, sizeof(after)) != sizeof(after))
		return 0;
	/* Interrupted for long, it says little. */
	return end - start < 2 * WINDOW_NS ? (after - before) * NS_PER_SECOND / (end - start) : 0;
}

static uint64_t count_a_second(const struct counter_sources *sources, const struct counter *c)
{
	struct perf_event_attr a = { .type = c->attr.type,
				     .config = c->attr.config,
				     .exclude_kernel = c->attr.exclude_kernel,
				     .exclude_hv = c->attr.exclude_hv };
	uint64_t most = 0;
	int fd;

	if (sources && sources->sysfs) /* another machine's */
		return 0;
	fd = sources_open(sources, &a, 0, -1);
	if (fd < 0)
		return 0;
	for (int i = 0; i < N_WINDOWS; i++)
		most = MAX(most, count_window(fd));
	close(fd);
	return most;
}

void pace_find(const struct counter_sources *sources, struct counters *counters)
{
	vec_foreach (counters, c)
		if (c->attr.freq && is_cycles(c) && !c->ext)
			c->per_second =
				MAX(highest_frequency(sources, c), count_a_second(sources, c));
}

uint64_t pace_period(const struct counter *c)
{
	uint64_t per_second = attr_is_clock(&c->attr) ? NS_PER_SECOND : c->per_second, period;

	if (!c->attr.freq)
		return c->attr.sample_period;
	period = per_second / c->attr.sample_freq;
	return attr_is_clock(&c->attr) ? MAX(period, UINT64_C(1))
				       : period / PERIOD_STEP * PERIOD_STEP;
}

struct perf_event_attr pace_attr(const struct counter *c)
{
	struct perf_event_attr a = c->attr;

	/* A clock's is made a period by the kernel. */
	if (a.freq && c->per_second && pace_period(c)) {
		a.freq = 0;
		a.sample_period = pace_period(c);
	}
	return a;
}
