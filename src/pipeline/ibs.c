/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/ibs.h"

#include <string.h>

#include "base/mem.h"

#define BIT(n) (1ULL << (n))

/* The register that a rule tests, and the condition for testing it at all. */
enum where {
	FETCH_CTL,
	OP_DATA,     /* IbsOpData */
	LOAD_STORE,  /* IbsOpData3 of loads and stores */
	NORTHBRIDGE, /* IbsOpData2 of loads that missed the data cache and have a source */
};

/* The source of the data, from its register field. */
enum source { NO_SOURCE, LOCAL_L3, OTHER_CACHE, DRAM, ELSEWHERE };

enum add { ADD_ONE, ADD_FETCH_LATENCY, ADD_TAG_TO_RETIRE, ADD_COMP_TO_RETIRE, ADD_MISS_LATENCY };

struct rule {
	uint16_t code;
	uint8_t where, source, add;
	uint64_t set, clear; /* bits that must all be set, or all be clear */
	uint64_t any;        /* at least one of these bits must be set; 0: no such condition */
};

/* Bits of IbsFetchCtl. */
#define F_DONE    BIT(50)
#define F_IC_MISS BIT(51)
#define F_PHYS    BIT(52)
#define F_PAGE_0  BIT(53)
#define F_PAGE_1  BIT(54)
#define F_L1_MISS BIT(55)
#define F_L2_MISS BIT(56)
#define F_ALL     (F_DONE | F_IC_MISS | F_PHYS | F_L1_MISS | F_L2_MISS)
/* Bits of IbsOpData. */
#define O_RESYNC      BIT(32)
#define O_RETURN      BIT(34)
#define O_TAKEN       BIT(35)
#define O_MISSED      BIT(36)
#define O_BRANCH      BIT(37)
#define O_RIP_INVALID BIT(38)
/* Bits of IbsOpData2. */
#define N_REMOTE BIT(4)
#define N_OWNED  BIT(5)
/* Bits of IbsOpData3. */
#define D_LOAD     BIT(0)
#define D_STORE    BIT(1)
#define D_L1_MISS  BIT(2)
#define D_L2_MISS  BIT(3)
#define D_L1_2M    BIT(4)
#define D_L1_1G    BIT(5)
#define D_L2_2M    BIT(6)
#define D_DC_MISS  BIT(7)
#define D_MISALIGN BIT(8)
#define D_BANK_LD  BIT(9)
#define D_BANK_ST  BIT(10)
#define D_FORWARD  BIT(11)
#define D_CANCEL   BIT(12)
#define D_WC       BIT(13)
#define D_UC       BIT(14)
#define D_LOCKED   BIT(15)
#define D_MAB      BIT(16)
#define D_LINEAR   BIT(17)
#define D_L2_1G    BIT(19)

