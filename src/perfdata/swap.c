/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfdata/swap.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/mem.h"
#include "perfdata/record.h"

#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID
#define PERF_RECORD_MISC_MMAP_BUILD_ID (1 << 14)
#endif
#ifndef PERF_FORMAT_LOST
#define PERF_FORMAT_LOST (1U << 4)
#endif

/*
 * The content between header and trailer, with a letter for each number. 2, 4 and 8 are the bytes
 * of the number. '*' means eights to the end, and 'b' means the 24 bytes of a build id. Text or
 * bytes follow.
 */
static const char *const layouts[] = {
	[PERF_RECORD_MMAP] = "44888",        [PERF_RECORD_LOST] = "88",
	[PERF_RECORD_COMM] = "44",           [PERF_RECORD_EXIT] = "44448",
	[PERF_RECORD_THROTTLE] = "888",      [PERF_RECORD_UNTHROTTLE] = "888",
	[PERF_RECORD_FORK] = "44448",        [PERF_RECORD_READ] = "44*",
	[PERF_RECORD_MMAP2] = "44888448844", [PERF_RECORD_AUX] = "888",
	[PERF_RECORD_ITRACE_START] = "44",   [PERF_RECORD_LOST_SAMPLES] = "8",
	[PERF_RECORD_SWITCH] = "",           [PERF_RECORD_SWITCH_CPU_WIDE] = "44",
	[PERF_RECORD_NAMESPACES] = "44*",    [PERF_RECORD_KSYMBOL] = "8422",
	[PERF_RECORD_BPF_EVENT] = "224",     [PERF_RECORD_CGROUP] = "8",
	[PERF_RECORD_TEXT_POKE] = "822",     [PERF_RECORD_AUX_OUTPUT_HW_ID] = "8",
	[RECORD_CALLCHAIN_DEFERRED] = "88*",
};

struct cursor {
	uint8_t *at, *end;
};

static size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

static void swap_u16(struct cursor *c)
{
	uint16_t v;

	if (cursor_left(c) < sizeof(v))
		return;
	memcpy(&v, c->at, sizeof(v));
	v = __builtin_bswap16(v);
	memcpy(c->at, &v, sizeof(v));
	c->at += sizeof(v);
}

static uint32_t swap_u32(struct cursor *c)
{
	uint32_t v;

	if (cursor_left(c) < sizeof(v))
		return 0;
	memcpy(&v, c->at, sizeof(v));
	v = __builtin_bswap32(v);
	memcpy(c->at, &v, sizeof(v));
	c->at += sizeof(v);
	return v;
}

static uint64_t swap_u64(struct cursor *c)
{
	uint64_t v;

	if (cursor_left(c) < sizeof(v))
		return 0;
	memcpy(&v, c->at, sizeof(v));
	v = __builtin_bswap64(v);
	memcpy(c->at, &v, sizeof(v));
	c->at += sizeof(v);
	return v;
}

static void swap_u64s(struct cursor *c, uint64_t n)
{
	while (n-- && cursor_left(c) >= 8)
		swap_u64(c);
}

static void swap_skip(struct cursor *c, uint64_t n)
{
	c->at += MIN(n, cursor_left(c));
}

static void swap_layout(struct cursor *c, const char *layout)
{
	for (; *layout; layout++) {
		if (*layout == '2')
			swap_u16(c);
		else if (*layout == '4')
			swap_u32(c);
		else if (*layout == '8')
			swap_u64(c);
		else if (*layout == 'b')
			swap_skip(c, 24);
		else
			swap_u64s(c, UINT64_MAX);
	}
}

/* The fields of samples and trailers, as far as `type` has them. */
static void swap_ids(struct cursor *c, uint64_t type)
{
	swap_u64s(c, !!(type & PERF_SAMPLE_ID) + !!(type & PERF_SAMPLE_STREAM_ID));
	if (type & PERF_SAMPLE_CPU) {
		swap_u32(c);
		swap_u32(c);
	}
}

static void swap_trailer(struct cursor *c, uint64_t type)
{
	if (type & PERF_SAMPLE_TID) {
		swap_u32(c);
		swap_u32(c);
	}
	swap_u64s(c, !!(type & PERF_SAMPLE_TIME));
	swap_ids(c, type);
	swap_u64s(c, !!(type & PERF_SAMPLE_IDENTIFIER));
}

static void swap_values(struct cursor *c, uint64_t format)
{
	uint64_t times = (uint64_t) !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			 !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	uint64_t each = 1 + (uint64_t) !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);

	if (format & PERF_FORMAT_GROUP) {
		uint64_t n = swap_u64(c);

		swap_u64s(c, times + MIN(n, cursor_left(c)) * each);
	} else {
		swap_u64s(c, times + each);
	}
}

