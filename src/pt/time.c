/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/time.h"

#include <assert.h>
#include <errno.h>

#include "base/mem.h"

/*
 * A TSC can overtake MTCs by some cycles; farther back than this it is taken as a wrap of the 56
 * bits that the packet has.
 */
#define TSC_SLIP 0x10000ULL
#define TSC_WRAP (1ULL << 56)
/* Damage that leads less far ahead is not looked for: time goes on again before long. */
#define TSC_LEAP (1ULL << 20)
/* Bytes of a PSB+, at most. */
#define PSB_PLUS 128

static uint64_t scale(uint64_t v, uint32_t numerator, uint32_t denominator)
{
	if (v <= UINT32_MAX) /* one division instead of two */
		return v * numerator / denominator;
	return v / denominator * numerator + v % denominator * numerator / denominator;
}

static void set_now(struct pt_time *t, uint64_t tsc)
{
	assert(t->clock);
	if (tsc < t->tsc)
		t->backwards++;
	else
		t->tsc = tsc;
}

static void set_anchor(struct pt_time *t)
{
	t->anchor_tsc = t->tsc;
	t->since = 0;
	t->ticks_a_cycle = 0;
}

/* From here on cycles are ticks by another ratio. */
static void begin_cycles(struct pt_time *t)
{
	if (!t->has_cyc)
		t->cycles_tsc = t->tsc;
}

/* In whole numbers, so that the sum of parts is that of the whole. */
static void estimate_cycles(struct pt_time *t)
{
	uint64_t ticks;

	if (t->has_cyc || !t->is_on || !t->clock->max_ratio || t->tsc <= t->cycles_tsc)
		return;
	if (__builtin_mul_overflow(t->tsc - t->cycles_tsc, (uint64_t)t->cbr, &ticks) ||
	    __builtin_add_overflow(t->ratio_ticks, ticks, &ticks))
		return;
	t->cycles_tsc = t->tsc;
	t->ratio_ticks = ticks;
	t->cycles = t->keeps_ticks ? ticks : ticks / t->clock->max_ratio;
}

/* Whether the payload of a TSC packet is an earlier time, by more than a slip. */
static bool is_far_behind(uint64_t payload, uint64_t tsc)
{
	uint64_t back = (tsc - payload) & (TSC_WRAP - 1);

	return back > TSC_SLIP && back < TSC_WRAP / 2;
}

bool pt_time_is_behind(const struct pt_time *t, uint64_t payload)
{
	return t->said && is_far_behind(pt_time_shift(payload, t->shift), t->said);
}

static bool on_tsc(struct pt_time *t, uint64_t payload, bool after_cyc)
{
	uint64_t tsc = (t->tsc & ~(TSC_WRAP - 1)) | payload;

	if (tsc < t->tsc && t->tsc - tsc > TSC_SLIP && t->tsc - tsc > TSC_WRAP / 2)
		tsc += TSC_WRAP;
	t->last_tsc = tsc;
	t->said = 0;
	t->has_tma = false;
	set_now(t, tsc);
	if (after_cyc || !t->anchor_tsc)
		set_anchor(t);
	estimate_cycles(t);
	return true;
}

static void on_tma(struct pt_time *t, const struct pt_packet *p)
{
	const struct pt_clock *c = t->clock;
	uint64_t below = p->payload & ((1ULL << c->mtc_shift) - 1);

	if (!c->ctc_denominator || !t->last_tsc)
		return;
	t->has_tma = t->is_first_mtc = true;
	t->last_mtc = (uint8_t)(p->payload >> c->mtc_shift);
	t->ctc = 0;
	t->ctc_tsc = t->last_tsc - p->count - scale(below, c->ctc_numerator, c->ctc_denominator);
}

/* Said again with each PSB: cycles that are not told are counted on. */
static void set_ratio(struct pt_time *t, uint32_t cbr)
{
	if (cbr == t->cbr)
		return;
	t->cbr = cbr;
	if (t->is_on)
		begin_cycles(t);
}

void pt_time_on(struct pt_time *t, bool is_on)
{
	t->is_on = is_on;
	if (is_on)
		begin_cycles(t);
}

/*
 * A TMA has 16 bits of the CTC. Where MTCs have higher ones, too, those of the MTC before are taken
 * to be such that the first one is the next.
 */
static void complete_mtc(struct pt_time *t, uint8_t mtc)
{
	unsigned int missing, shift = t->clock->mtc_shift;

	if (!t->is_first_mtc)
		return;
	t->is_first_mtc = false;
	if (shift <= 8 || shift > 16)
		return;
	missing = 1u << (16 - shift);
	t->last_mtc |= mtc & (uint8_t) ~(missing - 1);
	if (t->last_mtc >= mtc)
		t->last_mtc = (uint8_t)(t->last_mtc - missing);
}

