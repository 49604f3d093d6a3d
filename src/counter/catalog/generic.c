/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events that the kernel names itself: perf_event_open(2), "type" and
 * "config". Names and aliases are those that perf's users know.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "counter/catalog/catalog.h"
#include "counter/draft.h"

struct generic_event {
	const char *name, *alias;
	uint32_t type;
	uint64_t config;
	bool in_kernel;
	const char *help;
};

#define HW(id) PERF_TYPE_HARDWARE, PERF_COUNT_HW_##id, false
#define SW(id) PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##id, false
/* The kernel takes these with its own registers, so user mode alone counts none of them. */
#define KERNEL_SW(id) PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##id, true

static const struct generic_event events[] = {
	{ "cycles", "cpu-cycles", HW(CPU_CYCLES), "processor cycles, not while halted" },
	{ "instructions", NULL, HW(INSTRUCTIONS), "instructions retired" },
	{ "cache-references", NULL, HW(CACHE_REFERENCES), "accesses to the last-level cache" },
	{ "cache-misses", NULL, HW(CACHE_MISSES), "misses of the last-level cache" },
	{ "branches", "branch-instructions", HW(BRANCH_INSTRUCTIONS), "branches retired" },
	{ "branch-misses", NULL, HW(BRANCH_MISSES), "branches predicted wrongly" },
	{ "bus-cycles", NULL, HW(BUS_CYCLES), "cycles of the bus clock" },
	{ "stalled-cycles-frontend", "idle-cycles-frontend", HW(STALLED_CYCLES_FRONTEND),
	  "cycles without an instruction to issue" },
	{ "stalled-cycles-backend", "idle-cycles-backend", HW(STALLED_CYCLES_BACKEND),
	  "cycles waiting for a result" },
	{ "ref-cycles", NULL, HW(REF_CPU_CYCLES), "cycles at constant frequency" },
	{ "cpu-clock", NULL, SW(CPU_CLOCK), "timer of the processor, in nanoseconds" },
	{ "task-clock", NULL, SW(TASK_CLOCK), "time that a task ran, in nanoseconds" },
	{ "page-faults", "faults", SW(PAGE_FAULTS), "page faults" },
	{ "minor-faults", NULL, SW(PAGE_FAULTS_MIN), "page faults served from memory" },
	{ "major-faults", NULL, SW(PAGE_FAULTS_MAJ), "page faults served from a disk" },
	{ "context-switches", "cs", KERNEL_SW(CONTEXT_SWITCHES), "switches to another task" },
	{ "cpu-migrations", "migrations", KERNEL_SW(CPU_MIGRATIONS), "moves to another CPU" },
	{ "cgroup-switches", NULL, KERNEL_SW(CGROUP_SWITCHES), "switches to another cgroup" },
	{ "alignment-faults", NULL, SW(ALIGNMENT_FAULTS), "unaligned accesses, mended" },
	{ "emulation-faults", NULL, SW(EMULATION_FAULTS), "instructions emulated" },
	{ "dummy", NULL, SW(DUMMY), "nothing; carries the side-band records" },
};

/* The words of a cache event, perf's spellings: CACHE[-OPERATION][-RESULT]. */
struct spelling {
	const char *text;
	uint32_t value;
};

#define CACHE(id) PERF_COUNT_HW_CACHE_##id
static const struct spelling caches[] = {
	{ "L1-dcache", CACHE(L1D) }, { "L1-d", CACHE(L1D) },      { "L1d", CACHE(L1D) },
	{ "L1-data", CACHE(L1D) },   { "L1-icache", CACHE(L1I) }, { "L1-i", CACHE(L1I) },
	{ "L1i", CACHE(L1I) },       { "LLC", CACHE(LL) },        { "L2", CACHE(LL) },
	{ "dTLB", CACHE(DTLB) },     { "d-tlb", CACHE(DTLB) },    { "Data-TLB", CACHE(DTLB) },
	{ "iTLB", CACHE(ITLB) },     { "i-tlb", CACHE(ITLB) },    { "branch", CACHE(BPU) },
	{ "branches", CACHE(BPU) },  { "bpu", CACHE(BPU) },       { "btb", CACHE(BPU) },
	{ "node", CACHE(NODE) },
};
static const struct spelling operations[] = {
	{ "loads", CACHE(OP_READ) },          { "load", CACHE(OP_READ) },
	{ "read", CACHE(OP_READ) },           { "stores", CACHE(OP_WRITE) },
	{ "store", CACHE(OP_WRITE) },         { "write", CACHE(OP_WRITE) },
	{ "prefetches", CACHE(OP_PREFETCH) }, { "prefetch", CACHE(OP_PREFETCH) },
};
static const struct spelling results[] = {
	{ "misses", CACHE(RESULT_MISS) }, { "miss", CACHE(RESULT_MISS) },
	{ "refs", CACHE(RESULT_ACCESS) }, { "access", CACHE(RESULT_ACCESS) },
	{ "ops", CACHE(RESULT_ACCESS) },
};

