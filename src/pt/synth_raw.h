/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that only a trace has, in the form of perf's tools: the raw data of samples of type
 * PT_SYNTH_TYPE. They are perf's struct perf_synth_intel_… without its padding
 * (tools/perf/util/event.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* perf_event_attr.type */
#define PT_SYNTH_TYPE 0x80000000u

/* X(id, config, name): perf_event_attr.config, and the event's name. */
#define PT_SYNTHS(X)             \
	X(PTWRITE, 0, "ptwrite") \
	X(MWAIT, 1, "mwait")     \
	X(PWRE, 2, "pwre")       \
	X(EXSTOP, 3, "exstop")   \
	X(PWRX, 4, "pwrx")       \
	X(CBR, 5, "cbr")         \
	X(PSB, 6, "psb")         \
	X(EVT, 7, "evt")         \
	X(IFLAG, 8, "iflag")

enum pt_synth_id {
#define X(id, config, name) PT_SYNTH_##id = (config),
	PT_SYNTHS(X)
#undef X
		N_PT_SYNTHS
};

extern const char *const pt_synth_names[N_PT_SYNTHS];

/* The largest number of EVD packets of an event. Each has a word with its type, and one with its
 * value. */
#define PT_SYNTH_EVDS    64
#define PT_SYNTH_RAW_MAX (4 + 16 * PT_SYNTH_EVDS)