/* The time that an MTC tells. */
static uint64_t mtc_tsc(struct pt_time *t, uint8_t mtc)
{
	const struct pt_clock *c = t->clock;

	complete_mtc(t, mtc);
	/* Eight bits: that 256 of them are lost without a trace is beyond telling. */
	t->ctc += (uint64_t)(uint8_t)(mtc - t->last_mtc) << c->mtc_shift;
	t->last_mtc = mtc;
	return t->ctc_tsc + scale(t->ctc, c->ctc_numerator, c->ctc_denominator);
}

static bool on_mtc(struct pt_time *t, uint8_t mtc, bool after_cyc)
{
	if (!t->has_tma)
		return false;
	t->repeats += !t->is_first_mtc && mtc == t->last_mtc;
	t->said = mtc_tsc(t, mtc);
	set_now(t, t->said);
	if (after_cyc)
		set_anchor(t);
	estimate_cycles(t);
	return true;
}

bool pt_time_pass_mtc(struct pt_time *t, uint8_t mtc, uint64_t before)
{
	const struct pt_clock *c = t->clock;
	uint64_t ctc = t->ctc + ((uint64_t)(uint8_t)(mtc - t->last_mtc) << c->mtc_shift), tsc;

	if (t->has_cyc || !t->has_tma || t->is_first_mtc || mtc == t->last_mtc)
		return false;
	tsc = t->ctc_tsc + scale(ctc, c->ctc_numerator, c->ctc_denominator);
	if (tsc < t->tsc || tsc >= before)
		return false;
	t->ctc = ctc;
	t->last_mtc = mtc;
	t->said = t->tsc = tsc;
	estimate_cycles(t);
	return true;
}

/* TSC ticks a cycle by the core's frequency; 0: not known. */
static double by_cbr(const struct pt_time *t, uint32_t cbr)
{
	return cbr && t->clock->max_ratio ? (double)t->clock->max_ratio / cbr : 0;
}

static bool on_cyc(struct pt_time *t, uint64_t cycles)
{
	double ticks = t->ticks_a_cycle > 0 ? t->ticks_a_cycle : by_cbr(t, t->cbr);

	if (!t->has_cyc) {
		t->has_cyc = true;
		t->cycles = 0;
	}
	t->since += cycles;
	if (t->is_on)
		t->cycles += t->keeps_ticks ? cycles * t->clock->max_ratio : cycles;
	if (ticks == 0 || !t->anchor_tsc)
		return false;
	/* In doubles as perf has it, so that it is rounded alike. */
	ticks = (double)t->anchor_tsc + (double)t->since * ticks;
	if (ticks < 0x1p63)
		set_now(t, (uint64_t)ticks);
	return true;
}

/* ---- damage ---- */

/* Where a packet leads, if that is far ahead; else 0. */
static uint64_t leap_of(const struct pt_time *t, const struct pt_packet *p)
{
	double ticks;

	if (p->type == PT_TSC) {
		uint64_t tsc = pt_time_shift(p->payload, t->shift);

		return ((tsc - t->tsc) & (TSC_WRAP - 1)) > TSC_LEAP ? tsc : 0;
	}
	if (p->payload <= TSC_LEAP)
		return 0;
	ticks = t->ticks_a_cycle > 0 ? t->ticks_a_cycle : by_cbr(t, t->cbr);
	ticks = (double)t->tsc + (double)p->payload * ticks;
	return ticks < 0x1p63 ? (uint64_t)ticks : 0;
}

uint64_t pt_time_bound(const struct pt_time *t, const struct pt_packet *p, const uint8_t *at,
		       pt_next_tsc *next, void *context)
{
	uint64_t leap = p->type == PT_TSC || p->type == PT_CYC ? leap_of(t, p) : 0, tsc;

	if (!leap || !next)
		return 0;
	tsc = next(context, at);
	return tsc && is_far_behind(tsc, leap) ? tsc : 0;
}

bool pt_time_refuse(struct pt_time *t, const struct pt_packet *p, uint64_t bound, bool is_guest)
{
	if (p->type != PT_TSC)
		return false;
	if (is_guest) {
		t->has_tma = false;
		t->last_tsc = t->said = 0;
		return false;
	}
	on_tsc(t, bound, false);
	t->last_tsc = 0; /* a TMA would count from there */
	return true;
}

/* ---- ahead ---- */

/* Packets that cycles may stand still at. */
static bool ends_ahead(const struct pt_packet *p)
{
	static const uint64_t ends = 1ULL << PT_TSC | 1ULL << PT_TMA | 1ULL << PT_TIP_PGD |
				     1ULL << PT_TRACESTOP | 1ULL << PT_EXSTOP | 1ULL << PT_MWAIT |
				     1ULL << PT_PWRE | 1ULL << PT_PWRX | 1ULL << PT_OVF;

	return ends >> p->type & 1;
}

/* A measured length that is far longer than the frequency's is none: the core slept meanwhile. */
static void set_length(struct pt_time *t, uint64_t ticks, uint64_t cycles, uint32_t cbr)
{
	double measured = (double)ticks / (double)cycles, expected = by_cbr(t, cbr);

	if (!cbr || measured <= 1.25 * expected)
		t->ticks_a_cycle = measured;
}

