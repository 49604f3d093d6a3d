/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes samples of a decoded trace, as --itrace asks. They look as if "instructions", "branches",
 * "transactions" and the rest had been recorded as events.
 *
 *   pt_trace ─► spans ─► synth ─► EVENT_SAMPLE (instructions, branches …), EVENT_TRACE_ERROR ─►
 * sink
 *
 * Names, attributes, periods, flags and raw data are those of perf, so perf's users know them. A
 * period is the number of instructions since the sample before. So the sum of the periods is
 * exactly the number of executed instructions.
 */
#pragma once

#include "trace/pt_synth_config.h"

struct pt_synth;

/* The detail of the trace that is needed for that. */
enum pt_detail pt_synth_detail(const struct itrace *itrace);

struct pt_synth *pt_synth_new(const struct pt_synth_config *config);
void pt_synth_free(struct pt_synth *s); /* NULL is fine; the trace stays the caller's */

/* Pushes the samples of the events before `before_ns` (UINT64_MAX: of all remaining events). */
int pt_synth_run(struct pt_synth *s, uint64_t before_ns, struct event_sink *sink);

/*
 * For a caller that needs only the source and the target of branches. From now on, `take` gets
 * them in rows of one thread and time: those of `first`, the sample of the first branch. If the
 * trace gives nothing but branches, no samples are pushed. The rows are valid until `take` returns
 * 0, or a negative errno that ends the run.
 */
void pt_synth_take_branches(struct pt_synth *s, pt_synth_row_fn *take, void *context);

/*
 * Branches that `chooses` refuses become no samples. It gets each branch as a sample without cycles
 * and bytes. Stacks, and the counts of instructions and cycles, go on through refused branches.
 */
void pt_synth_choose_branches(struct pt_synth *s,
			      bool (*chooses)(void *context, const struct event *branch),
			      void *context);

/*
 * G and L: replaces the call chain and the last branches of a sample by those of the trace at its
 * time. *room must stay as long as the copy is used.
 */
struct pt_synth_room {
	uint64_t callers[ITRACE_MAX_CHAIN];
	struct branch branches[ITRACE_MAX_CHAIN];
	struct sample_extra extra;
};
void pt_synth_add(struct pt_synth *s, struct event *sample, struct pt_synth_room *room);

/* An event of the recording itself, for the log (itrace's d). */
void pt_synth_event(struct pt_synth *s, const struct event *e);
