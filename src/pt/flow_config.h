/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a decoder (flow.h) is asked for, and what it counts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pt/event.h"
#include "pt/time.h"

/* How much is decoded. */
enum pt_quick {
	PT_FULL,
	PT_QUICK,    /* what TIP and FUP packets tell; no code is looked at */
	PT_QUICKEST, /* what PSB+ packets tell */
};

struct pt_flow_config {
	struct pt_clock clock;
	enum pt_quick quick;
	/* Whether an uncompressed return takes an entry off the stack of return addresses. */
	bool return_keeps_stack;
	/*
	 * Branches that are instructions', and PT_EV_TIME, are no events: only where tracing
	 * begins, ends, or is interrupted.
	 */
	bool no_branches;
	/*
	 * For samples each time that this many ticks have passed (a power of two; 0: none): a tick
	 * is one of the TSC, or an instruction between two time packets. Branches and PT_EV_TIME
	 * that are not near a multiple of it may be left out. PT_EV_RESUME ends such a stretch.
	 */
	uint64_t sample_ticks;
	/* Of the processor: a set of enum pt_erratum (errata.h). */
	uint32_t errata;
	/* The processor has event trace: MODE.Exec packets tell the interrupt flag. */
	bool has_event_trace;
	/*
	 * Whether an address is outside of the trace's address filters. NULL: there are none.
	 * Needed for PT_ERRATUM_PGD_WITHOUT_IP only.
	 */
	bool (*is_filtered_out)(void *context, uint64_t ip);
	void (*events)(void *context, const struct pt_event *events, size_t n);
	/*
	 * Time has come to `tsc`: side band up to there may be followed (pt_flow_set_code(),
	 * pt_code_forget()). Returns the time at which to be called next. NULL: never.
	 */
	uint64_t (*side_band)(void *context, uint64_t tsc);
	/*
	 * The TSC of the next PSB+ behind `at`, a place in the bytes that are fed (pt_next_tsc()
	 * of pt/time.h). NULL: each time is believed.
	 */
	uint64_t (*next_tsc)(void *context, const uint8_t *at);
	/*
	 * There are no MTC and CYC packets. For side_band, the time between two packets goes on by
	 * one tick for each instruction when tracing begins anew.
	 */
	bool is_coarse;
	/*
	 * From here on, execution is in a guest of this machine, or in this machine again: its code
	 * is to be followed (pt_flow_set_code()). Decoding begins in this machine. NULL: one code
	 * is for all.
	 */
	void (*machine)(void *context, bool is_guest);
	void *context;
};

struct pt_flow_stats {
	uint64_t insns, branches;      /* branches: events of that kind */
	uint64_t bytes, skipped_bytes; /* skipped: on the way to a PSB */
	uint64_t psbs, backwards;
	/* Of `insns`: of stretches with an error in them (PT_EV_UNVERIFIED), the one at hand
	 * included. */
	uint64_t doubtful_insns;
	uint64_t errors[N_PT_ERRORS];
};
