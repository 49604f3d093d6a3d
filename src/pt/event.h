/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events that a decoder (flow.h) makes of a trace. An event has its kind, a member of that
 * kind, and the time and the counts that hold there.
 *
 * An address `ip` is the place of execution. It is 0 where the trace does not tell it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "pt/branch.h"

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

/* X(ID, member, name): the kind PT_EV_ID is the member of the union in struct pt_event. */
#define PT_EVENTS(X)                            \
	X(BRANCH, branch, "branch")             \
	X(TX, tx, "transaction")                \
	X(PTWRITE, ptwrite, "ptwrite")          \
	X(CBR, cbr, "cbr")                      \
	X(POWER, power, "power")                \
	X(CFE, cfe, "cfe")                      \
	X(EVD, evd, "evd")                      \
	X(TRIG, trig, "trig")                   \
	X(INTERRUPTS, interrupts, "interrupts") \
	X(PSB, psb, "psb")                      \
	X(ERROR, error, "error")                \
	X(UNVERIFIED, unverified, "unverified") \
	X(PLACE, place, "ip")                   \
	X(CR3, cr3, "cr3")                      \
	X(VMCS, vmcs, "vmcs")                   \
	X(WIDTH, width, "width")                \
	X(ITEM, item, "item")                   \
	X(PEBS, pebs, "pebs")                   \
	X(TIME, time, "time")                   \
	X(TIME_AHEAD, time_ahead, "time-ahead") \
	X(RESUME, resume, "resume")

enum pt_event_kind {
#define X(id, member, name) PT_EV_##id,
	PT_EVENTS(X)
#undef X
		N_PT_EVENTS
};

extern const char *const pt_event_names[N_PT_EVENTS];

/* Of resume.n_ends: its reader takes a step for each end. */
enum { PT_MAX_ENDS = 3 };

/* The groups of a PEBS record's items: the types of BBP packets (SDM, table "BBP Block Types"). */
enum pt_pebs_group {
	PT_PEBS_REGISTERS = 1, /* RFLAGS, RIP, RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8 … R15 */
	PT_PEBS_BASIC = 4,     /* address, counters that it is for, TSC */
	PT_PEBS_MEMORY = 5,    /* address, auxiliary information, latency, TSX information */
	PT_PEBS_LBR = 8,       /* and two more: from, to and information of each branch */
	PT_PEBS_XMM = 16,      /* two items a register */
};

/* A change of the interrupt flag. */
enum pt_interrupts_cause {
	PT_INTERRUPTS_AT_IP,     /* at an instruction, or an event of the processor: `from` */
	PT_INTERRUPTS_BY_BRANCH, /* by the branch that is the next event: `from`, `to`, `flags` */
	PT_INTERRUPTS_STATUS,    /* it did not change here: a PSB tells the present state */
};

struct pt_branch {
	uint8_t kind, end; /* end: enum pt_end */
	uint16_t flags;    /* enum pt_flags */
	uint8_t insn_size; /* of the instruction that made it; 0: none did */
	/* 0: tracing begins here, or it ends for a place that is not traced. */
	uint64_t from, to;
};

/* The members begin with `kind`, so that an event is no larger than it has to be. */
struct pt_event {
	uint64_t tsc;    /* the last that is known, as perf has it; 0: none yet */
	uint64_t insns;  /* run since the decoder began, this branch's included */
	uint64_t cycles; /* counted since then (CYC) */
	union {
		uint8_t kind; /* enum pt_event_kind */
		struct pt_branch branch;
		struct { /* a transaction began, or was committed or aborted */
			uint8_t kind;
			bool is_begin, aborts; /* aborts: the next branch leads out of it */
			uint64_t ip;
		} tx;
		/* is_exact: the trace has the address. Else it is the last that is known. */
		struct {
			uint8_t kind;
			bool is_exact;
			uint64_t ip, value;
		} ptwrite;
		struct {
			uint8_t kind, ratio; /* core to bus */
			uint64_t ip;
		} cbr;
		struct {
			uint8_t kind, type; /* type: enum pt_type (MWAIT, PWRE, EXSTOP, PWRX) */
			bool is_exact;
			uint64_t ip, payload;
		} power;
		struct { /* an event of the processor, with the EVDs before it */
			uint8_t kind, type;
			uint64_t ip, vector;
		} cfe;
		struct {
			uint8_t kind, type;
			uint64_t payload;
		} evd;
		struct {
			uint8_t kind;
			uint16_t trbv;
			uint64_t ip, payload;
		} trig;
		struct {
			uint8_t kind, cause; /* cause: enum pt_interrupts_cause */
			uint16_t flags;      /* of the branch: enum pt_flags */
			bool is_on;          /* from here on */
			uint64_t from, to;   /* to: of the branch */
		} interrupts;
		struct {
			uint8_t kind;
			uint64_t ip, offset; /* ip: 0 also where tracing begins */
		} psb;
		struct {
			uint8_t kind, reason; /* reason: enum pt_error */
			uint64_t ip, offset;
		} error;
		/*
		 * Ends a stretch with an error in it. All of it is in doubt, from a PSB to the next
		 * or to the end of the bytes: an error shows up later than its cause.
		 */
		struct {
			uint8_t kind;
			bool is_confirmed;      /* execution stands where the PSB at its end is */
			uint64_t insns, offset; /* of the stretch, and where it begins */
		} unverified;
		struct { /* execution was there: quick decoding alone */
			uint8_t kind;
			uint64_t ip;
		} place;
		/* Address spaces: an event comes when it is another. */
		struct {
			uint8_t kind;
			bool is_guest; /* in a virtual machine */
			uint64_t value;
		} cr3;
		struct {
			uint8_t kind;
			uint64_t address;
		} vmcs;
		struct { /* of the code from here on: 16, 32 or 64; 64 before the first such event
			  */
			uint8_t kind, bits;
		} width;
		struct { /* of a PEBS record: enum pt_pebs_group, and the number in there */
			uint8_t kind, group, number;
			bool is_32_bit; /* the item has 4 bytes */
			uint64_t value;
		} item;
		struct { /* the record of the items before is whole */
			uint8_t kind;
			uint64_t ip;
		} pebs;
		/*
		 * From here on, `tsc` and `cycles` hold. A packet's time holds from the branch on
		 * that the packet is for. What comes before that branch has the time of the packet
		 * before.
		 */
		struct {
			uint8_t kind;
			uint64_t insns_at_packet; /* that were followed when it was read */
		} time;
		/* The same packet where direct branches come first: nothing holds yet. */
		struct {
			uint8_t kind;
			uint64_t tsc; /* of the packet */
			uint64_t insns_at_packet;
		} time_ahead;
		/*
		 * Branches before this were left out (pt_flow_config.sample_ticks). From here on,
		 * each is an event again.
		 */
		struct {
			uint8_t kind;
			bool is_ahead;  /* `tsc` does not hold yet, as in time_ahead */
			uint8_t n_ends; /* how often tracing ended meanwhile, PT_MAX_ENDS at most */
			bool is_traced; /* tracing is on */
			uint32_t ticks; /* instructions since the packet that told `tsc` */
			uint64_t ip; /* 0: not known, and the next event is a branch or an error */
			uint64_t tsc;
		} resume;
	};
};
_Static_assert(sizeof(struct pt_event) == 48, "events are most of a trace's memory");
