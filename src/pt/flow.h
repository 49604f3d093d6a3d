/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the processor did, from an Intel PT trace and the code that it ran.
 *
 * A decoder follows one buffer (a CPU's or a thread's) in the order of its bytes. It is fed pieces,
 * each of whole packets, and calls back with batches of events. All of its state is its own and
 * begins anew at any PSB, as returns are never compressed across one: independent pieces from PSB
 * to PSB may be given to decoders of their own.
 *
 * Nothing fails: what can't be followed is an event PT_EV_ERROR with its reason, place and time,
 * counted, and decoding goes on at the next PSB.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pt/code.h"
#include "pt/packet.h"
#include "pt/time.h"

/* X(id, text). */
#define PT_ERRORS(X)                                                   \
	X(BAD_PACKET, "bytes that are no packet")                      \
	X(CUT, "the trace ends inside a packet")                       \
	X(OVERFLOW, "the processor could not write all packets (OVF)") \
	X(LOST, "trace data was lost before it was stored")            \
	X(NO_CODE, "code could not be read")                           \
	X(MISMATCH, "the trace does not fit the code")                 \
	X(LOOP, "a loop that no packet leaves")                        \
	X(UNEXPECTED, "a packet that may not be where it is")

enum pt_error {
#define X(id, text) PT_ERR_##id,
	PT_ERRORS(X)
#undef X
		N_PT_ERRORS
};

extern const char *const pt_error_texts[N_PT_ERRORS];

/* What an event is; `from` and `to` besides. */
enum pt_event_kind {
	PT_EV_BRANCH,  /* from → to; from is 0 where tracing begins, to is 0 where it ends for
			* a place that is not traced */
	PT_EV_TX,      /* at `from`, a transaction began (PT_F_IN_TX), or it was committed */
	PT_EV_PTWRITE, /* `to`: the value; from: of the instruction, or 0 where not recorded */
	PT_EV_CBR,     /* `to`: core to bus ratio; from: where it changed */
	PT_EV_POWER,   /* `detail`: enum pt_type (MWAIT, PWRE, EXSTOP, PWRX); `to`: its payload */
	PT_EV_EVENT,   /* `detail`: PT_CFE, PT_EVD or PT_TRIG; `to`: its payload; `flags`: its type.
			* PT_MODE_EXEC, with event trace alone: the interrupt flag; `flags`: enum
			* pt_interrupts, `to`: where a branch leads that changed it, told next */
	PT_EV_PSB,   /* at `from`, or 0 where tracing is off or begins; `to`: offset in the trace */
	PT_EV_ERROR, /* `detail`: enum pt_error; at `from`; `to`: the offset in the trace */
	PT_EV_IP,    /* execution was at `from`: quick decoding alone */
	PT_EV_CONTEXT, /* `detail`: PT_PIP, `to`: CR3, `flags`: 1 in a virtual machine; PT_VMCS,
			* `to`: its address. Told when it has changed */
	PT_EV_ITEM,    /* of a PEBS record: `detail`: enum pt_pebs_group; `flags`: its number in
			* there (PT_PEBS_ITEM), PT_PEBS_32_BIT; `to`: its value */
	PT_EV_PEBS,    /* the record of the items before is whole; at `from`, or 0: not told */
	PT_EV_TIME,    /* from here on `tsc` and `cycles` hold: what comes before a branch that a
			* packet is for has the time of the packet before; `to`: instructions that
			* were followed when that packet was read. With `from`, nothing holds yet:
			* it is the time of that packet, to whose branch direct ones come first */
};

/* The groups of a PEBS record's items: the types of BBP packets (SDM, table "BBP Block Types"). */
enum pt_pebs_group {
	PT_PEBS_REGISTERS = 1, /* RFLAGS, RIP, RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8 … R15 */
	PT_PEBS_BASIC = 4,     /* address, counters that it is for, TSC */
	PT_PEBS_MEMORY = 5,    /* address, auxiliary information, latency, TSX information */
	PT_PEBS_LBR = 8,       /* and two more: from, to and information of each branch */
	PT_PEBS_XMM = 16,      /* two items a register */
};

enum { PT_PEBS_ITEM = 0xff, PT_PEBS_32_BIT = 1 << 8 /* items have 4 bytes */ };

