/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Intel PT of a recording, decoded: what each thread and CPU did, in the order of time.
 *
 *   AUXTRACE data ─► queues, one a thread or a CPU ─► pt/flow ─┐
 *   side band ─────► record/pt_history: mappings, threads ─────┤
 *   files ─────────► record/pt_images: code ───────────────────┴─► spans of events, by time
 *
 * A queue's decoder is stopped when some thousand events wait, so that memory stays bounded
 * however long the trace is, and goes on when they were given out.
 *
 * Times are nanoseconds on the recording's clock. Without TSC packets (or without what makes
 * nanoseconds of them) the trace has no time: is_timeless. Then a queue comes as a whole after
 * the other, with time 0, and its code is what its process had mapped in the end.
 *
 * Nothing of the trace fails: what can't be followed is an event PT_EV_ERROR.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "perfdata/perfdata.h"
#include "pt/flow.h"

struct error;
struct pt_trace;
struct symbolizer_config;

/* What AUXTRACE_INFO says of the trace. */
struct pt_trace_info {
	struct pt_clock clock;
	uint32_t pmu_type; /* perf_event_attr.type of its events */
	bool is_timeless, has_kernel;
	bool is_per_cpu;      /* buffers are of CPUs, not of threads */
	bool is_snapshot;     /* pieces of a buffer may overlap */
	bool fup_may_be_next; /* as in struct pt_flow_config */
	bool has_mtc, has_cyc, compresses_returns, traces_branches;
	bool has_event_trace; /* CFE and EVD packets; MODE.Exec has the interrupt flag */
	uint64_t config;      /* of the first of its events */
};

/* False: the recording has no Intel PT. */
bool pt_trace_read_info(const struct perfdata *data, struct pt_trace_info *out);

enum pt_detail {
	PT_ALL_BRANCHES, /* each taken branch is an event */
	PT_CALLS,        /* calls and returns, and what the trace says of itself; faster */
	PT_NO_BRANCHES,  /* what the trace says of itself, errors, where tracing begins and ends */
};

struct pt_trace_config {
	struct perfdata *data; /* the recording's; stays the caller's, like its bytes */
	struct perfdata
		*side_band; /* a second reader of the same bytes; used up by pt_trace_open() */
	const char *path;   /* of the recording: a copy of kcore beside it; or NULL */
	const struct symbolizer_config *places; /* of code; NULL: this machine's. Copied */
	enum pt_detail detail;
	enum pt_quick quick;
	/* Nothing before or behind; both 0: everything. */
	uint64_t first_ns, last_ns;
	const uint32_t *cpus; /* queues of these CPUs alone; n_cpus 0: of all */
	size_t n_cpus;
};

/* -ENODATA: no Intel PT in it; -EBADMSG: its description is damaged. */
int pt_trace_open(const struct pt_trace_config *config, struct pt_trace **out, struct error *err);
void pt_trace_close(struct pt_trace *t); /* NULL is fine */
DEFINE_AT_EXIT(pt_trace_close, struct pt_trace)

const struct pt_trace_info *pt_trace_info(const struct pt_trace *t);

/* Events in a row of one queue, of one thread. */
struct pt_span {
	const struct pt_event *events;
	size_t n;
	uint32_t queue;   /* 0 … pt_trace_n_queues() - 1; errors of lost data have the last one */
	int32_t pid, tid; /* -1: not known */
	uint32_t cpu;     /* of a queue of a thread: UINT32_MAX */
};

struct pt_trace_sink {
	/* 0; a negative errno ends the run. What the span points to holds until the return. */
	int (*span)(struct pt_trace_sink *self, const struct pt_span *span);
};

/*
 * Gives out all events earlier than `before_ns` (UINT64_MAX: all that are left) that were not given
 * yet, those of different queues in the order of time.
 */
int pt_trace_run(struct pt_trace *t, uint64_t before_ns, struct pt_trace_sink *sink);

/* The time of an event of a span; 0: not known. */
uint64_t pt_trace_ns(const struct pt_trace *t, const struct pt_event *e);

/* The event whose PEBS records have this number on a CPU, as the kernel told; -1: it did not. */
int32_t pt_trace_counter(const struct pt_trace *t, uint32_t number, uint32_t cpu);

uint32_t pt_trace_n_queues(const struct pt_trace *t);

/*
 * Code of a process as it is where the last span of the queue was given out from, or soon after: up
 * to `size` bytes at an address; how many there are.
 */
size_t pt_trace_code(struct pt_trace *t, uint32_t queue, uint64_t addr, uint8_t *out, size_t size);

/* A number for that code: the same while nothing has changed in it. */
uint64_t pt_trace_space(const struct pt_trace *t, uint32_t queue);

/* Of all queues together; complete when all was run. */
void pt_trace_stats(const struct pt_trace *t, struct pt_flow_stats *out);

/* An error of a span, for the notes: whose code it was in. */
void pt_trace_count_error(struct pt_trace *t, const struct pt_span *span,
			  const struct pt_event *error);

/* Sentences about code that could not be had; after the run. */
void pt_trace_notes(const struct pt_trace *t, void (*note)(void *context, const char *sentence),
		    void *context);
