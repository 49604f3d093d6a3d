/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/raw_trace.h"

#include <stdio.h>
#include <string.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "base/files/file.h"
#include "counter/intel_pt.h"
#include "counter/pmu.h"
#include "counter/sources.h"
#include "perfdata/writer.h"

/* The time fields change together: the lock is odd while they do (perf_event_open(2)). */
static void read_time(const struct perf_event_mmap_page *page, struct writer_intel_pt *out)
{
	uint32_t seq;

	do {
		seq = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
		out->time_shift = page->time_shift;
		out->time_mult = page->time_mult;
		out->time_zero = page->time_zero;
		out->has_time_zero = page->cap_user_time_zero;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (seq & 1 || seq != __atomic_load_n(&page->lock, __ATOMIC_RELAXED));
}

/* The driver gives it as "N:D"; without the driver's file, only the processor does. */
static void read_ratio(const struct counter_sources *sources, struct writer_intel_pt *out)
{
	char *path = xasprintf("%s/bus/event_source/devices/" INTEL_PT "/tsc_art_ratio",
			       sources_sysfs(sources));
	char line[64];
	uint32_t n = 0, d = 0;

	if (!file_read_line(path, line, sizeof(line)) || sscanf(line, "%u:%u", &n, &d) != 2) {
#if defined(__x86_64__) || defined(__i386__)
		uint32_t c, x;

		n = d = 0;
		__get_cpuid(0x15, &d, &n, &c, &x);
#endif
	}
	free(path);
	out->ctc_numerator = n;
	out->ctc_denominator = d;
}

static uint64_t switches_of(const struct raw_trace *t)
{
	if (t->has_switches)
		return t->is_of_whole_cpus ? 3 : 2;
	return t->has_switch_events;
}

void raw_trace_info(const struct raw_trace *t, struct buf *out)
{
	struct writer_intel_pt info = {
		.pmu_type = t->counter->attr.type,
		.tsc_bit = intel_pt_bits(t->sources, "tsc"),
		.noretcomp_bit = intel_pt_bits(t->sources, "noretcomp"),
		.mtc_bit = intel_pt_bits(t->sources, "mtc"),
		.mtc_freq_bits = intel_pt_bits(t->sources, "mtc_period"),
		.cyc_bit = intel_pt_bits(t->sources, "cyc"),
		.switches = switches_of(t),
		.is_snapshot = t->mode == AUX_SNAPSHOTS,
		.is_per_cpu = t->is_per_cpu,
		.filter = t->counter->filter,
	};
	uint64_t event_trace = 0;

	read_time(t->page, &info);
	read_ratio(t->sources, &info);
	pmu_file_number(t->sources, INTEL_PT, "max_nonturbo_ratio", 10, &info.max_nonturbo_ratio);
	pmu_file_number(t->sources, INTEL_PT, "caps/event_trace", 16, &event_trace);
	info.has_event_trace = event_trace;
	writer_intel_pt(&info, out);
	if (info.has_time_zero)
		writer_time_conversion(info.time_shift, info.time_mult, info.time_zero, out);
}

void raw_trace_cpuid(char *text, size_t size)
{
#if defined(__x86_64__) || defined(__i386__)
	uint32_t vendor[4] = { 0 }, eax = 0, b, c, d, max, family, model;

	if (__get_cpuid(0, &max, &vendor[0], &vendor[2], &vendor[1]) &&
	    __get_cpuid(1, &eax, &b, &c, &d)) {
		family = eax >> 8 & 15;
		model = eax >> 4 & 15;
		if (family == 6 || family == 15)
			model |= (eax >> 16 & 15) << 4;
		if (family == 15)
			family += eax >> 20 & 255;
		snprintf(text, size, "%s,%u,%u,%u", (const char *)vendor, family, model, eax & 15);
		return;
	}
#endif
	snprintf(text, size, "%s", "");
}