/* The interrupt flag from an event on. */
enum pt_interrupts {
	PT_INTERRUPTS_ON = 1 << 0,
	PT_INTERRUPTS_BY_BRANCH = 1 << 1,
	PT_INTERRUPTS_STATUS = 1 << 2, /* it did not change here: a PSB says how it is */
	PT_INTERRUPTS_SHIFT = 3,       /* from here on, flags of the branch */
};

struct pt_event {
	uint64_t from, to;
	uint64_t tsc;      /* the last that is known, as perf has it; 0: none yet */
	uint64_t insns;    /* run since the decoder began, this branch's included */
	uint64_t cycles;   /* counted since then (CYC) */
	uint16_t flags;    /* enum pt_flags */
	uint8_t kind;      /* enum pt_event_kind */
	uint8_t detail;    /* a branch: enum pt_end */
	uint8_t insn_size; /* a branch that an instruction made: of that; else 0 */
};

/* How much is decoded. */
enum pt_quick {
	PT_FULL,
	PT_QUICK,    /* what TIP and FUP packets tell; no code is looked at */
	PT_QUICKEST, /* what PSB+ packets tell */
};

struct pt_flow_config {
	struct pt_clock clock;
	enum pt_quick quick;
	/* Whether an uncompressed return takes an entry off the stack of return addresses. */
	bool return_keeps_stack;
	/*
	 * Branches that are instructions', and PT_EV_TIME, are no events: only where tracing
	 * begins, ends, or is interrupted.
	 */
	bool no_branches;
	/*
	 * Goldmont's erratum: where an interrupt comes before an indirect branch, the FUP may tell
	 * the address behind that one.
	 */
	bool fup_may_be_next;
	/* The processor has event trace: MODE.Exec packets tell the interrupt flag. */
	bool has_event_trace;
	void (*events)(void *context, const struct pt_event *events, size_t n);
	/*
	 * Time has come to `tsc`: side band up to there may be followed (pt_flow_set_code(),
	 * pt_code_forget()). Returns the time at which to be called next. NULL: never.
	 */
	uint64_t (*side_band)(void *context, uint64_t tsc);
	/*
	 * There are no MTC and CYC packets: where tracing begins anew, the time is taken to have
	 * gone on by a tick an instruction, as far as side band is concerned.
	 */
	bool is_coarse;
	void *context;
};

struct pt_flow_stats {
	uint64_t insns, branches;      /* branches: events of that kind */
	uint64_t bytes, skipped_bytes; /* skipped: on the way to a PSB */
	uint64_t psbs, backwards;
	uint64_t errors[N_PT_ERRORS];
};

struct pt_flow;

/*
 * `code` stays the caller's; it says whether all branches become events or calls, returns and what
 * the trace says of itself alone.
 */
struct pt_flow *pt_flow_new(const struct pt_flow_config *config, struct pt_code *code);
void pt_flow_free(struct pt_flow *flow); /* NULL is fine */
DEFINE_AT_EXIT(pt_flow_free, struct pt_flow)

/*
 * Behind a branch to pt_code.watched feeding pauses, with all events told; side band is asked for
 * before the next packet. So a thread that the kernel switches to there is followed from there on.
 */

/* Another address space from here on; or the same after pt_code_forget(). */
void pt_flow_set_code(struct pt_flow *flow, struct pt_code *code);

/* The next bytes of the buffer. What was decoded by then has been called back with on return. */
void pt_flow_feed(struct pt_flow *flow, const uint8_t *bytes, size_t size);

/*
 * The same, up to where pt_flow_pause() was called from a callback, or (more is to come) to a
 * packet that goes on beyond the end. Returns how many bytes were used; the others are to be fed
 * again.
 */
size_t pt_flow_feed_some(struct pt_flow *flow, const uint8_t *bytes, size_t size, bool is_last);
void pt_flow_pause(struct pt_flow *flow);

/* What comes does not follow what was, as is known and no error: goes on at the next PSB. */
void pt_flow_resync(struct pt_flow *flow);

const struct pt_flow_stats *pt_flow_stats(const struct pt_flow *flow);

/* The address that execution stands at; 0: it is not traced, or not known. */
uint64_t pt_flow_address(const struct pt_flow *flow);