/* OProfile's derived events: code, where, source, add, set, clear, any. */
static const struct rule rules[] = {
	{ 0xf000, FETCH_CTL, 0, ADD_ONE, 0, 0, 0 },
	{ 0xf001, FETCH_CTL, 0, ADD_ONE, 0, F_ALL, 0 },
	{ 0xf002, FETCH_CTL, 0, ADD_ONE, 0, 0, F_ALL },
	{ 0xf003, FETCH_CTL, 0, ADD_ONE, F_DONE, 0, 0 },
	{ 0xf004, FETCH_CTL, 0, ADD_ONE, 0, F_DONE, 0 },
	{ 0xf005, FETCH_CTL, 0, ADD_ONE, F_PHYS, F_L1_MISS, 0 },
	{ 0xf006, FETCH_CTL, 0, ADD_ONE, F_L1_MISS, F_L2_MISS, 0 },
	{ 0xf007, FETCH_CTL, 0, ADD_ONE, F_L1_MISS | F_L2_MISS, 0, 0 },
	{ 0xf008, FETCH_CTL, 0, ADD_ONE, F_IC_MISS, 0, 0 },
	{ 0xf009, FETCH_CTL, 0, ADD_ONE, F_DONE, F_IC_MISS, 0 },
	{ 0xf00a, FETCH_CTL, 0, ADD_ONE, F_PHYS, F_PAGE_0 | F_PAGE_1, 0 },
	{ 0xf00b, FETCH_CTL, 0, ADD_ONE, F_PHYS | F_PAGE_0, F_PAGE_1, 0 },
	{ 0xf00c, FETCH_CTL, 0, ADD_ONE, F_PHYS | F_PAGE_1, F_PAGE_0, 0 },
	{ 0xf00e, FETCH_CTL, 0, ADD_FETCH_LATENCY, 0, 0, 0 },

	{ 0xf100, OP_DATA, 0, ADD_ONE, 0, 0, 0 },
	{ 0xf101, OP_DATA, 0, ADD_TAG_TO_RETIRE, 0, 0, 0 },
	{ 0xf102, OP_DATA, 0, ADD_COMP_TO_RETIRE, 0, 0, 0 },
	{ 0xf103, OP_DATA, 0, ADD_ONE, O_BRANCH, 0, 0 },
	{ 0xf104, OP_DATA, 0, ADD_ONE, O_BRANCH | O_MISSED, 0, 0 },
	{ 0xf105, OP_DATA, 0, ADD_ONE, O_BRANCH | O_TAKEN, 0, 0 },
	{ 0xf106, OP_DATA, 0, ADD_ONE, O_BRANCH | O_TAKEN | O_MISSED, 0, 0 },
	{ 0xf107, OP_DATA, 0, ADD_ONE, O_BRANCH | O_RETURN, 0, 0 },
	{ 0xf108, OP_DATA, 0, ADD_ONE, O_BRANCH | O_RETURN | O_MISSED, 0, 0 },
	{ 0xf109, OP_DATA, 0, ADD_ONE, O_RESYNC, 0, 0 },

	{ 0xf200, LOAD_STORE, 0, ADD_ONE, 0, 0, 0 },
	{ 0xf201, LOAD_STORE, 0, ADD_ONE, D_LOAD, 0, 0 },
	{ 0xf202, LOAD_STORE, 0, ADD_ONE, D_STORE, 0, 0 },
	{ 0xf203, LOAD_STORE, 0, ADD_ONE, D_LINEAR, D_L1_MISS, 0 },
	{ 0xf204, LOAD_STORE, 0, ADD_ONE, D_LINEAR | D_L1_MISS, D_L2_MISS, 0 },
	{ 0xf205, LOAD_STORE, 0, ADD_ONE, D_LINEAR | D_L1_MISS | D_L2_MISS, 0, 0 },
	{ 0xf206, LOAD_STORE, 0, ADD_ONE, D_DC_MISS, 0, 0 },
	{ 0xf207, LOAD_STORE, 0, ADD_ONE, 0, D_DC_MISS, 0 },
	{ 0xf208, LOAD_STORE, 0, ADD_ONE, D_MISALIGN, 0, 0 },
	{ 0xf209, LOAD_STORE, 0, ADD_ONE, D_BANK_LD, 0, 0 },
	{ 0xf20a, LOAD_STORE, 0, ADD_ONE, D_BANK_ST, 0, 0 },
	{ 0xf20b, LOAD_STORE, 0, ADD_ONE, D_LOAD | D_FORWARD, 0, 0 },
	{ 0xf20c, LOAD_STORE, 0, ADD_ONE, D_LOAD | D_CANCEL, 0, 0 },
	{ 0xf20d, LOAD_STORE, 0, ADD_ONE, D_UC, 0, 0 },
	{ 0xf20e, LOAD_STORE, 0, ADD_ONE, D_WC, 0, 0 },
	{ 0xf20f, LOAD_STORE, 0, ADD_ONE, D_LOCKED, 0, 0 },
	{ 0xf210, LOAD_STORE, 0, ADD_ONE, D_MAB, 0, 0 },
	{ 0xf211, LOAD_STORE, 0, ADD_ONE, D_LINEAR, D_L1_MISS | D_L1_2M | D_L1_1G, 0 },
	{ 0xf212, LOAD_STORE, 0, ADD_ONE, D_LINEAR | D_L1_2M, D_L1_MISS, 0 },
	{ 0xf213, LOAD_STORE, 0, ADD_ONE, D_LINEAR | D_L1_1G, D_L1_MISS | D_L1_2M, 0 },
	{ 0xf215, LOAD_STORE, 0, ADD_ONE, D_LINEAR | D_L1_MISS, D_L2_MISS | D_L2_2M | D_L2_1G, 0 },
	{ 0xf216, LOAD_STORE, 0, ADD_ONE, D_LINEAR | D_L1_MISS | D_L2_2M, D_L2_MISS | D_L2_1G, 0 },
	{ 0xf217, LOAD_STORE, 0, ADD_ONE, D_LINEAR | D_L1_MISS | D_L2_1G, D_L2_MISS | D_L2_2M, 0 },
	{ 0xf219, LOAD_STORE, 0, ADD_MISS_LATENCY, D_LOAD | D_DC_MISS, 0, 0 },

	{ 0xf240, NORTHBRIDGE, 0, ADD_ONE, 0, N_REMOTE, 0 },
	{ 0xf241, NORTHBRIDGE, 0, ADD_ONE, N_REMOTE, 0, 0 },
	{ 0xf242, NORTHBRIDGE, LOCAL_L3, ADD_ONE, 0, N_REMOTE, 0 },
	{ 0xf243, NORTHBRIDGE, OTHER_CACHE, ADD_ONE, 0, N_REMOTE, 0 },
	{ 0xf244, NORTHBRIDGE, OTHER_CACHE, ADD_ONE, N_REMOTE, 0, 0 },
	{ 0xf245, NORTHBRIDGE, DRAM, ADD_ONE, 0, N_REMOTE, 0 },
	{ 0xf246, NORTHBRIDGE, DRAM, ADD_ONE, N_REMOTE, 0, 0 },
	{ 0xf247, NORTHBRIDGE, ELSEWHERE, ADD_ONE, 0, N_REMOTE, 0 },
	{ 0xf248, NORTHBRIDGE, ELSEWHERE, ADD_ONE, N_REMOTE, 0, 0 },
	{ 0xf249, NORTHBRIDGE, OTHER_CACHE, ADD_ONE, 0, N_OWNED, 0 },
	{ 0xf24a, NORTHBRIDGE, OTHER_CACHE, ADD_ONE, N_OWNED, 0, 0 },
	{ 0xf24b, NORTHBRIDGE, OTHER_CACHE, ADD_MISS_LATENCY, 0, N_REMOTE, 0 },
	{ 0xf24c, NORTHBRIDGE, OTHER_CACHE, ADD_MISS_LATENCY, N_REMOTE, 0, 0 },
};

