/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples from a decoded trace, as --itrace asks for them: as if "instructions", "branches",
 * "transactions" and the rest had been recorded as events of their own.
 *
 *   pt_trace ─► spans ─► synth ─► EVENT_SAMPLE (instructions, branches …), EVENT_TRACE_ERROR ─►
 * sink
 *
 * Names, attributes, periods, flags and raw data are those of perf's, so that what is printed,
 * stored or written again is what perf's users know. A period is the number of instructions since
 * the sample before, so that the sum of periods is what was run, exactly.
 */
#pragma once

#include "perfdata/perfdata.h"
#include "trace/itrace.h"
#include "trace/pt_trace.h"

struct pt_synth;

struct pt_synth_config {
	struct itrace itrace;
	struct perfdata *data; /* gets the new events, by perfdata_add_counter() */
	struct pt_trace *trace;
	struct event_sink *sink; /* may be set later: pt_synth_run() */
};

/* What of the trace is needed for that. */
enum pt_detail pt_synth_detail(const struct itrace *itrace);

struct pt_synth *pt_synth_new(const struct pt_synth_config *config);
void pt_synth_free(struct pt_synth *s); /* NULL is fine; the trace stays the caller's */

/* Pushes the samples of all that happened before `before_ns` (UINT64_MAX: of the rest). */
int pt_synth_run(struct pt_synth *s, uint64_t before_ns, struct event_sink *sink);

/*
 * Who wants of a branch nothing but from where and to where it went takes them in rows, from then
 * on: no samples of them are pushed where nothing but branches is made of the trace. What
 * `branches` gets holds until it returns 0, or a negative errno that ends the run.
 */
void pt_synth_take_branches(struct pt_synth *s,
			    int (*branches)(void *context, const struct pt_event *branches,
					    size_t n),
			    void *context);

/*
 * G and L: the call chain and last branches of a sample's thread as the trace has them by then, in
 * place of what it has. *room must hold as long as the copy is used.
 */
struct pt_synth_room {
	uint64_t callers[ITRACE_MAX_CHAIN];
	struct branch branches[ITRACE_MAX_CHAIN];
	struct sample_extra extra;
};
void pt_synth_add(struct pt_synth *s, struct event *sample, struct pt_synth_room *room);

/* An event of the recording itself, for the log (itrace's d). */
void pt_synth_event(struct pt_synth *s, const struct event *e);
