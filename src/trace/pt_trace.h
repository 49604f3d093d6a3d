/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decodes the Intel PT of a recording: the events of each thread and CPU, in the order of time.
 *
 *   AUXTRACE data ─► queues, one a thread or a CPU ─► pt/flow ─┐
 *   side band ─────► trace/pt_history: mappings, threads ─────┤
 *   files ─────────► trace/pt_images: code ───────────────────┴─► spans of events, by time
 *
 * A queue's decoder stops when some thousand events wait, and goes on when they were given out. So
 * the memory is bounded, however long the trace is.
 *
 * Times are nanoseconds on the recording's clock. Without TSC packets, or without the conversion to
 * nanoseconds, the trace has no time: is_timeless. Then the queues come one after the other, with
 * time 0, and the code of a process is that of its last mappings.
 *
 * No trace fails. A part that can't be followed is an event PT_EV_ERROR.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "event/event.h"
#include "perfdata/perfdata.h"
#include "pt/event.h"
#include "trace/pt_trace_info.h"

struct error;
struct pt_trace;
struct symbolizer_config;

struct pt_trace_config {
	struct perfdata *data; /* the recording's; stays the caller's, like its bytes */
	struct perfdata
		*side_band; /* a second reader of the same bytes; used up by pt_trace_open() */
	const char *path;   /* of the recording: a copy of kcore beside it; or NULL */
	const struct symbolizer_config *places; /* of code; NULL: this machine's. Copied */
	enum pt_detail detail;
	enum pt_quick quick;
	/* Events outside of these spans may be left out. n_spans 0: none is. Of the caller. */
	const struct time_span *spans;
	size_t n_spans;
	const uint32_t *cpus; /* queues of these CPUs alone; n_cpus 0: of all */
	size_t n_cpus;
};

/* -ENODATA: no Intel PT in it; -EBADMSG: its description is damaged. */
int pt_trace_open(const struct pt_trace_config *config, struct pt_trace **out, struct error *err);
void pt_trace_close(struct pt_trace *t); /* NULL is fine */
DEFINE_AT_EXIT(pt_trace_close, struct pt_trace)

const struct pt_trace_info *pt_trace_info(const struct pt_trace *t);

/* The mode of code at an address: on x86-64, the kernel has the upper half. */
static inline enum cpu_mode pt_mode_of(bool is_guest, uint64_t addr)
{
	if (is_guest)
		return addr >> 63 ? MODE_GUEST_KERNEL : MODE_GUEST_USER;
	return addr >> 63 ? MODE_KERNEL : MODE_USER;
}

/* Events in a row of one queue, of one thread. */
struct pt_span {
	const struct pt_event *events;
	size_t n;
	uint32_t queue;   /* 0 … pt_trace_n_queues() - 1; errors of lost data have the last one */
	int32_t pid, tid; /* -1: not known. In a guest: of this machine, that run it */
	bool is_guest;
	/* In a guest whose side band is there: its process here, its own numbers, and its CPU. */
	uint32_t machine_pid, vcpu;
	int32_t guest_pid, guest_tid;
	uint32_t cpu; /* of a queue of a thread: UINT32_MAX */
};

struct pt_trace_sink {
	/* 0; a negative errno ends the run. What the span points to holds until the return. */
	int (*span)(struct pt_trace_sink *self, const struct pt_span *span);
};

/*
 * Events are needed for samples in time alone, one each `ticks` (a power of two): see
 * pt_flow_config.sample_ticks. Before the first run.
 */
void pt_trace_sample(struct pt_trace *t, uint64_t ticks);

/*
 * Gives out all further events before `before_ns` (UINT64_MAX: all remaining ones). Events of
 * different queues come in the order of time.
 */
int pt_trace_run(struct pt_trace *t, uint64_t before_ns, struct pt_trace_sink *sink);

/* The time of an event's `tsc` in nanoseconds; 0: not known. */
uint64_t pt_trace_ns(const struct pt_trace *t, uint64_t tsc);

/* The event whose PEBS records have this number on a CPU, by the kernel's records; -1: not known.
 */
int32_t pt_trace_counter(const struct pt_trace *t, uint32_t number, uint32_t cpu);

uint32_t pt_trace_n_queues(const struct pt_trace *t);

/*
 * The code of a process at the time of the queue's last span, or soon after: up to `size` bytes at
 * an address. Returns their number. With `is_way`, also bytes that only lead the same way as those
 * in memory (pt_modules.h).
 */
size_t pt_trace_code(struct pt_trace *t, uint32_t queue, uint64_t addr, bool is_way, uint8_t *out,
		     size_t size);

/* A number for that code: the same while nothing has changed in it. */
uint64_t pt_trace_space(const struct pt_trace *t, uint32_t queue);

/* Of all queues together; complete at the end of the run. */
void pt_trace_stats(const struct pt_trace *t, struct pt_flow_stats *out);

/* Counts an error of a span for the notes, by the file of its code. */
void pt_trace_count_error(struct pt_trace *t, const struct pt_span *span,
			  const struct pt_event *error);

/* Sentences about code that could not be read; after the run. */
void pt_trace_notes(const struct pt_trace *t, void (*note)(void *context, const char *sentence),
		    void *context);
