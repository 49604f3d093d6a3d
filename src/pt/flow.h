/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reconstructs the execution from an Intel PT trace and the executed code.
 *
 * A decoder follows one buffer (a CPU's or a thread's) in the order of its bytes. The caller feeds
 * pieces of whole packets, and gets batches of events. Returns are never compressed across a PSB,
 * so a decoder can begin at any PSB. Therefore, independent decoders can decode the pieces between
 * PSBs.
 *
 * Decoding never fails. A part that can't be followed is an event PT_EV_ERROR with its reason,
 * place and time. It is counted, and decoding goes on at the next PSB.
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
	 * There are no MTC and CYC packets. For side_band, the time between two packets goes on by
	 * one tick for each instruction when tracing begins anew.
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
 * `code` stays the caller's. It decides whether all branches become events, or only calls, returns
 * and the events of the trace itself.
 */
struct pt_flow *pt_flow_new(const struct pt_flow_config *config, struct pt_code *code);
void pt_flow_free(struct pt_flow *flow); /* NULL is fine */
DEFINE_AT_EXIT(pt_flow_free, struct pt_flow)

/*
 * Behind a branch to pt_code.watched, feeding pauses after all events were given out. side_band is
 * called before the next packet. So the next thread is known from the kernel's switch on.
 */

/* Another address space from here on; or the same after pt_code_forget(). */
void pt_flow_set_code(struct pt_flow *flow, struct pt_code *code);

/* Decodes the next bytes of the buffer. On return, all their events were given out. */
void pt_flow_feed(struct pt_flow *flow, const uint8_t *bytes, size_t size);

/*
 * The same, up to a call of pt_flow_pause() in a callback; or up to a packet that goes on beyond
 * the end, unless `is_last`. Returns the number of used bytes. Feed the others again.
 */
size_t pt_flow_feed_some(struct pt_flow *flow, const uint8_t *bytes, size_t size, bool is_last);
void pt_flow_pause(struct pt_flow *flow);

/* The next bytes do not follow the former ones, which is no error. Goes on at the next PSB. */
void pt_flow_resync(struct pt_flow *flow);

const struct pt_flow_stats *pt_flow_stats(const struct pt_flow *flow);

/* The address that execution stands at; 0: it is not traced, or not known. */
uint64_t pt_flow_address(const struct pt_flow *flow);
