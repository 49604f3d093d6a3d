/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/time.h"

#include "base/mem.h"
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
static void set_anchor(struct pt_time *t, uint64_t tsc)
{
	uint64_t cycles = t->cycles - t->anchor_cycles;

	/* What CYCs made of the time may be later: it is not what the packet says. */
	if (t->anchor_tsc && cycles && tsc > t->anchor_tsc)
		t->ticks_a_cycle = (double)(tsc - t->anchor_tsc) / (double)cycles;
	t->anchor_tsc = tsc;
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
	set_anchor(t, tsc);
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

/* From here on cycles are ticks by another ratio. */
static void begin_cycles(struct pt_time *t)
{
	if (t->has_cyc)
		return;
	t->cycles_tsc = t->tsc;
	t->base_cycles = t->cycles;
}

static void estimate_cycles(struct pt_time *t)
{
	double ticks = (double)(t->tsc - t->cycles_tsc), cycles;

	if (t->has_cyc || !t->is_on || !t->clock->max_ratio || t->tsc <= t->cycles_tsc)
		return;
	cycles = ticks * t->cbr / t->clock->max_ratio + (double)t->base_cycles;
	if (cycles < 0x1p62)
		t->cycles = MAX(t->cycles, (uint64_t)cycles);
}

void pt_time_on(struct pt_time *t, bool is_on)
{
	t->is_on = is_on;
	if (is_on)
		begin_cycles(t);
}

static bool on_mtc(struct pt_time *t, uint8_t mtc)
{
	const struct pt_clock *c = t->clock;
	uint64_t tsc;
	bool moved;

	if (!t->has_tma)
		return false;
	/* Eight bits: that 256 of them are lost without a trace is beyond telling. */
	t->ctc += (uint64_t)(uint8_t)(mtc - t->last_mtc) << c->mtc_shift;
	t->last_mtc = mtc;
	tsc = t->ctc_tsc + scale(t->ctc, c->ctc_numerator, c->ctc_denominator);
	moved = set_now(t, tsc);
	set_anchor(t, tsc);
	estimate_cycles(t);
	return moved;
}

static bool on_cyc(struct pt_time *t, uint64_t cycles)
{
	double ticks = t->ticks_a_cycle;

	if (!t->has_cyc) {
		t->has_cyc = true;
		t->cycles = t->anchor_cycles = t->base_cycles = 0;
	}
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
		if (t->is_on)
			begin_cycles(t);
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

uint64_t pt_time_tsc(const struct pt_clock *clock, uint64_t time_ns)
{
	unsigned __int128 ticks;

	if (time_ns <= clock->time_zero || !clock->time_mult)
		return 0;
	ticks = (unsigned __int128)(time_ns - clock->time_zero) << (clock->time_shift & 63);
	ticks = (ticks + clock->time_mult - 1) / clock->time_mult;
	return ticks >> 64 ? UINT64_MAX : (uint64_t)ticks;
}