void pt_time_look_ahead(struct pt_time *t, const uint8_t *at, const uint8_t *end)
{
	struct pt_time ahead = *t;
	enum pt_block block = PT_NO_BLOCK;
	uint64_t cycles = 0, last = t->tsc;
	uint32_t cbr = 0;
	bool after_cyc = false;
	struct pt_packet p;
	int size;

	if (!t->has_tma)
		return;
	for (; (size = pt_packet_read(at, end, &block, &p)) > 0 && !ends_ahead(&p); at += size) {
		if (p.type == PT_PAD)
			continue;
		if (p.type == PT_CYC)
			cycles += p.payload;
		if (p.type == PT_CBR) {
			if (cbr && cbr != (p.payload & 0xff))
				return;
			cbr = p.payload & 0xff;
		}
		if (p.type == PT_MTC) {
			uint64_t tsc = mtc_tsc(&ahead, (uint8_t)p.payload);

			if (tsc < last)
				return;
			if (after_cyc) {
				if (cycles)
					set_length(t, tsc - t->tsc, cycles, cbr ? cbr : t->cbr);
				return;
			}
			last = tsc;
		}
		after_cyc = p.type == PT_CYC;
	}
}

static void scan_time_packet(struct pt_time *t, struct pt_scan *s, const struct pt_packet *p,
			     const uint8_t *behind, const uint8_t *end)
{
	uint64_t bound = pt_time_bound(t, p, behind, s->next_tsc, s->context);

	if (bound)
		pt_time_refuse(t, p, bound,
			       s->is_in_psb ? pt_time_psb_is_of_guest(behind, end, s->is_guest)
					    : s->is_guest);
	else
		pt_time_packet(t, p, s->is_after_cyc);
	if (p->type == PT_MTC && s->is_after_cyc)
		pt_time_look_ahead(t, behind, end);
}

static void scan_packet(struct pt_time *t, struct pt_scan *s, const struct pt_packet *p,
			const uint8_t *behind, const uint8_t *end)
{
	switch (p->type) {
	case PT_PSB:
		pt_time_psb(t);
		s->is_in_psb = true;
		break;
	case PT_PSBEND:
		s->is_in_psb = false;
		break;
	case PT_PIP:
		s->is_guest = p->flag;
		break;
	case PT_TIP_PGE:
		pt_time_on(t, true);
		break;
	case PT_FUP:
		if (s->is_in_psb)
			pt_time_on(t, true);
		break;
	case PT_TIP_PGD:
		pt_time_on(t, false);
		break;
	default:
		scan_time_packet(t, s, p, behind, end);
	}
	s->is_after_cyc = p->type == PT_CYC;
}

const uint8_t *pt_time_scan(struct pt_time *t, struct pt_scan *s, const uint8_t *at,
			    const uint8_t *to, const uint8_t *end)
{
	assert(at <= to && to <= end);
	while (at < to && !s->is_lost) {
		struct pt_packet p;
		int size = pt_packet_read(at, to, &s->block, &p);

		if (size == -ENODATA)
			break;
		if (size <= 0) {
			s->is_lost = true;
			break;
		}
		at += size;
		if (p.type != PT_PAD)
			scan_packet(t, s, &p, at, end);
	}
	return at;
}

bool pt_time_packet(struct pt_time *t, const struct pt_packet *p, bool after_cyc)
{
	switch (p->type) {
	case PT_TSC:
		return on_tsc(t, pt_time_shift(p->payload, t->shift), after_cyc);
	case PT_TMA:
		if (!p->flag)
			on_tma(t, p);
		return false;
	case PT_MTC:
		return on_mtc(t, (uint8_t)p->payload, after_cyc);
	case PT_CYC:
		return on_cyc(t, p->payload);
	case PT_CBR:
		set_ratio(t, p->payload & 0xff);
		return false;
	default:
		return false;
	}
}

void pt_time_psb(struct pt_time *t)
{
	t->has_tma = false;
}

void pt_time_resync(struct pt_time *t)
{
	t->has_tma = false;
	t->anchor_tsc = t->said = 0;
	t->ticks_a_cycle = 0;
}

uint64_t pt_time_of_psb(const uint8_t *at, const uint8_t *end)
{
	enum pt_block block = PT_NO_BLOCK;
	const uint8_t *psb = at;
	struct pt_packet p;
	int size;

	for (; (size = pt_packet_read(at, end, &block, &p)) > 0 && p.type != PT_PSBEND &&
	       (p.type != PT_PSB || at == psb);
	     at += size)
		if (p.type == PT_TSC)
			return p.payload;
	return 0;
}

bool pt_time_psb_is_of_guest(const uint8_t *at, const uint8_t *end, bool before)
{
	const uint8_t *last = at + MIN(end - at, PSB_PLUS);
	enum pt_block block = PT_NO_BLOCK;
	struct pt_packet p;
	int size;

	for (; at < last && (size = pt_packet_read(at, end, &block, &p)) > 0 && p.type != PT_PSBEND;
	     at += size)
		if (p.type == PT_PIP)
			return p.flag;
	return before;
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
