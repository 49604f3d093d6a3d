/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PERF_RECORD_SAMPLE, as perf_event_open(2) lays it out. */
#include <string.h>

#include "perfdata/writer.h"

/* The written fields of a sample. Our samples never have READ and STACK_USER. */
#define WRITTEN_FIELDS                                                                             \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |             \
	 PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK | \
	 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT |                  \
	 PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_REGS_INTR |                  \
	 PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP | PERF_SAMPLE_DATA_PAGE_SIZE |                 \
	 PERF_SAMPLE_CODE_PAGE_SIZE)

static void writer_sample_put_u32(struct buf *out, uint32_t v)
{
	buf_bytes(out, &v, sizeof(v));
}

static void writer_sample_put_u64(struct buf *out, uint64_t v)
{
	buf_bytes(out, &v, sizeof(v));
}

static uint16_t writer_sample_misc_of(enum cpu_mode mode)
{
	static const uint16_t modes[] = {
		[MODE_USER] = PERF_RECORD_MISC_USER,
		[MODE_KERNEL] = PERF_RECORD_MISC_KERNEL,
		[MODE_GUEST_KERNEL] = PERF_RECORD_MISC_GUEST_KERNEL,
		[MODE_GUEST_USER] = PERF_RECORD_MISC_GUEST_USER,
		[MODE_HYPERVISOR] = PERF_RECORD_MISC_HYPERVISOR,
		[MODE_UNKNOWN] = PERF_RECORD_MISC_CPUMODE_UNKNOWN,
	};

	return modes[mode];
}

/* The kernel's part behind its marker, then the user's, each innermost first. */
static void put_chain(struct buf *out, const struct sample_event *s)
{
	bool is_kernel = s->mode == MODE_KERNEL, has_user = s->n_callers > s->n_kernel;

	writer_sample_put_u64(out, 2 + s->n_callers + (is_kernel && has_user));
	writer_sample_put_u64(out, is_kernel ? PERF_CONTEXT_KERNEL : PERF_CONTEXT_USER);
	writer_sample_put_u64(out, s->ip);
	for (uint32_t i = 0; i < s->n_callers; i++) {
		if (is_kernel && i == s->n_kernel)
			writer_sample_put_u64(out, PERF_CONTEXT_USER);
		writer_sample_put_u64(out, s->callers[i]);
	}
}

/* perf needs the size and the bytes together to end at a multiple of eight. */
static void put_raw(struct buf *out, const struct sample_extra *x)
{
	uint32_t padding = (8 - (x->raw_size + 4) % 8) % 8;

	writer_sample_put_u32(out, x->raw_size + padding);
	buf_bytes(out, x->raw, x->raw_size);
	while (padding--)
		buf_u8(out, 0);
}

static void put_branches(struct buf *out, uint64_t branch_type, const struct sample_extra *x)
{
	writer_sample_put_u64(out, x->n_branches);
	if (branch_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		writer_sample_put_u64(out, UINT64_MAX); /* not known */
	buf_bytes(out, x->branches, x->n_branches * sizeof(struct branch));
}

/* Registers that the event was not opened for are left out; missing ones are 0. */
static void put_registers(struct buf *out, uint64_t mask, const struct sample_registers *r)
{
	writer_sample_put_u64(out, r->abi);
	for (uint32_t bit = 0; r->abi && bit < 64; bit++) {
		uint64_t below = r->mask & ((1ULL << bit) - 1);
		bool is_there = r->mask >> bit & 1;

		if (mask >> bit & 1)
			writer_sample_put_u64(out, is_there ? r->values[__builtin_popcountll(below)]
							    : 0);
	}
}

static void put_sample_extra(struct buf *out, const struct perf_event_attr *attr,
			     const struct sample_extra *x)
{
	uint64_t type = attr->sample_type;

	if (type & PERF_SAMPLE_RAW)
		put_raw(out, x);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		put_branches(out, attr->branch_sample_type, x);
	if (type & PERF_SAMPLE_REGS_USER)
		put_registers(out, attr->sample_regs_user, &x->user);
	if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		writer_sample_put_u64(out, x->weight);
	if (type & PERF_SAMPLE_DATA_SRC)
		writer_sample_put_u64(out, x->data_src);
	if (type & PERF_SAMPLE_TRANSACTION)
		writer_sample_put_u64(out, x->transaction);
	if (type & PERF_SAMPLE_REGS_INTR)
		put_registers(out, attr->sample_regs_intr, &x->interrupted);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		writer_sample_put_u64(out, x->phys_addr);
	if (type & PERF_SAMPLE_CGROUP)
		writer_sample_put_u64(out, x->cgroup);
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		writer_sample_put_u64(out, x->data_page_size);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		writer_sample_put_u64(out, x->code_page_size);
}

static void writer_sample_put_head(struct buf *out, uint64_t type, uint64_t id,
				   const struct event *e, const struct sample_extra *x)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		writer_sample_put_u64(out, id);
	if (type & PERF_SAMPLE_IP)
		writer_sample_put_u64(out, e->sample.ip);
	if (type & PERF_SAMPLE_TID) {
		writer_sample_put_u32(out, (uint32_t)e->pid);
		writer_sample_put_u32(out, (uint32_t)e->tid);
	}
	if (type & PERF_SAMPLE_TIME)
		writer_sample_put_u64(out, e->time_ns);
	if (type & PERF_SAMPLE_ADDR)
		writer_sample_put_u64(out, x->addr);
	if (type & PERF_SAMPLE_ID)
		writer_sample_put_u64(out, id);
	if (type & PERF_SAMPLE_STREAM_ID)
		writer_sample_put_u64(out, id);
	if (type & PERF_SAMPLE_CPU) {
		writer_sample_put_u32(out, e->cpu);
		writer_sample_put_u32(out, 0);
	}
	if (type & PERF_SAMPLE_PERIOD)
		writer_sample_put_u64(out, e->sample.period);
}

bool writer_sample(const struct perf_event_attr *attr, uint64_t id, const struct event *e,
		   struct buf *out)
{
	static const struct sample_extra nothing;
	const struct sample_extra *x = e->sample.extra ? e->sample.extra : &nothing;
	size_t start = out->len, size;
	uint16_t size16;

	if (attr->sample_type & ~(uint64_t)WRITTEN_FIELDS)
		return false;
	writer_sample_put_u32(out, PERF_RECORD_SAMPLE);
	writer_sample_put_u32(out, writer_sample_misc_of(
					   e->sample.mode)); /* the size behind it is set below */
	writer_sample_put_head(out, attr->sample_type, id, e, x);
	if (attr->sample_type & PERF_SAMPLE_CALLCHAIN)
		put_chain(out, &e->sample);
	put_sample_extra(out, attr, x);
	size = out->len - start;
	if (size > UINT16_MAX) {
		out->len = start;
		return false;
	}
	size16 = (uint16_t)size;
	memcpy(out->data + start + 6, &size16, sizeof(size16));
	return true;
}
