/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_event records as bytes to events (perf_event_open(2), linux/perf_event.h).
 *
 * Takes bytes, opens nothing, logs nothing. One decoder serves the live rings and, with the formats
 * of the file, perf.data.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"
#include "event/event.h"

#define RECORD_MAX_CALLERS   1024
#define RECORD_MAX_BRANCHES  1024
#define RECORD_MAX_VALUES    256
#define RECORD_MAX_REGISTERS 64
#define RECORD_MAX_LINKS     32 /* namespaces of a thread; the kernel has seven or eight */

/* The layout of one counter's records, and the counter of an id. */
struct record_format {
	uint64_t sample_type;
	bool sample_id_all;
	/* With PERF_SAMPLE_IDENTIFIER: gives the counter of a sample id; NULL: always `counter`. */
	uint32_t (*counter_of)(const void *context, uint64_t id);
	const void *context;
	uint32_t counter;
	/* Fields behind the call chain: as in perf_event_attr. */
	uint64_t read_format, branch_sample_type, regs_user, regs_intr;
	uint32_t max_stack; /* a chain of this many addresses was cut */
	/*
	 * PERF_SAMPLE_READ's values count the sample's thread alone: inherited events (Linux 6.12).
	 */
	bool has_values_by_thread;
	/*
	 * Of perf's `record --off-cpu` (6.17): the raw data has the wait. It is the thread, the
	 * time, the chain and the cgroup. Those of the sample are of the program that wrote it.
	 */
	bool has_waits;
	/* The period of each counter, if sample_type lacks PERF_SAMPLE_PERIOD. */
	const uint64_t *fixed_periods;
};

enum record_result {
	RECORD_OK,
	RECORD_SKIPPED, /* a type that we do not use */
	RECORD_BAD,     /* does not fit its own size or layout */
};

/* Memory that a decoded event may point into; reused from record to record. */
struct record_scratch {
	uint64_t callers[RECORD_MAX_CALLERS];
	struct sample_extra extra;
	struct counter_value values[RECORD_MAX_VALUES];
	struct branch branches[RECORD_MAX_BRANCHES];
	uint64_t user[RECORD_MAX_REGISTERS], interrupted[RECORD_MAX_REGISTERS];
	struct namespace_link namespaces[RECORD_MAX_LINKS];
};

/*
 * The time of a record (`size` bytes with its header), without decoding the record; 0 if the format
 * has none. Rings are merged by it.
 */
uint64_t record_time(const struct record_format *format, const void *record, size_t size);

/* The size of the fields that sample_id_all puts at the end of every record but SAMPLE. */
size_t record_trailer_size(const struct record_format *format);

/* PERF_RECORD_CALLCHAIN_DEFERRED of Linux 6.19: the user part of the chains of earlier samples. */
#define RECORD_CALLCHAIN_DEFERRED 22
struct deferred_chain {
	int32_t tid;
	uint64_t cookie;
	struct reader chain; /* of the record: a number and so many addresses */
};

/* Reads one of `size` bytes; false: it is bad. */
bool record_deferred_chain(const struct record_format *format, const void *record, size_t size,
			   struct deferred_chain *out);

/* Adds it to the chain of a sample that record_decode() has just read into the scratch. */
void record_add_chain(const struct record_format *format, const struct deferred_chain *chain,
		      struct record_scratch *scratch, struct event *e);

/*
 * Decodes one record of `size` bytes (the header's own size). `cpu` is used if the format has no
 * PERF_SAMPLE_CPU. Strings and chains of *out point into the record or the scratch.
 */
enum record_result record_decode(const struct record_format *format, const void *record,
				 size_t size, uint32_t cpu, struct record_scratch *scratch,
				 struct event *out);
