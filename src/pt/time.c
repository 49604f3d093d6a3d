/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/time.h"

#include "pt/packet.h"

/*
 * A TSC can overtake MTCs by some cycles; farther back than this it is taken as a wrap of the 56
 * bits that the packet has.
 */
#define TSC_SLIP 0x10000ULL
#define TSC_WRAP (1ULL << 56)

static uint64_t scale(uint64_t v, uint32_t numerator, uint32_t denominator)
{
	return v / denominator * numerator + v % denominator * numerator / denominator;
}

static bool set_now(struct pt_time *t, uint64_t tsc)
{
	if (tsc < t->tsc) {
		t->backwards++;
		return false;
	}
	t->tsc = tsc;
	return true;
}

/* Between two anchors the length of a cycle is measured. */
static void set_anchor(struct pt_time *t)
{
	uint64_t cycles = t->cycles - t->anchor_cycles;

	if (t->anchor_tsc && cycles && t->tsc > t->anchor_tsc)
		t->ticks_a_cycle = (double)(t->tsc - t->anchor_tsc) / (double)cycles;
	t->anchor_tsc = t->tsc;
	t->anchor_cycles = t->cycles;
}

static bool on_tsc(struct pt_time *t, uint64_t payload)
{
	uint64_t tsc = (t->tsc & ~(TSC_WRAP - 1)) | payload;
	bool moved;

	if (tsc < t->tsc && t->tsc - tsc > TSC_SLIP && t->tsc - tsc > TSC_WRAP / 2)
		tsc += TSC_WRAP;
	t->last_tsc = tsc;
	t->has_tma = false;
	moved = set_now(t, tsc);
	set_anchor(t);
	return moved;
}

static void on_tma(struct pt_time *t, const struct pt_packet *p)
{
	const struct pt_clock *c = t->clock;
	uint64_t below = p->payload & ((1ULL << c->mtc_shift) - 1);

	if (!c->ctc_denominator || !t->last_tsc)
		return;
	t->has_tma = true;
	t->last_mtc = (uint8_t)(p->payload >> c->mtc_shift);
	t->ctc = 0;
	t->ctc_tsc = t->last_tsc - p->count - scale(below, c->ctc_numerator, c->ctc_denominator);
}

static bool on_mtc(struct pt_time *t, uint8_t mtc)
{
	const struct pt_clock *c = t->clock;
	bool moved;

	if (!t->has_tma)
		return false;
	/* Eight bits: that 256 of them are lost without a trace is beyond telling. */
	t->ctc += (uint64_t)(uint8_t)(mtc - t->last_mtc) << c->mtc_shift;
	t->last_mtc = mtc;
	moved = set_now(t, t->ctc_tsc + scale(t->ctc, c->ctc_numerator, c->ctc_denominator));
	set_anchor(t);
	return moved;
}

static bool on_cyc(struct pt_time *t, uint64_t cycles)
{
	double ticks = t->ticks_a_cycle;

	t->cycles += cycles;
	if (ticks == 0 && t->cbr && t->clock->max_ratio)
		ticks = (double)t->clock->max_ratio / t->cbr;
	if (ticks == 0 || !t->anchor_tsc)
		return false;
	ticks *= (double)(t->cycles - t->anchor_cycles);
	return ticks < 0x1p62 && set_now(t, t->anchor_tsc + (uint64_t)ticks);
}

bool pt_time_packet(struct pt_time *t, const struct pt_packet *p)
{
	switch (p->type) {
	case PT_TSC:
		return on_tsc(t, p->payload);
	case PT_TMA:
		on_tma(t, p);
		return false;
	case PT_MTC:
		return on_mtc(t, (uint8_t)p->payload);
	case PT_CYC:
		return on_cyc(t, p->payload);
	case PT_CBR:
		if (t->cbr != (p->payload & 0xff))
			t->ticks_a_cycle = 0;
		t->cbr = p->payload & 0xff;
		return false;
	default:
		return false;
	}
}

void pt_time_resync(struct pt_time *t)
{
	t->has_tma = false;
	t->anchor_tsc = 0;
	t->anchor_cycles = t->cycles;
	t->ticks_a_cycle = 0;
}

uint64_t pt_time_ns(const struct pt_clock *clock, uint64_t tsc)
{
	uint64_t below = tsc & ((1ULL << clock->time_shift) - 1);

	return clock->time_zero + (tsc >> clock->time_shift) * clock->time_mult +
	       (below * clock->time_mult >> clock->time_shift);
}
