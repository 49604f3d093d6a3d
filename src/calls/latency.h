/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long the calls of each function took: of a processor trace, every call, to the time of its
 * packets.
 *
 * Only calls whose begin and end were seen have a duration; the others of a function are counted
 * as incomplete. Minimum, maximum and sums are exact, a percentile of durations from 128 ns on is
 * within 1 % (below the true one).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/mem.h"
#include "calls/trace_calls.h"

struct error;

struct latency_row {
	uint32_t function;
	uint64_t calls, incomplete;
	uint64_t total_ns, min_ns, max_ns;
	uint64_t insns, cycles; /* callees included; 0 where the trace has no cycles */
	uint64_t worst_ns;      /* when the longest call began … */
	int32_t worst_tid;      /* … and in which thread */
	VEC(uint32_t) counts;   /* of durations, by latency_bucket() */
};

struct latency {
	struct trace_calls_sink sink; /* first: the sink is also this */
	struct trace_calls *trace;
	VEC(struct latency_row) rows; /* by function, until sorted */
	bool has_cycles;
};

/* Functions called, the most time first, or by another of its columns. */
struct latency_options {
	const char *sort; /* a key of latency_columns; NULL: total */
	uint64_t limit;   /* 0: all */
	uint32_t width;   /* of the text; 0: names are not cut */
	bool is_ascii;
	bool is_csv_raw; /* base/csv.h */
};

/* Reads the calls; as trace_calls_run(). */
int latency_read(struct latency *l, struct trace_calls *trace, struct error *err);
void latency_fini(struct latency *l);

/* The duration that a share `q` (0 … 1) of the row's calls does not exceed. */
uint64_t latency_percentile(const struct latency_row *row, double q);

/* -EINVAL where `key` is no column to sort by, with a message that has those that are. */
int latency_sort(struct latency *l, const char *key, struct error *err);

void latency_print_text(const struct latency *l, const struct latency_options *o, FILE *out);
void latency_print_csv(const struct latency *l, const struct latency_options *o, FILE *out);
void latency_print_json(const struct latency *l, const struct latency_options *o, FILE *out);
