/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a synth, which the files of pt_synth share. */
#pragma once

#include "pt/insn.h"
#include "pt/synth_raw.h"
#include "trace/pt_log.h"
#include "trace/pt_pebs.h"
#include "trace/pt_stack.h"
#include "trace/pt_synth_config.h"

enum { N_CACHED = 1 << 15, NO_COUNTER = -1 };

/* A place that code was read at. */
struct synth_insn {
	uint64_t addr, space;
	uint8_t size, end, width, bytes[PT_INSN_MAX];
	bool is_known; /* the bytes are those that ran, not others that lead the same way */
};

/* When the next instructions sample is due; a queue has its own. */
struct synth_period {
	uint64_t insns;      /* since the last sample */
	uint64_t tsc, ticks; /* the last time that is known, and instructions since: a tick each */
	uint64_t masked;     /* the last period that had a sample */
	bool is_due;         /* the next instruction begins another period */
};

struct synth_counts {
	uint64_t insns, cycles;
};

struct synth_queue {
	uint64_t tsc;   /* of the last event */
	uint8_t width;  /* of the code: 16, 32, 64 */
	uint64_t ip;    /* of an instruction; 0: not known */
	uint64_t ahead; /* the next one is so many behind that */
	uint64_t insns; /* executed up to there */
	uint64_t cycles;
	uint64_t cycles_at; /* the executed instructions before the one that has `cycles` */
	bool has_cycles, are_of_psb; /* are_of_psb: they are the next branch's, wherever it is */
	bool is_told_ahead;          /* the time, to the period alone */
	uint64_t psb_tsc;            /* of the last PSB */
	struct synth_period period;
	uint64_t sampled_insns;
	struct synth_counts last_branch, last_insn,
		last_cycles; /* of their samples that had cycles */
	uint32_t cbr;
	/* The interrupt flag; `changes`: with the branch that comes, or at an instruction. */
	bool iflag, was_iflag, changes_iflag;
	uint64_t iflag_ip; /* the instruction; 0: none */
	struct synth_evd {
		uint8_t type;
		uint64_t payload;
	} * evds; /* PT_SYNTH_EVDS, that wait for their CFE; NULL: there were none yet */
	uint32_t n_evds;
	struct pt_pebs *pebs; /* the record whose items are read; NULL: there was none yet */
};

struct pt_synth {
	struct pt_trace_sink sink; /* first: the sink is also this */
	struct itrace itrace;
	struct pt_trace *trace;
	struct event_sink *to;
	pt_synth_row_fn *branches_to;
	void *branches_context;
	bool (*chooses)(void *context, const struct event *branch); /* NULL: all are wanted */
	void *chooses_context;
	struct pt_clock clock;
	uint64_t period, mask; /* in instructions, or ticks */
	bool by_ticks, has_event_trace;
	bool has_cyc;           /* else cycles are estimated, and told as soon as there are more */
	uint32_t branch_filter; /* flags of branches that are wanted; 0: all */
	uint64_t skip;
	struct pt_stacks stacks;
	struct intmap guest_threads; /* by a thread here: the last of its guest (guest_task.h) */
	struct pt_log *log;          /* NULL: none */
	bool with_stacks;
	bool passes_insns; /* instructions are counted one by one: for samples of them, or of cycles
			    */
	struct synth_queue *queues;
	struct synth_insn *cached;
	int32_t instructions, cycles, branches, transactions, pebs,
		synths[N_PT_SYNTHS]; /* counters */
	const struct perfdata *data;
	struct pt_pebs_room pebs_room;

	/* Of the sample that is pushed. */
	const struct pt_span *span;
	struct synth_queue *queue;
	uint64_t callers[ITRACE_MAX_CHAIN];
	struct branch last[ITRACE_MAX_CHAIN];
	uint8_t raw[PT_SYNTH_RAW_MAX];
	struct event sample;
	struct sample_extra extra;
};
