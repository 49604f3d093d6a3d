/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The decoder's state, shared by flow.c (packets), walk.c and walk_hops.c (code). */
#pragma once

#include "pt/flow.h"
#include "pt/returns.h"

enum { PT_BATCH = 128 };

struct pt_flow {
	struct pt_flow_config config;
	struct pt_code *code;
	struct pt_time time;
	struct pt_flow_stats stats;
	uint64_t next_side_band;
	uint64_t cyc_at; /* offset of the last CYC packet; 0: none since the last time packet */
	bool begins_behind_cyc; /* only PADs lie between a CYC and `begin` */

	const uint8_t *begin, *at, *end; /* the piece */
	uint64_t offset;                 /* of `begin` in the buffer */
	enum pt_block block;

	struct pt_tnt tnt; /* directions not used yet */
	uint64_t last_ip;
	uint64_t insns;
	uint64_t said_tsc, said_cycles; /* of the events: see pt_flow_settle() */
	uint64_t insns_at_tsc;          /* `insns` at the last time packet */
	uint64_t psb_offset, psb_cbr;   /* of the PSB+ at hand */
	uint64_t psb_ip;                /* where tracing begins at its PSBEND; 0: it went on */
	uint32_t node;                  /* where execution stands; 0: not traced, or not known */
	uint64_t quick_ip;              /* the same, of quick decoding */
	uint8_t width;    /* of the code at the next address in the trace: 16, 32, 64 */
	bool is_in_sync;  /* a PSB was read, and nothing went wrong since */
	bool is_scanning; /* out of sync, but packets are still read for their time */
	struct pt_scan scan;
	bool seeks_ip;     /* position unknown: decoding goes on at the next address */
	uint64_t begun_at; /* of `insns`, where tracing began at a PSB */
	bool is_in_psb;    /* until PSBEND */
	bool psb_had_ip;   /* a FUP */
	bool is_async;     /* a FUP gave the source; a TIP or TIP.PGD gives the target */
	bool after_ovf;    /* the next FUP is the address where tracing goes on */
	bool has_new_code; /* pt_flow_set_code() was called */
	bool is_paused, is_last, is_cut; /* of pt_flow_feed_some() */
	bool was_at_watched;             /* since it was fed last */
	bool in_tx, tx_next, tx_abort;
	/* The packets that wait for the next FUP, which is their address. */
	bool fup_tx, fup_ptwrite, fup_power, fup_event, fup_block, fup_mode;
	bool event_of_branch; /* with fup_event: the FUP is an asynchronous branch's, too */
	bool iflag, next_iflag, knows_iflag; /* interrupts are on; next: with the next branch */
	uint8_t fup_detail, fup_type;
	uint8_t pebs_group; /* of the items that follow */
	bool has_items;     /* of a PEBS record that has not ended */
	uint64_t pip, vmcs; /* the last */
	uint64_t fup_payload;

	struct pt_returns returns;

	struct pt_event events[PT_BATCH];
	size_t n_events;
};

void pt_flow_flush(struct pt_flow *f);

/* Walks until the directions in `tnt` are used up. */
void pt_flow_use_directions(struct pt_flow *f);

/* Follows the time packet at hand. True: side_band() was called, and code may have changed. */
bool pt_flow_on_time(struct pt_flow *f, const struct pt_packet *p);

/* Walks to an address of the trace. If that fails, reports an error and seeks the next PSB. */
void pt_flow_walk_to(struct pt_flow *f, uint64_t ip);

static inline void pt_flow_emit(struct pt_flow *f, enum pt_event_kind kind, uint64_t from,
				uint64_t to, unsigned int flags, unsigned int detail)
{
	if (f->n_events == PT_BATCH)
		pt_flow_flush(f);
	f->events[f->n_events++] = (struct pt_event){ .from = from,
						      .to = to,
						      .tsc = f->said_tsc,
						      .insns = f->insns,
						      .cycles = f->said_cycles,
						      .flags = (uint16_t)flags,
						      .kind = (uint8_t)kind,
						      .detail = (uint8_t)detail };
}

static inline bool pt_flow_is_settled(const struct pt_flow *f)
{
	return f->said_tsc == f->time.tsc && f->said_cycles == f->time.cycles;
}

/*
 * A time packet holds the time of the first branch that its TNT or TIP packet is for. Instructions
 * and direct branches on the way to that branch keep the time of the packet before. `insns`: the
 * instructions that ran before the branch.
 */
static inline void pt_flow_settle(struct pt_flow *f, uint64_t insns)
{
	uint64_t now = f->insns;

	if (pt_flow_is_settled(f))
		return;
	f->said_tsc = f->time.tsc;
	f->said_cycles = f->time.cycles;
	if (f->config.no_branches)
		return;
	f->insns = insns;
	pt_flow_emit(f, PT_EV_TIME, 0, f->insns_at_tsc, 0, 0);
	f->insns = now;
}

/* Quick decoding: execution is at `ip`, at the time of the packet at hand. */
static inline void pt_flow_say_ip(struct pt_flow *f, uint64_t ip)
{
	pt_flow_settle(f, f->insns);
	pt_flow_emit(f, PT_EV_IP, ip, 0, 0, 0);
}

/* Direct branches come before the branch of the last time packet. */
static inline void pt_flow_tell_ahead(struct pt_flow *f)
{
	if (!pt_flow_is_settled(f))
		pt_flow_emit(f, PT_EV_TIME, f->time.tsc, f->insns, 0, 0);
}

/* The size of the instruction that ends a block. */
static inline uint8_t pt_end_size(const struct pt_node *node)
{
	return (uint8_t)(node->after - node->last);
}

/* Where execution stands; 0: nowhere. */
static inline uint64_t pt_flow_ip(const struct pt_flow *f)
{
	if (f->config.quick)
		return f->quick_ip;
	return f->node ? pt_node(f->code, f->node)->start : 0;
}

/* The result of a walk. */
enum pt_walk {
	PT_WALK_DONE,
	PT_WALK_NEEDS_TIP, /* an indirect branch, with directions left */
	/* Errors: */
	PT_WALK_NO_CODE,
	PT_WALK_MISMATCH,
	PT_WALK_LOOP,
};

/* Behind a TIP, on to the next ones, as far as hops are known. */
void pt_walk_hops(struct pt_flow *f);

/* Uses up the directions in `tnt`, except the last `keep`. */
enum pt_walk pt_walk_tnt(struct pt_flow *f, unsigned int keep);

/* To the next branch that a TIP is for, and over it to `ip`. */
enum pt_walk pt_walk_tip(struct pt_flow *f, uint64_t ip);

/* To the branch that left the traced code. It is reported with `to` (0: not known). */
enum pt_walk pt_walk_out(struct pt_flow *f, uint64_t to);

/* To an instruction, without a branch that would need a packet. */
enum pt_walk pt_walk_to(struct pt_flow *f, uint64_t ip);

/* Sets the position to an address, in code of `width`. */
void pt_walk_arrive(struct pt_flow *f, uint64_t ip);
