/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfdata/attr.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "perfdata/format.h"

/*
 * In the other byte order, bit fields begin at the other end of the word: our bit i is their bit 63
 * - i. precise_ip is the only field of two bits.
 */
static uint64_t swap_flags(uint64_t theirs)
{
	uint64_t ours = 0, precise;

	theirs = __builtin_bswap64(theirs);
	for (int i = 0; i < 64; i++)
		ours |= (theirs >> (63 - i) & 1) << i;
	precise = ours >> 15 & 3;
	ours &= ~((uint64_t)3 << 15);
	return ours | (precise >> 1 | (precise & 1) << 1) << 15;
}

#define FLAGS 40 /* the offset of the bit fields */

/* The 64-bit words of an attr are swapped whole. `halves` names the words that hold two numbers. */
static void swap_attr(uint8_t *bytes, size_t size)
{
	static const uint8_t halves[] = { 0, 48, 88, 104, 112 }; /* offsets of two 32-bit numbers */

	for (size_t at = 0; at + 8 <= size; at += 8) {
		uint64_t word;

		memcpy(&word, bytes + at, 8);
		word = at == FLAGS ? swap_flags(word) : __builtin_bswap64(word);
		for (size_t i = 0; i < ARRAY_SIZE(halves); i++)
			if (at == halves[i])
				word = word >> 32 | word << 32;
		memcpy(bytes + at, &word, 8);
	}
}

bool attr_read(const void *bytes, size_t size, bool is_foreign, struct perf_event_attr *out)
{
	struct perf_event_attr attr;

	if (size < PERFDATA_FIRST_ATTR)
		return false;
	memset(&attr, 0, sizeof(attr));
	memcpy(&attr, bytes, MIN(size, sizeof(attr)));
	if (is_foreign) {
		uint16_t max_stack;

		swap_attr((uint8_t *)&attr, sizeof(attr));
		/* two 16-bit numbers: the first is now in the high half */
		max_stack = attr.__reserved_2;
		attr.__reserved_2 = attr.sample_max_stack;
		attr.sample_max_stack = max_stack;
	}
	*out = attr;
	return true;
}

static const char *const hardware_names[] = {
	"cycles",
	"instructions",
	"cache-references",
	"cache-misses",
	"branches",
	"branch-misses",
	"bus-cycles",
	"stalled-cycles-frontend",
	"stalled-cycles-backend",
	"ref-cycles",
};
static const char *const software_names[] = {
	"cpu-clock",        "task-clock",   "page-faults",  "context-switches",
	"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
	"emulation-faults", "dummy",        "bpf-output",   "cgroup-switches",
};
static const char *const cache_names[] = { "L1-dcache", "L1-icache", "LLC", "dTLB",
					   "iTLB",      "branch",    "node" };
static const char *const operation_names[] = { "load", "store", "prefetch" };

static void cache_name(uint64_t config, struct buf *out)
{
	uint64_t cache = config & 0xff, operation = config >> 8 & 0xff, result = config >> 16;

	if (cache >= ARRAY_SIZE(cache_names) || operation >= ARRAY_SIZE(operation_names) ||
	    result > 1)
		buf_printf(out, "unknown cache event 0x%" PRIx64, config);
	else if (result)
		buf_printf(out, "%s-%s-misses", cache_names[cache], operation_names[operation]);
	else
		buf_printf(out, "%s-%s%s", cache_names[cache], operation_names[operation],
			   operation == 2 ? "es" : "s");
}

static void attr_base_name(const struct perf_event_attr *a, const char *pmu, struct buf *out)
{
	switch (a->type) {
	case PERF_TYPE_HARDWARE:
		if (a->config < ARRAY_SIZE(hardware_names))
			buf_str(out, hardware_names[a->config]);
		else
			buf_printf(out, "unknown hardware event %" PRIu64, (uint64_t)a->config);
		break;
	case PERF_TYPE_SOFTWARE:
		if (a->config < ARRAY_SIZE(software_names))
			buf_str(out, software_names[a->config]);
		else
			buf_printf(out, "unknown software event %" PRIu64, (uint64_t)a->config);
		break;
	case PERF_TYPE_HW_CACHE:
		cache_name(a->config, out);
		break;
	case PERF_TYPE_TRACEPOINT:
		buf_printf(out, "tracepoint %" PRIu64, (uint64_t)a->config);
		break;
	case PERF_TYPE_RAW:
		buf_printf(out, "raw 0x%" PRIx64, (uint64_t)a->config);
		break;
	case PERF_TYPE_BREAKPOINT:
		buf_printf(out, "mem:0x%" PRIx64, (uint64_t)a->bp_addr);
		break;
	default:
		if (pmu)
			buf_printf(out, "%s/config=0x%" PRIx64 "/", pmu, (uint64_t)a->config);
		else
			buf_printf(out, "event 0x%" PRIx64 " of PMU %u", (uint64_t)a->config,
				   a->type);
	}
}

/* perf's name shows the counted modes if a mode is excluded, and the precision. */
static void put_modifiers(const struct perf_event_attr *a, struct buf *out)
{
	char text[16];
	size_t n = 0;
	bool guest_is_excluded = false;

	if (a->exclude_kernel || a->exclude_user || a->exclude_hv) {
		if (!a->exclude_kernel)
			text[n++] = 'k';
		if (!a->exclude_user)
			text[n++] = 'u';
		if (!a->exclude_hv)
			text[n++] = 'h';
		guest_is_excluded = true;
	}
	for (unsigned int i = 0; i < a->precise_ip; i++)
		text[n++] = 'p';
	guest_is_excluded |= a->precise_ip > 0;
	if (a->exclude_host || a->exclude_guest == guest_is_excluded) {
		if (!a->exclude_host)
			text[n++] = 'H';
		if (!a->exclude_guest)
			text[n++] = 'G';
	}
	if (n)
		buf_printf(out, ":%.*s", (int)n, text);
}

void attr_name(const struct perf_event_attr *attr, const char *pmu, struct buf *out)
{
	attr_base_name(attr, pmu, out);
	if (attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_SOFTWARE ||
	    attr->type == PERF_TYPE_HW_CACHE || attr->type == PERF_TYPE_RAW)
		put_modifiers(attr, out);
}

const char *attr_unit(const struct perf_event_attr *attr)
{
	bool is_clock =
		attr->type == PERF_TYPE_SOFTWARE && (attr->config == PERF_COUNT_SW_CPU_CLOCK ||
						     attr->config == PERF_COUNT_SW_TASK_CLOCK);

	return is_clock ? "ns" : "events";
}

bool attr_defers_chains(const struct perf_event_attr *attr)
{
	uint64_t flags;

	memcpy(&flags, (const char *)attr + FLAGS, sizeof(flags));
	return flags >> 38 & 1;
}
