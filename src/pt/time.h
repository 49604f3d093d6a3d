/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time in an Intel PT trace, in TSC ticks. At a TSC packet it is exact. At an MTC it comes from the
 * ratio of the crystal clock (CTC), with TMA as its anchor. At a CYC it comes from the cycles since
 * the first TSC, or since the last TSC or MTC with a count of cycles. The source is the SDM, volume
 * 3, "Tracking time", and perf's reading of it. Time never goes back.
 *
 *     CYC MTC ···· CYC ···· CYC ···· CYC MTC       how long a cycle is, is measured beforehand, up
 *         anchor   └───────────────────┘ ahead     to the next such MTC; else CBR tells it
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "pt/packet.h"

/* What the recording says of its clocks (perf's AUXTRACE_INFO). Zeros: not known. */
struct pt_clock {
	uint32_t ctc_numerator, ctc_denominator; /* TSC ticks a CTC tick */
	uint32_t mtc_shift;                      /* an MTC each 2^shift CTC ticks */
	uint32_t max_ratio;                      /* TSC frequency over bus frequency */
	uint16_t time_shift;                     /* perf time: see pt_time_ns() */
	uint32_t time_mult;
	uint64_t time_zero;
};

struct pt_time {
	const struct pt_clock *clock;
	uint64_t tsc;       /* now; 0 before the first TSC */
	uint64_t last_tsc;  /* of the last TSC packet */
	uint64_t shift;     /* what is added to TSC packets (pt_time_shift()); set by the caller */
	uint64_t cycles;    /* counted by CYCs, in all; without these, estimated at MTCs */
	uint64_t backwards; /* packets that said an earlier time; they are not followed */
	uint64_t repeats; /* MTCs that were the same as the one before: no processor writes them */
	uint64_t said;    /* by an MTC since the last TSC, also if time does not go back; 0: none */
	uint32_t cbr;
	/* From here on: the estimate between TSCs. */
	bool has_tma;
	bool is_first_mtc; /* the next one is, since the TMA */
	uint8_t last_mtc;
	uint64_t ctc_tsc;     /* at the MTC boundary before the TMA */
	uint64_t ctc;         /* CTC ticks since there, at the last MTC */
	uint64_t anchor_tsc;  /* 0: none yet */
	uint64_t since;       /* cycles, traced or not, since the anchor */
	double ticks_a_cycle; /* from the anchor on; 0: CBR's */
	/* Cycles by MTCs and the core's frequency, where there are no CYCs. */
	bool has_cyc, is_on;
	bool keeps_ticks; /* `cycles` is ratio_ticks where there are no CYCs; set by the caller */
	uint64_t cycles_tsc;  /* a time, … */
	uint64_t ratio_ticks; /* … and ticks × CBR by then: cycles are a max_ratio-th of it */
};

/*
 * Follows a TSC, TMA, MTC, CYC or CBR packet; true when it told the time. Others change nothing.
 * `after_cyc`: the packet before it was a CYC.
 */
bool pt_time_packet(struct pt_time *t, const struct pt_packet *p, bool after_cyc);

/*
 * Follows an MTC that is an ordinary one, and whose time is earlier than `before`. False: nothing
 * has changed, and pt_time_packet() follows it. Most time packets are ordinary MTCs.
 */
bool pt_time_pass_mtc(struct pt_time *t, uint8_t mtc, uint64_t before);

/*
 * Looks ahead in the trace of the decoder that asks: the TSC of the next PSB+ behind `at` that has
 * one; 0: none is near.
 */
typedef uint64_t pt_next_tsc(void *context, const uint8_t *at);

/*
 * Whether a TSC or CYC packet at `at` is damaged: it leads far ahead, and the next PSB+ is earlier
 * than that. Time that followed it would stand still from there on. Returns the TSC of that PSB+;
 * 0: the packet is believed, as all are if `next` is NULL.
 */
uint64_t pt_time_bound(const struct pt_time *t, const struct pt_packet *p, const uint8_t *at,
		       pt_next_tsc *next, void *context);

/*
 * In the place of pt_time_packet(), for such a packet. A TSC becomes the bound, and a CYC does not
 * count. In a guest, whose TSC may have an offset, neither counts. True: it told the time.
 */
bool pt_time_refuse(struct pt_time *t, const struct pt_packet *p, uint64_t bound, bool is_guest);

/*
 * Whether a TSC packet with this payload is far behind the MTC before. Then an MTC was wrong, as
 * packets are missing, or are there twice.
 */
bool pt_time_is_behind(const struct pt_time *t, uint64_t payload);

/* Behind an MTC that came after a CYC: how long a cycle is from here on, by the bytes that follow.
 */
void pt_time_look_ahead(struct pt_time *t, const uint8_t *at, const uint8_t *end);

/* Where a scan stands between two calls. Zeros: outside of all blocks. */
struct pt_scan {
	enum pt_block block;
	bool is_in_psb, is_after_cyc;
	bool is_guest; /* by the last PIP */
	bool is_lost;  /* at bytes that are no packet: a PSB is needed to go on, and false here */
	pt_next_tsc *next_tsc; /* see pt_time_bound() */
	void *context;
};

/*
 * Follows all packets up to `to` for their time alone. Then *t is the time of a decoder there. The
 * buffer goes on up to `end`. Returns the end of the last packet. It is before `to` if a packet
 * does not end before `end`, or if the scan is lost.
 */
const uint8_t *pt_time_scan(struct pt_time *t, struct pt_scan *s, const uint8_t *at,
			    const uint8_t *to, const uint8_t *end);

/* Tracing is enabled, or no more: cycles are counted only while it is. */
void pt_time_on(struct pt_time *t, bool is_on);

/* Forget the state that a PSB makes invalid, and that missing bytes make invalid. */
void pt_time_psb(struct pt_time *t);
void pt_time_resync(struct pt_time *t);

/* The TSC of the PSB+ at `at`; 0: it has none. */
uint64_t pt_time_of_psb(const uint8_t *at, const uint8_t *end);

/*
 * Whether a PSB+ is of a guest, by its PIP. `at` is the PSB, or a later packet of the PSB+.
 * `before`: the answer of a PIP before `at`.
 */
bool pt_time_psb_is_of_guest(const uint8_t *at, const uint8_t *end, bool before);

/* A TSC with so much added: it has 56 bits. */
static inline uint64_t pt_time_shift(uint64_t tsc, uint64_t shift)
{
	return (tsc + shift) & ((1ULL << 56) - 1);
}

/* perf's time of a TSC value, as perf_event_mmap_page has it: nanoseconds. */
uint64_t pt_time_ns(const struct pt_clock *clock, uint64_t tsc);

/* The first TSC value with this time or a later one; 0 for times before all values. */
uint64_t pt_time_tsc(const struct pt_clock *clock, uint64_t time_ns);
