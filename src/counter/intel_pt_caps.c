/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counter/intel_pt_caps.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "counter/intel_pt.h"
#include "counter/pmu.h"
#include "counter/sources.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#define PT_LEAF       0x14
#define FEATURES_LEAF 7
#define HAS_PT        (1U << 25) /* of EBX */

enum { EAX, EBX, ECX, EDX };

/* arch/x86/events/intel/pt.c, pt_caps[]: the file, and the place in CPUID leaf 0x14. */
struct cap_place {
	const char *key;
	uint8_t subleaf, reg;
	uint32_t mask;
};

static const struct cap_place places[] = {
	{ "cr3_filtering", 0, EBX, 1U << 0 },
	{ "psb_cyc", 0, EBX, 1U << 1 },
	{ "ip_filtering", 0, EBX, 1U << 2 },
	{ "mtc", 0, EBX, 1U << 3 },
	{ "ptwrite", 0, EBX, 1U << 4 },
	{ "power_event_trace", 0, EBX, 1U << 5 },
	{ "event_trace", 0, EBX, 1U << 7 },
	{ "tnt_disable", 0, EBX, 1U << 8 },
	{ "topa_output", 0, ECX, 1U << 0 },
	{ "topa_multiple_entries", 0, ECX, 1U << 1 },
	{ "single_range_output", 0, ECX, 1U << 2 },
	{ "num_address_ranges", 1, EAX, 0x7 },
	{ "mtc_periods", 1, EAX, 0xffff0000 },
	{ "cycle_thresholds", 1, EBX, 0xffff },
	{ "psb_periods", 1, EBX, 0xffff0000 },
};

/* Whether there is such a leaf. Of a made-up machine: what it was given. */
static bool ask_processor(const struct counter_sources *s, uint32_t leaf, uint32_t subleaf,
			  uint32_t regs[static 4])
{
	if (s && s->cpuid)
		return s->cpuid(leaf, subleaf, regs);
	if (s && s->sysfs)
		return false;
#if defined(__x86_64__) || defined(__i386__)
	return __get_cpuid_count(leaf, subleaf, &regs[EAX], &regs[EBX], &regs[ECX], &regs[EDX]);
#else
	(void)leaf, (void)subleaf, (void)regs;
	return false;
#endif
}

static bool processor_has_it(const struct counter_sources *s)
{
	uint32_t regs[4] = { 0 };

	return ask_processor(s, FEATURES_LEAF, 0, regs) && regs[EBX] & HAS_PT;
}

bool intel_pt_is_there(const struct counter_sources *sources)
{
	uint32_t type;

	return pmu_type(sources, INTEL_PT, &type) || processor_has_it(sources);
}

static bool has_driver(const struct counter_sources *s)
{
	uint32_t type;

	return pmu_type(s, INTEL_PT, &type);
}

static uint64_t value(const struct counter_sources *s, const char *key)
{
	uint32_t regs[4] = { 0 };
	uint64_t v = 0;
	char file[64];

	snprintf(file, sizeof(file), "caps/%s", key);
	if (pmu_file_number(s, INTEL_PT, file, 16, &v) || has_driver(s) || !processor_has_it(s))
		return v;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		const struct cap_place *p = &places[i];

		if (!strcmp(p->key, key) && ask_processor(s, PT_LEAF, p->subleaf, regs))
			return (regs[p->reg] & p->mask) >> __builtin_ctz(p->mask);
	}
	return 0;
}

/* The bits of a mask as "0-5" or "0,3,6,9"; 0 is always valid. */
static void intel_pt_caps_put_values(uint64_t bits, char *text, size_t size)
{
	size_t len = 0;

	bits |= 1;
	text[0] = '\0';
	for (int i = 0; i < 64 && len < size; i++) {
		int last = i;

		if (!(bits >> i & 1))
			continue;
		while (last + 1 < 64 && bits >> (last + 1) & 1)
			last++;
		len += (size_t)snprintf(text + len, size - len, "%s%d", len ? "," : "", i);
		if (last > i && len < size)
			len += (size_t)snprintf(text + len, size - len, "%c%d",
						last > i + 1 ? '-' : ',', last);
		i = last;
	}
}

struct describing {
	const struct counter_sources *sources;
	char *text;
	size_t size;
};

static void describe_cyc(const struct describing *d)
{
	char thresholds[96], periods[96];

	intel_pt_caps_put_values(value(d->sources, "cycle_thresholds"), thresholds,
				 sizeof(thresholds));
	intel_pt_caps_put_values(value(d->sources, "psb_periods"), periods, sizeof(periods));
	snprintf(d->text, d->size,
		 "each packet can have the cycles since the previous one: cyc, cyc_thresh=%s; "
		 "psb_period=%s",
		 thresholds, periods);
}

