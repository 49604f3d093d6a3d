/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of each thread, with begin and end: exact with a processor trace, estimated with
 * samples.
 *
 *   trace    ─► calls/trace_calls.h ─┐
 *   samples  ─► chains of a thread ───┴─► calls by thread, time and depth ─► text, page, Perfetto
 *
 * With samples, a function counts as running from one sample to the next if all its callers are the
 * same, and if at most a few periods are between the samples. Calls shorter than a period are
 * missed, and several calls in a row may appear as one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/mem.h"

struct arena;
struct error;
struct symbolizer;
struct time_span;

/* What a function's calls ran, callees included; 0 where the trace has no cycles. */
struct timeline_work {
	uint64_t insns, cycles;
};

struct timeline_call {
	uint64_t start_ns, end_ns;
	uint32_t thread, function; /* indexes */
	uint16_t depth;            /* 0: outermost */
	uint16_t flags;            /* enum open_call_flags; of samples 0 */
	uint32_t samples;          /* of samples: that were in it */
};

struct timeline_thread {
	int32_t pid, tid;
	const char *comm;
	size_t first, n; /* of calls */
};

/* Something that happened at one moment: a hit of the trigger. */
struct timeline_mark {
	uint64_t time_ns;
	int32_t pid, tid;
	const char *text;
};

struct call_timeline {
	VEC(struct timeline_thread) threads; /* by pid and tid */
	VEC(struct timeline_call) calls;     /* by thread, start, depth */
	VEC(const char *) functions;         /* names */
	VEC(struct timeline_work) work;      /* by function; of a trace */
	VEC(struct timeline_mark) marks;     /* by time */
	uint64_t first_ns, last_ns, zero_ns; /* zero: the moment */
	uint64_t n_left_out;                 /* calls beyond the limit: the oldest ones … */
	uint64_t shortest_ns; /* … or, of a window, all that are shorter than this */
	uint64_t n_errors;    /* of a trace: each cuts the calls of its thread */
	bool is_exact;        /* of a trace */
	uint32_t freq_hz;     /* of samples */
	struct arena *arena;
};

struct call_timeline_config {
	const char *path; /* of a perf.data */
	struct symbolizer *symbolizer;
	const struct symbolizer_config *places; /* of code, as replay_decode() */
	/* Counters with names that begin so: their samples are marks, and no calls. NULL: none. */
	const char *mark;
	bool zero_at_end;             /* times are from the end, though there are marks */
	bool zero_at_begin;           /* times are from the begin of the first call */
	uint64_t before_ns, after_ns; /* of the first mark, else of the end; 0: all that there is */
	/*
	 * Of a trace: only the calls of this time, cut at its ends. Its depths count from its
	 * begin. If the calls are too many, the shortest ones are left out. NULL: all time.
	 */
	const struct time_span *window;
	const int32_t *tids; /* of a trace: only the calls of these threads … */
	size_t n_tids;       /* … 0: of all */
	size_t max_calls;    /* 0: a million */
};

/* Reads the recording. -ENODATA: nothing ran in it (a window may be empty). To be released in any
 * case. */
int call_timeline_read(const struct call_timeline_config *config, struct call_timeline *out,
		       struct error *err);
void call_timeline_fini(struct call_timeline *t);

/* Texts for people about the recording. */
struct timeline_words {
	const char *command; /* or another traced target */
	/* Why it was kept: "shop::sell was called by thread 12 (shop)". "": it is all there is. */
	const char *cause;
	const char *source; /* "Intel PT", "4000 samples a second; this machine has no Intel PT" */
};

/*
 * Prints the thread of the first mark, else the thread with most calls: the last `max_lines` calls
 * before the mark, and those after it. Each other thread has one line. With 0, all calls of all
 * threads.
 */
void call_timeline_print(const struct call_timeline *t, const struct timeline_words *words,
			 size_t max_lines, FILE *out);

/* One page without a network. */
void call_timeline_page(const struct call_timeline *t, const struct timeline_words *words,
			FILE *out);

/* Perfetto's trace: slices on the threads' tracks, marks as instants (TrackEvent). */
void call_timeline_perfetto(const struct call_timeline *t, struct buf *out);