/* The bit fields of perf_branch_entry: mispredicted, predicted, in_tx, abort, cycles, type … */
static void swap_branch_flags(struct cursor *c)
{
	static const uint8_t widths[] = { 1, 1, 1, 1, 16, 4, 2, 4, 3, 31 };
	uint64_t theirs, ours = 0;
	unsigned int shift = 0;

	if (cursor_left(c) < 8)
		return;
	memcpy(&theirs, c->at, 8);
	theirs = __builtin_bswap64(theirs);
	for (size_t i = 0; i < ARRAY_SIZE(widths); i++) {
		uint64_t mask = ((uint64_t)1 << widths[i]) - 1;

		ours |= (theirs >> (64 - shift - widths[i]) & mask) << shift;
		shift += widths[i];
	}
	memcpy(c->at, &ours, 8);
	c->at += 8;
}

static void swap_branches(const struct record_format *f, struct cursor *c)
{
	uint64_t n = swap_u64(c);

	if (f->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		swap_u64(c);
	for (; n && cursor_left(c) >= 24; n--) {
		swap_u64s(c, 2);
		swap_branch_flags(c);
	}
}

static void swap_registers(struct cursor *c, uint64_t mask)
{
	if (swap_u64(c))
		swap_u64s(c, (uint64_t)__builtin_popcountll(mask));
}

static void swap_sized(struct cursor *c, bool has_copied_size)
{
	uint64_t size = swap_u64(c);

	swap_skip(c, size);
	if (size && has_copied_size)
		swap_u64(c);
}

/* The fields are in the order of decode_sample() in record.c. */
static void swap_sample(const struct record_format *f, struct cursor *c)
{
	uint64_t type = f->sample_type;

	swap_u64s(c, !!(type & PERF_SAMPLE_IDENTIFIER) + !!(type & PERF_SAMPLE_IP));
	if (type & PERF_SAMPLE_TID) {
		swap_u32(c);
		swap_u32(c);
	}
	swap_u64s(c, !!(type & PERF_SAMPLE_TIME) + !!(type & PERF_SAMPLE_ADDR));
	swap_ids(c, type);
	swap_u64s(c, !!(type & PERF_SAMPLE_PERIOD));
	if (type & PERF_SAMPLE_READ)
		swap_values(c, f->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN)
		swap_u64s(c, swap_u64(c));
	if (type & PERF_SAMPLE_RAW)
		swap_skip(c, swap_u32(c));
	if (type & PERF_SAMPLE_BRANCH_STACK)
		swap_branches(f, c);
	if (type & PERF_SAMPLE_REGS_USER)
		swap_registers(c, f->regs_user);
	if (type & PERF_SAMPLE_STACK_USER)
		swap_sized(c, true);
	swap_u64s(c, !!(type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)) +
			     !!(type & PERF_SAMPLE_DATA_SRC) + !!(type & PERF_SAMPLE_TRANSACTION));
	if (type & PERF_SAMPLE_REGS_INTR)
		swap_registers(c, f->regs_intr);
	swap_u64s(c, !!(type & PERF_SAMPLE_PHYS_ADDR) + !!(type & PERF_SAMPLE_CGROUP) +
			     !!(type & PERF_SAMPLE_DATA_PAGE_SIZE) +
			     !!(type & PERF_SAMPLE_CODE_PAGE_SIZE));
	if (type & PERF_SAMPLE_AUX)
		swap_sized(c, false);
}

void record_swap(const struct record_format *f, uint8_t *record, size_t size)
{
	struct cursor c = { record, record + size }, tail;
	size_t trailer = record_trailer_size(f);
	struct perf_event_header h;
	const char *layout;

	if (size < sizeof(h))
		return;
	swap_u32(&c);
	swap_u16(&c);
	swap_u16(&c);
	memcpy(&h, record, sizeof(h));
	if (h.type == PERF_RECORD_SAMPLE) {
		swap_sample(f, &c);
		return;
	}
	if (cursor_left(&c) < trailer || h.type >= ARRAY_SIZE(layouts) || !layouts[h.type])
		return;
	c.end -= trailer;
	tail = (struct cursor){ c.end, c.end + trailer };
	layout = layouts[h.type];
	if (h.type == PERF_RECORD_MMAP2 && (h.misc & PERF_RECORD_MISC_MMAP_BUILD_ID))
		layout = "44888b44";
	swap_layout(&c, layout);
	swap_trailer(&tail, f->sample_type);
}