/* The names to list, and which operations a cache has: code is not stored to, by any processor. */
struct cache_row {
	const char *name;
	uint32_t cache;
	uint32_t operations; /* bit per PERF_COUNT_HW_CACHE_OP_* */
};
static const struct cache_row cache_rows[] = {
	{ "L1-dcache", CACHE(L1D), 7 }, { "L1-icache", CACHE(L1I), 5 }, { "LLC", CACHE(LL), 7 },
	{ "dTLB", CACHE(DTLB), 7 },     { "iTLB", CACHE(ITLB), 1 },     { "branch", CACHE(BPU), 1 },
	{ "node", CACHE(NODE), 7 },
};

static void draft_generic(struct draft *out, uint32_t type, uint64_t config)
{
	memset(out, 0, sizeof(*out));
	out->attr.type = type;
	out->attr.config = config;
	out->is_core = type != PERF_TYPE_SOFTWARE;
}

/* The longest spelling that `text` begins with, ended by '-' or the end. */
static const struct spelling *match(const struct spelling *rows, size_t n, const char *text)
{
	const struct spelling *best = NULL;

	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(rows[i].text);

		if (strncasecmp(rows[i].text, text, len) || (text[len] && text[len] != '-'))
			continue;
		if (!best || len > strlen(best->text))
			best = &rows[i];
	}
	return best;
}

static bool cache_has(uint32_t cache, uint32_t operation)
{
	for (size_t i = 0; i < ARRAY_SIZE(cache_rows); i++)
		if (cache_rows[i].cache == cache)
			return cache_rows[i].operations >> operation & 1;
	return false;
}

static int cache_find(const char *name, struct draft *out)
{
	const struct spelling *cache = match(caches, ARRAY_SIZE(caches), name);
	const struct spelling *operation = NULL, *result = NULL;
	uint32_t op, res;

	if (!cache)
		return 0;
	for (name += strlen(cache->text); *name == '-';) {
		const struct spelling *o = match(operations, ARRAY_SIZE(operations), name + 1);
		const struct spelling *r = match(results, ARRAY_SIZE(results), name + 1);

		if ((!o && !r) || (o && operation) || (r && result))
			return 0;
		name += 1 + strlen(o ? o->text : r->text);
		operation = o ? o : operation;
		result = r ? r : result;
	}
	op = operation ? operation->value : CACHE(OP_READ);
	res = result ? result->value : CACHE(RESULT_ACCESS);
	if (!cache_has(cache->value, op))
		return 0;
	draft_generic(out, PERF_TYPE_HW_CACHE, cache->value | op << 8 | res << 16);
	return 1;
}

int generic_find(const char *name, struct draft *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		const struct generic_event *e = &events[i];

		if (strcasecmp(e->name, name) && (!e->alias || strcasecmp(e->alias, name)))
			continue;
		draft_generic(out, e->type, e->config);
		return 1;
	}
	return cache_find(name, out);
}

bool attr_in_kernel(const struct perf_event_attr *attr)
{
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		if (events[i].type == attr->type && events[i].config == attr->config)
			return events[i].in_kernel;
	return attr->type == PERF_TYPE_TRACEPOINT;
}

bool attr_has_modes(const struct perf_event_attr *attr)
{
	return attr->exclude_user || attr->exclude_kernel || attr->exclude_hv;
}

/* rNNN: the raw code of the processor's manual, 1 to 16 hex digits. */
int raw_find(const char *name, struct draft *out)
{
	size_t digits = strlen(name) - 1;

	if (name[0] != 'r' || digits < 1 || digits > 16)
		return 0;
	for (const char *at = name + 1; *at; at++)
		if (!isxdigit((unsigned char)*at))
			return 0;
	draft_generic(out, PERF_TYPE_RAW, strtoull(name + 1, NULL, 16));
	return 1;
}

static void each_cache(event_visitor visit, void *ctx)
{
	static const char *const suffixes[][2] = {
		{ "loads", "load-misses" },
		{ "stores", "store-misses" },
		{ "prefetches", "prefetch-misses" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cache_rows); i++) {
		for (size_t op = 0; op < ARRAY_SIZE(suffixes); op++) {
			for (size_t r = 0; r < 2 && cache_rows[i].operations >> op & 1; r++) {
				char *name =
					xasprintf("%s-%s", cache_rows[i].name, suffixes[op][r]);

				visit(ctx, &(struct event_name){
						   .kind = EVENT_CACHE, .name = name, .help = "" });
				free(name);
			}
		}
	}
}

void generic_each(event_visitor visit, void *ctx)
{
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		visit(ctx, &(struct event_name){
				   .kind = events[i].type == PERF_TYPE_SOFTWARE ? EVENT_SOFTWARE
										: EVENT_HARDWARE,
				   .name = events[i].name,
				   .alias = events[i].alias,
				   .help = events[i].help,
			   });
	each_cache(visit, ctx);
}