/*
 * Bits without a meaning, or with another one, in a family. Since family 17h, bits 9 to 12 of
 * IbsOpData3 are reserved, bit 16 means that no buffer was allocated, and resyncs are not reported.
 */
struct family {
	uint32_t first, last;
	uint64_t no_data1, no_data2, no_data3;
};
static const struct family families[] = {
	{ 0x10, 0x11, O_RIP_INVALID, 0, 0 },
	{ 0x12, 0x12, 0, N_REMOTE | N_OWNED, 0 },
	{ 0x14, 0x14, 0, N_REMOTE | N_OWNED, D_L1_1G | D_BANK_LD | D_BANK_ST | D_CANCEL | D_L2_1G },
	{ 0x17, UINT32_MAX, O_RESYNC, 0, D_BANK_LD | D_BANK_ST | D_FORWARD | D_CANCEL | D_MAB },
};

static const struct family *find_family(uint32_t number)
{
	static const struct family all;

	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		if (number >= families[i].first && number <= families[i].last)
			return &families[i];
	return &all;
}

enum ibs_kind ibs_kind_of(const char *ext)
{
	if (!ext)
		return IBS_NONE;
	return !strcmp(ext, "ibs_fetch") ? IBS_FETCH : !strcmp(ext, "ibs_op") ? IBS_OP : IBS_NONE;
}

bool ibs_parse(enum ibs_kind kind, const uint8_t *raw, size_t size, struct ibs_sample *out)
{
	uint64_t regs[8] = { 0 };
	size_t least = kind == IBS_FETCH ? 3 : 7, n;

	*out = (struct ibs_sample){ .kind = kind };
	if (kind == IBS_NONE || size < sizeof(out->caps) + least * sizeof(*regs))
		return false;
	n = MIN((size - sizeof(out->caps)) / sizeof(*regs), ARRAY_SIZE(regs));
	memcpy(&out->caps, raw, sizeof(out->caps));
	memcpy(regs, raw + sizeof(out->caps), n * sizeof(*regs));
	out->ctl = regs[0];
	out->address = regs[1];
	if (kind == IBS_FETCH) {
		out->physical = regs[2];
		return true;
	}
	out->data1 = regs[2];
	out->data2 = regs[3];
	out->data3 = regs[4];
	out->linear = regs[5];
	out->physical = regs[6];
	out->has_target = n > 7 && out->caps & IBS_CAPS_BRANCH_TARGET;
	out->target = out->has_target ? regs[7] : 0;
	return true;
}

