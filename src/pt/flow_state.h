/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The decoder's state, which the files flow_… and walk… share. Two state machines run side by side.
 *
 * pt_sync, how the bytes are read:
 *
 *     SKIPPING              a PSB                           IN_PSB
 *     IN_PSB                PSBEND                          FOLLOWING (quickest: SKIPPING)
 *     IN_PSB                OVF                             FOLLOWING
 *     FOLLOWING             a PSB                           IN_PSB
 *     IN_PSB                no packet, or a misplaced one   FOLLOWING
 *     IN_PSB, FOLLOWING     bytes are lost                  SKIPPING
 *
 * pt_position, the knowledge of the place of execution:
 *
 *     NOWHERE               TIP.PGE; PSBEND, with a FUP     EXECUTING
 *     EXECUTING             a FUP of no packet              AT_ASYNC
 *     AT_ASYNC              TIP, PSB                        EXECUTING
 *     EXECUTING, AT_ASYNC   TIP.PGD                         NOWHERE
 *     EXECUTING, AT_ASYNC   a walk fails                    SEEKING
 *     SEEKING               an address of readable code     EXECUTING
 *     SEEKING               PSB                             NOWHERE
 *     any                   OVF                             AFTER_OVERFLOW
 *     AFTER_OVERFLOW        FUP, TIP.PGE; PSBEND            EXECUTING
 *     any                   out of sync                     NOWHERE
 *
 * Several packets may wait for the same FUP, so these are a set of flags: pt_pending.
 */
#pragma once

#include <assert.h>

#include "pt/code.h"
#include "pt/errata.h"
#include "pt/flow_config.h"
#include "pt/packet.h"
#include "pt/returns.h"

enum { PT_BATCH = 128 };

enum pt_sync {
	PT_SKIPPING,  /* up to the next PSB, nothing is read */
	PT_IN_PSB,    /* between PSB and PSBEND */
	PT_FOLLOWING, /* a PSB was read, and nothing went wrong since */
};

enum pt_position {
	PT_NOWHERE,        /* tracing is off, or no address is known yet */
	PT_SEEKING,        /* it is not known: decoding goes on at the next address */
	PT_AFTER_OVERFLOW, /* the next FUP is the address where tracing goes on */
	PT_EXECUTING,      /* from here on, the place is known */
	PT_AT_ASYNC,       /* a FUP gave the source; a TIP or TIP.PGD gives the target */
};

/* The address in a PSB+. */
enum pt_psb_address {
	PT_PSB_NO_ADDRESS,
	PT_PSB_GOES_ON, /* it is where execution stands */
	PT_PSB_BEGINS,  /* at PSBEND, tracing begins there */
};

/* Packets that wait for the next FUP, which is their address: a set. */
enum pt_pending {
	PT_PENDING_PTWRITE = 1 << 0,
	PT_PENDING_POWER = 1 << 1,
	PT_PENDING_EVENT = 1 << 2,           /* a CFE or TRIG with an address of its own */
	PT_PENDING_EVENT_OF_BRANCH = 1 << 3, /* a CFE: the FUP is an asynchronous branch's, too */
	PT_PENDING_RECORD = 1 << 4,          /* the end of a PEBS record */
	PT_PENDING_INTERRUPTS = 1 << 5,      /* a change of the interrupt flag */
	PT_PENDING_TX_BEGIN = 1 << 6,
	PT_PENDING_TX_END = 1 << 7,
	PT_PENDING_TX = PT_PENDING_TX_BEGIN | PT_PENDING_TX_END,
};

/* Reasons to return from pt_flow_feed_some(): a set. */
enum pt_stop {
	PT_STOP_PAUSED = 1 << 0,  /* by pt_flow_pause() */
	PT_STOP_CUT = 1 << 1,     /* a packet, or a PSB, may go on beyond the end */
	PT_STOP_WATCHED = 1 << 2, /* behind a branch to pt_code.watched */
};

/* Facts that depend on no other: a set. */
enum pt_fact {
	PT_FACT_IN_TX = 1 << 0,
	PT_FACT_TX_ABORTS = 1 << 1,         /* the next asynchronous branch is an abort */
	PT_FACT_HAS_ITEMS = 1 << 2,         /* of a PEBS record that has not ended */
	PT_FACT_BEGINS_BEHIND_CYC = 1 << 3, /* only PADs lie between a CYC and `begin` */
	PT_FACT_IS_LAST = 1 << 4,           /* no bytes follow `end` */
	PT_FACT_IN_DOUBT = 1 << 5,          /* an error since the last PSB: it may be earlier */
	PT_FACT_BAD_BYTES = 1 << 6,         /* bytes since the last PSB are no packet */
};

enum pt_interrupt_flag { PT_INTERRUPTS_UNKNOWN, PT_INTERRUPTS_OFF, PT_INTERRUPTS_ON };

