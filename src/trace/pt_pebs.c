/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/pt_pebs.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/mem.h"

enum group { REGISTERS, BASIC, MEMORY, LBR_0, LBR_1, LBR_2, XMM };

enum { BASIC_IP, BASIC_COUNTERS, BASIC_TSC };
enum { MEMORY_ADDRESS, MEMORY_AUXILIARY, MEMORY_LATENCY, MEMORY_TSX };
enum { RAX = 2, RIP = 1, N_GENERAL = 24, FIRST_XMM = 32 };

/* By bit of sample_regs_intr (asm/perf_regs.h), the item and one; 0: records have it not. */
static const uint8_t item_of_register[N_GENERAL] = {
	3,         6,  4,  5,  9,  10, 8,  7,  2, 1, /* AX BX CX DX SI DI BP SP IP FLAGS */
	[16] = 11, 12, 13, 14, 15, 16, 17, 18,       /* R8 … R15; no segments */
};

static int group_of(unsigned int block)
{
	switch (block) {
	case PT_PEBS_REGISTERS:
		return REGISTERS;
	case PT_PEBS_BASIC:
		return BASIC;
	case PT_PEBS_MEMORY:
		return MEMORY;
	case PT_PEBS_LBR:
	case PT_PEBS_LBR + 1:
	case PT_PEBS_LBR + 2:
		return LBR_0 + (int)(block - PT_PEBS_LBR);
	case PT_PEBS_XMM:
		return XMM;
	default:
		return -1;
	}
}

void pt_pebs_take(struct pt_pebs *p, const struct pt_event *e)
{
	int group = group_of(e->item.group);
	unsigned int number = e->item.number;

	if (group < 0 || number >= PT_PEBS_ITEMS)
		return;
	p->has[group] |= 1u << number;
	p->items[group][number] = e->item.value;
	if (group == REGISTERS)
		p->is_32_bit = e->item.is_32_bit;
}

void pt_pebs_clear(struct pt_pebs *p)
{
	memset(p->has, 0, sizeof(p->has));
	p->is_32_bit = false;
}

static bool has(const struct pt_pebs *p, enum group group, unsigned int item)
{
	return p->has[group] >> item & 1;
}

static uint64_t get(const struct pt_pebs *p, enum group group, unsigned int item)
{
	return has(p, group, item) ? p->items[group][item] : 0;
}

/* Every code segment begins at 0, so the address is that of the instruction. */
uint64_t pt_pebs_ip(const struct pt_pebs *p)
{
	return has(p, BASIC, BASIC_IP) ? p->items[BASIC][BASIC_IP] : get(p, REGISTERS, RIP);
}

uint64_t pt_pebs_tsc(const struct pt_pebs *p)
{
	return get(p, BASIC, BASIC_TSC);
}

uint64_t pt_pebs_counters(const struct pt_pebs *p)
{
	return get(p, BASIC, BASIC_COUNTERS);
}

static bool has_branches(const struct pt_pebs *p)
{
	return p->has[LBR_0] || p->has[LBR_1] || p->has[LBR_2];
}

static void fill_registers(const struct pt_pebs *p, uint64_t wanted, struct sample_registers *out,
			   uint64_t *values)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < N_GENERAL; i++) {
		uint32_t item = item_of_register[i];

		if (!item || !(wanted >> i & 1) || !has(p, REGISTERS, item - 1))
			continue;
		out->mask |= 1ULL << i;
		values[n++] = p->items[REGISTERS][item - 1];
	}
	for (uint32_t i = 0; i < PT_PEBS_ITEMS; i++) {
		if (!(wanted >> (FIRST_XMM + i) & 1) || !has(p, XMM, i))
			continue;
		out->mask |= 1ULL << (FIRST_XMM + i);
		values[n++] = p->items[XMM][i];
	}
	out->abi = p->is_32_bit ? PERF_SAMPLE_REGS_ABI_32 : PERF_SAMPLE_REGS_ABI_64;
	out->values = values;
	out->n_values = n;
}

/* LBR_INFO_x of the SDM to the flags of perf_branch_entry. */
static uint64_t branch_flags(uint64_t info)
{
	bool mispredicted = info >> 63, in_tx = info >> 62 & 1, aborted = info >> 61 & 1;

	return mispredicted | !mispredicted << 1 | in_tx << 2 | aborted << 3 | (info & 0xffff) << 4;
}

static uint32_t fill_branches(const struct pt_pebs *p, struct branch *out)
{
	uint32_t n = 0;

	for (enum group g = LBR_0; g <= LBR_2; g++)
		for (unsigned int i = 0; i + 3 <= PT_PEBS_ITEMS && n < PT_PEBS_LBRS; i += 3)
			if ((p->has[g] >> i & 7) == 7)
				out[n++] = (struct branch){ p->items[g][i], p->items[g][i + 1],
							    branch_flags(p->items[g][i + 2]) };
	return n;
}

/*
 * Since Sapphire Rapids, the latency has two parts: of the access from bit 32 on, of the
 * instruction below. Without a latency, it is the cycles of the last block of a transaction.
 */
static uint64_t weight_of(const struct pt_pebs *p, uint64_t sample_type)
{
	uint64_t latency = get(p, MEMORY, MEMORY_LATENCY), weight = latency, of_instruction = 0;

	if (latency >> 32) {
		weight = latency >> 32 & 0xffff;
		of_instruction = latency & 0xffff;
	}
	if (!weight)
		weight = (uint32_t)get(p, MEMORY, MEMORY_TSX);
	if (sample_type & PERF_SAMPLE_WEIGHT_STRUCT)
		return (uint32_t)weight | of_instruction << 32;
	return weight;
}

/* An abort by XABORT has its code in EAX. */
static uint64_t transaction_of(const struct pt_pebs *p)
{
	uint64_t ax = get(p, REGISTERS, RAX);
	uint64_t what = get(p, MEMORY, MEMORY_TSX) >> 32 & 0xff;

	if (what & PERF_TXN_TRANSACTION && ax & 1)
		what |= (ax >> 24 & 0xff) << PERF_TXN_ABORT_SHIFT;
	return what;
}

void pt_pebs_fill(const struct pt_pebs *p, const struct perf_event_attr *attr,
		  struct sample_extra *out, struct pt_pebs_room *room)
{
	uint64_t type = attr->sample_type;

	if (type & PERF_SAMPLE_REGS_INTR && (p->has[REGISTERS] || p->has[XMM]))
		fill_registers(p, attr->sample_regs_intr, &out->interrupted, room->registers);
	if (type & PERF_SAMPLE_BRANCH_STACK && has_branches(p)) {
		out->n_branches = fill_branches(p, room->branches);
		out->branches = room->branches;
	}
	if (type & PERF_SAMPLE_ADDR)
		out->addr = get(p, MEMORY, MEMORY_ADDRESS);
	if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)) {
		out->weight = weight_of(p, type);
		out->latency = type & PERF_SAMPLE_WEIGHT ? out->weight : (uint32_t)out->weight;
	}
	if (type & PERF_SAMPLE_TRANSACTION && has(p, MEMORY, MEMORY_TSX))
		out->transaction = transaction_of(p);
}