static void describe_mtc(const struct describing *d)
{
	char periods[96];

	intel_pt_caps_put_values(value(d->sources, "mtc_periods"), periods, sizeof(periods));
	snprintf(d->text, d->size,
		 "time by the crystal clock between time stamps: mtc, mtc_period=%s", periods);
}

static uint64_t n_filters(const struct counter_sources *s)
{
	uint64_t n = 0;

	if (!pmu_file_number(s, INTEL_PT, "nr_addr_filters", 10, &n))
		n = value(s, "num_address_ranges");
	return n;
}

static void describe_filters(const struct describing *d)
{
	snprintf(d->text, d->size,
		 "up to %" PRIu64 " regions of code to trace, or to stop in: --filter 'filter main "
		 "@/bin/app'",
		 n_filters(d->sources));
}

static void describe_buffers(const struct describing *d)
{
	snprintf(d->text, d->size, "%s",
		 value(d->sources, "topa_multiple_entries")
			 ? "buffers are put together of pieces and may be of any size (-m,AUXSIZE)"
			 : "a buffer is one piece of memory, of 4 MiB at the most; larger ones are "
			   "joined by interrupts, which may lose trace");
}

/*
 * X: key, title, short title for a list, purpose (or the function that gives it), effect of its
 * lack.
 */
static const struct {
	const char *key, *title, *short_title, *text;
	void (*describe)(const struct describing *d);
	const char *lack;
} rows[] = {
	{ "psb_cyc", "cycle-accurate timing", "cycle-accurate timing", NULL, describe_cyc,
	  "no cyc, no psb_period: times and instructions per cycle are coarse" },
	{ "mtc", "MTC timing packets", "MTC timing", NULL, describe_mtc,
	  "no mtc: times come with PSB packets only" },
	{ "ip_filtering", "address filters", "address filters", NULL, describe_filters,
	  "no --filter: all code is traced" },
	{ "ptwrite", "PTWRITE", "PTWRITE",
	  "programs can write values into the trace: ptw, fup_on_ptw", NULL,
	  "no ptw: programs can't write values into the trace" },
	{ "power_event_trace", "power events", "power events",
	  "changes of the core's C-state are in the trace: pwr_evt", NULL, "no pwr_evt" },
	{ "event_trace", "event trace", "event trace",
	  "interrupts and exceptions are in the trace, with their vectors: event", NULL,
	  "no event" },
	{ "tnt_disable", "trace without conditional branches", "TNT off",
	  "less trace, for call stacks alone: notnt", NULL, "no notnt" },
	{ "cr3_filtering", "filter by address space", "CR3 filter",
	  "the kernel can trace a process without switching the trace at each context switch", NULL,
	  "traces of a process are switched by software" },
	{ "topa_output", "output to memory", "memory output", NULL, describe_buffers,
	  "no trace can be written to memory: the kernel's driver does not start" },
};

static bool has_row(const struct counter_sources *s, const char *key)
{
	/* A driver's registers may be fewer than the processor's: a hypervisor, or the kernel. */
	return !strcmp(key, "ip_filtering") ? value(s, key) && n_filters(s) : value(s, key) != 0;
}

void intel_pt_each_cap(const struct counter_sources *sources,
		       void (*visit)(void *context, const struct intel_pt_cap *cap), void *context)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows) && intel_pt_is_there(sources); i++) {
		struct intel_pt_cap cap = {
			.key = rows[i].key,
			.title = rows[i].title,
			.short_title = rows[i].short_title,
			.has = has_row(sources, rows[i].key),
		};
		struct describing d = { sources, cap.text, sizeof(cap.text) };

		if (cap.has && rows[i].describe)
			rows[i].describe(&d);
		else
			snprintf(cap.text, sizeof(cap.text), "%s",
				 cap.has ? rows[i].text : rows[i].lack);
		visit(context, &cap);
	}
}

struct summing {
	const struct counter_sources *sources;
	struct buf *out;
};

static void add_to_summary(void *context, const struct intel_pt_cap *cap)
{
	struct summing *s = context;

	if (!cap->has || !strcmp(cap->key, "topa_output") || !strcmp(cap->key, "cr3_filtering"))
		return;
	buf_str(s->out, s->out->len ? ", " : "");
	if (!strcmp(cap->key, "ip_filtering"))
		buf_printf(s->out, "%" PRIu64 " ", n_filters(s->sources));
	buf_str(s->out, cap->short_title);
}

void intel_pt_summary(const struct counter_sources *sources, struct buf *out)
{
	struct summing s = { sources, out };

	intel_pt_each_cap(sources, add_to_summary, &s);
}
