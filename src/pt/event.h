/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events that a decoder (flow.h) makes of a trace. */
#pragma once

#include <stdint.h>

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