struct pt_flow {
	struct pt_flow_config config;
	struct pt_code *code;
	struct pt_time time;
	struct pt_flow_stats stats;
	uint64_t next_side_band;
	uint64_t cyc_at; /* offset of the last CYC packet; 0: none since the last time packet */

	const uint8_t *begin, *at, *end; /* the piece */
	/*
	 * Its real end. Behind bytes that are no packet, `end` is the next PSB at most: what seems
	 * to be a packet might hide it.
	 */
	const uint8_t *fed_end;
	uint64_t offset; /* of `begin` in the buffer */
	enum pt_block block;
	uint8_t sync;     /* enum pt_sync */
	uint8_t position; /* enum pt_position */
	uint8_t pending, stops, facts;

	/*
	 * The place of execution. `node` is 0 in quick decoding, and while the code may change;
	 * then `ip` is the place. Both are 0 where none is known.
	 */
	uint32_t node;
	uint64_t ip;
	uint8_t width;      /* of the code at the next address in the trace: 16, 32, 64 */
	uint8_t said_width; /* of the code at hand: that of the last PT_EV_WIDTH; 0: none yet */

	struct pt_tnt tnt; /* directions not used yet */
	/* Where the last of them were collected, up to `at`; NULL: in a piece before. */
	const uint8_t *tnt_from;
	unsigned int n_last_tnt; /* directions of the last TNT packet of the piece before */
	uint64_t last_ip;
	uint64_t insns;
	uint64_t steps;                 /* over direct branches (walk.c) */
	uint64_t said_tsc, said_cycles; /* of the events: see pt_flow_settle() */
	uint64_t insns_at_tsc;          /* `insns` at the last time packet */
	/*
	 * Branches and PT_EV_TIME are no events: config.no_branches, or no sample is near. Then it
	 * stays so up to `quiet_until` instructions. It does not begin before `loud_until`.
	 */
	bool is_quiet;
	uint64_t quiet_until, loud_until;
	uint8_t n_ends;          /* of PT_EV_RESUME */
	uint64_t begun_at;       /* of `insns`, where tracing began at a PSB */
	uint64_t overlap;        /* at the end of a piece: see struct pt_joint */
	uint64_t period_insns;   /* `insns` at the last PSB, … */
	uint64_t period_offset;  /* … and where that is */
	uint64_t doubtful_insns; /* of periods that have ended: see pt_flow_stats */
	uint64_t bad_progress;   /* instructions and branches at the last bad byte */
	struct {
		uint64_t offset, ip; /* ip: of PT_PSB_BEGINS */
		uint8_t address;     /* enum pt_psb_address */
		uint8_t cbr;         /* its ratio; 0: none */
		uint8_t width;       /* of the code there; 0: it does not tell */
	} psb;                       /* the last PSB+ */
	/* Of these, PT_PENDING_PTWRITE, _POWER, and _EVENT or _EVENT_OF_BRANCH wait. */
	struct pt_packet pending_ptwrite, pending_power, pending_event;
	uint8_t interrupts, next_interrupts; /* enum pt_interrupt_flag; next: by the next branch */
	uint8_t pebs_group;                  /* of the items that follow */
	uint64_t pip, vmcs;                  /* the last */
	/* The machine that execution is in, and that of the next address (the last PIP). */
	bool is_guest, next_is_guest;

	struct pt_returns returns;

	struct pt_event events[PT_BATCH];
	size_t n_events;
};

static inline bool pt_flow_is_in_sync(const struct pt_flow *f)
{
	return f->sync >= PT_IN_PSB;
}

static inline bool pt_flow_is_traced(const struct pt_flow *f)
{
	return f->position >= PT_EXECUTING;
}

static inline bool pt_flow_has(const struct pt_flow *f, enum pt_erratum erratum)
{
	return f->config.errata & erratum;
}

static inline void pt_flow_set_fact(struct pt_flow *f, enum pt_fact fact, bool holds)
{
	f->facts = (uint8_t)(holds ? f->facts | fact : f->facts & ~fact);
}

/* The size of the instruction that ends a block. */
static inline uint8_t pt_end_size(const struct pt_node *node)
{
	return (uint8_t)(node->after - node->last);
}

/* Where execution stands; 0: nowhere. */
static inline uint64_t pt_flow_ip(const struct pt_flow *f)
{
	return f->node ? pt_node(f->code, f->node)->start : f->ip;
}

/* What holds between two packets. */
static inline void pt_flow_check(const struct pt_flow *f)
{
	assert(f->at >= f->begin && f->at <= f->end);
	assert(pt_flow_is_traced(f) || (!f->node && !f->ip));
	assert(!f->config.quick || !f->node);
	assert(f->node < f->code->nodes.n);
	assert(f->sync == PT_IN_PSB || f->psb.address != PT_PSB_BEGINS);
	assert((f->pending & PT_PENDING_TX) != PT_PENDING_TX);
	assert(pt_depth(&f->returns) <= PT_STACK);
	assert(f->tnt.n <= 64);
}
