/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --itrace: what is made of a processor trace. The letters are those of perf's option of the same
 * name (perf-itrace and perf-intel-pt in its documentation):
 *
 *   --itrace=i100usg32le-o    an instructions sample each 100 µs, with call chains of up to 32 and
 *                             last branches; errors, but not of overflows
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

struct branch_filter;
struct error;

/* X(letter, field, argument, help): the field of `struct itrace` that a letter sets, and its
 * argument. */
#define ITRACE_LETTERS(X)                                                                         \
	X('i', instructions, PERIOD,                                                              \
	  "instructions; a period may follow: 1000i (instructions), "                             \
	  "100us, ms, ns, or t (ticks)")                                                          \
	X('y', cycles, NOTHING, "cycles, where their number is known; as often as instructions")  \
	X('b', branches, NOTHING, "branches")                                                     \
	X('x', transactions, NOTHING, "begin, commit and abort of transactions")                  \
	X('w', ptwrites, NOTHING, "values of ptwrite instructions")                               \
	X('p', power, NOTHING, "power events: CBR, MWAIT, PWRE, EXSTOP, PWRX, PSB")               \
	X('o', pebs, NOTHING, "PEBS records in the trace")                                        \
	X('I', interrupts, NOTHING,                                                               \
	  "interrupts and other events of the processor, and changes of the interrupt flag "      \
	  "(event trace)")                                                                        \
	X('c', calls, NOTHING, "branches: calls")                                                 \
	X('r', returns, NOTHING, "branches: returns")                                             \
	X('e', errors, ERROR_FLAGS, "what could not be decoded; -o: no overflows, -l: no losses") \
	X('d', logs, LOG_FLAGS, "a log of the decoding, intel_pt.log; +a, -a: events in it")      \
	X('g', chains, SIZE,                                                                      \
	  "call chains of instructions and transactions; their size may follow (script, inject: " \
	  "16; profiles: 1024, which is all that there is room for)")                             \
	X('G', adds_chains, SIZE, "call chains for samples of other events")                      \
	X('l', last_branches, BRANCHES, "last branches of the same; their number may follow")     \
	X('L', adds_last_branches, BRANCHES, "last branches for samples of other events")         \
	X('s', skips, COUNT, "a number follows: so many events are left out at the beginning")    \
	X('q', quick, REPEAT, "quick: TIP and FUP packets alone; qq: those of PSBs alone")

enum itrace_unit { ITRACE_INSTRUCTIONS, ITRACE_TICKS, ITRACE_NS };

struct itrace {
#define X(letter, field, argument, help) uint8_t field;
	ITRACE_LETTERS(X)
#undef X
	enum itrace_unit unit;
	uint64_t period; /* of instructions */
	uint64_t skip;
	uint32_t chain_size, branch_size;
	bool has_chain_size;                /* it was given */
	bool hides_overflows, hides_losses; /* e-o, e-l */
	bool logs_all, logs_no_events;      /* d+a, d-a */
	bool with_depth; /* no letter: samples of branches have the depth of the call */
	bool with_bytes; /* no letter: samples have the bytes of their instruction */
	/* No letter: events outside of these spans are not needed. n_spans 0: all are. */
	const struct time_span *spans;
	size_t n_spans;
	const struct branch_filter *filter; /* no letter: of branches; NULL: all are wanted */
};

#define ITRACE_DEFAULT_SCRIPT "cepwx"
#define ITRACE_DEFAULT_REPORT "igxe"
#define ITRACE_DEFAULT_FILTER "be" /* of a report with --filter */
#define ITRACE_MAX_CHAIN      1024

/* -EINVAL with a message that has the letter, and which there are. */
int itrace_parse(const char *text, struct itrace *out, struct error *err);

/*
 * --filter: parses it to *room (trace/branch_filter.h). The itrace then refers to that, and it
 * stays the caller's. -EINVAL with a message, also if the itrace makes no branches. NULL: no
 * filter.
 */
int itrace_take_filter(struct itrace *o, const char *text, struct branch_filter *room,
		       struct error *err);

/* -EINVAL with a message if there is a filter, but no branches. */
int itrace_check_filter(const struct itrace *o, struct error *err);

/* Of an input without a trace: -EINVAL with a message if there is a filter. `o` may be NULL. */
int itrace_refuse_filter(const struct itrace *o, struct error *err);