bool ibs_has_address(const struct ibs_sample *s, uint32_t family)
{
	if (s->kind != IBS_OP || !(s->caps & IBS_CAPS_RIP_INVALID_CHECK))
		return true;
	return !(s->data1 & ~find_family(family)->no_data1 & O_RIP_INVALID);
}

static enum source source_of(const struct ibs_sample *s)
{
	/* The field has three bits; since Zen 4, five. */
	static const uint8_t narrow[8] = {
		[1] = LOCAL_L3, [2] = OTHER_CACHE, [3] = DRAM, [4] = OTHER_CACHE, [7] = ELSEWHERE
	};
	static const uint8_t wide[32] = {
		[1] = LOCAL_L3,  [2] = OTHER_CACHE, [3] = DRAM,      [5] = OTHER_CACHE,
		[6] = ELSEWHERE, [7] = ELSEWHERE,   [8] = ELSEWHERE, [12] = ELSEWHERE
	};
	uint64_t low = s->data2 & 7;

	if (!(s->caps & IBS_CAPS_ZEN4))
		return narrow[low];
	return wide[low | (s->data2 >> 6 & 3) << 3];
}

static const struct rule *find_rule(uint32_t code)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (rules[i].code == code)
			return &rules[i];
	return NULL;
}

/*
 * Sets *bits to the tested register, or to 0. Returns false if the rule's condition does not hold.
 */
static bool tested_register(const struct ibs_sample *s, const struct rule *r,
			    const struct family *f, uint64_t *bits)
{
	uint64_t data3 = s->data3 & ~f->no_data3;

	if ((r->where == FETCH_CTL) != (s->kind == IBS_FETCH))
		return false;
	switch (r->where) {
	case FETCH_CTL:
		*bits = s->ctl;
		return true;
	case OP_DATA:
		*bits = s->data1 & ~f->no_data1;
		return true;
	case LOAD_STORE:
		*bits = data3;
		return data3 & (D_LOAD | D_STORE);
	default:
		*bits = s->data2 & ~f->no_data2;
		return (data3 & D_LOAD) && (data3 & D_DC_MISS) && source_of(s) != NO_SOURCE;
	}
}

static uint64_t ibs_amount(const struct ibs_sample *s, enum add add)
{
	switch (add) {
	case ADD_FETCH_LATENCY:
		return s->ctl >> 32 & 0xffff;
	case ADD_TAG_TO_RETIRE:
		return s->data1 >> 16 & 0xffff;
	case ADD_COMP_TO_RETIRE:
		return s->data1 & 0xffff;
	case ADD_MISS_LATENCY:
		return s->data3 >> 32 & 0xffff;
	case ADD_ONE:
		break;
	}
	return 1;
}

bool ibs_event_exists(uint32_t code, uint32_t family)
{
	const struct family *f = find_family(family);
	const struct rule *r = find_rule(code);
	uint64_t missing;

	if (!r)
		return false;
	missing = r->where == OP_DATA       ? f->no_data1
		  : r->where == LOAD_STORE  ? f->no_data3
		  : r->where == NORTHBRIDGE ? f->no_data2
					    : 0;
	return !(r->set & missing);
}

uint64_t ibs_count(const struct ibs_sample *s, uint32_t code, uint32_t family)
{
	const struct rule *r = find_rule(code);
	uint64_t bits;

	if (!r || !tested_register(s, r, find_family(family), &bits))
		return 0;
	if ((bits & r->set) != r->set || bits & r->clear || (r->any && !(bits & r->any)) ||
	    (r->source && source_of(s) != r->source))
		return 0;
	return ibs_amount(s, r->add);
}

bool ibs_counts_cycles(uint32_t code)
{
	const struct rule *r = find_rule(code);

	return r && r->add != ADD_ONE;
}
