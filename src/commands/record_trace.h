/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record's options of a hardware trace (Intel PT): modes, sizes, groups; -vv. */
#pragma once

#include "collect/aux.h"
#include "counter/counter.h"

struct error;
struct record_end;

struct trace_options {
	const char *sizes;      /* of -m: [SIZE][,AUXSIZE] */
	const char *snapshot;   /* of -S; NULL: not given, "": without a size */
	const char *aux_sample; /* likewise */
	bool per_thread;
};

struct trace_plan {
	bool has_trace;
	enum aux_mode mode;
	uint64_t ring_bytes, aux_bytes, snapshot_bytes; /* 0: the default */
	bool snapshot_at_end;
};

/*
 * To be called when all events are parsed. Checks their combination and puts the trace first, as
 * the leader of the events whose samples contain pieces of it. -EINVAL: wrong usage.
 */
int trace_prepare(const struct trace_options *options, struct counters *counters,
		  struct trace_plan *out, struct error *err);

/* As perf_system, and shows each opened event on standard error. */
extern const struct perf_backend shown_backend;

/* What -vv says of sizes, and warnings that everybody gets. */
void trace_tell_sizes(const struct trace_plan *plan, const struct counters *counters,
		      bool is_very_verbose);
