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
	uint64_t cyc_at;        /* offset of the last CYC packet; 0: none since time was told */
	bool begins_behind_cyc; /* `begin` is, but for PADs */

	const uint8_t *begin, *at, *end; /* the piece */
	uint64_t offset;                 /* of `begin` in all that was fed */
	enum pt_block block;

	struct pt_tnt tnt; /* directions not used yet */
	uint64_t last_ip;
	uint64_t insns;
	uint64_t said_tsc, said_cycles; /* that events have: see pt_flow_settle() */
	uint64_t insns_at_tsc;          /* when the time was told last */
	uint64_t psb_offset, psb_cbr;   /* of the PSB+ at hand */
	uint64_t psb_ip;                /* where tracing begins at its PSBEND; 0: it went on */
	uint32_t node;                  /* where execution stands; 0: not traced, or not known */
	uint64_t quick_ip;              /* the same, of quick decoding */
	uint8_t width;                  /* of the code at the next address that is told */
	bool is_in_sync;                /* a PSB was read, and nothing went wrong since */
	bool is_scanning;               /* out of sync, but these are packets: they tell the time */
	struct pt_scan scan;
	bool seeks_ip;     /* the way was lost: the next address that is told is where we go on */
	uint64_t begun_at; /* of `insns`, where tracing began at a PSB */
	bool is_in_psb;    /* until PSBEND */
	bool psb_had_ip;   /* a FUP */
	bool is_async;     /* a FUP told where; a TIP or TIP.PGD is to tell where to */
	bool after_ovf;    /* a FUP tells where tracing goes on */
	bool has_new_code; /* pt_flow_set_code() was called */
	bool is_paused, is_last, is_cut; /* of pt_flow_feed_some() */
	bool was_at_watched;             /* since it was fed last */
	bool in_tx, tx_next, tx_abort;
	/* What the next FUP is the address of. */
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

/* Walks as far as the directions that are there lead. */
void pt_flow_use_directions(struct pt_flow *f);

/* Follows the time packet at hand. True: side band was, too, and code may have changed. */
bool pt_flow_on_time(struct pt_flow *f, const struct pt_packet *p);

/* Walks to an address that was told; where that fails it is said, and the trace is lost. */
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
 * A packet tells the time of the first branch that it is for: instructions and direct branches on
 * the way there have that of the packet before. `insns`: run before the branch.
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

/* Direct branches come before the one that a time was read for. */
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

/* What a walk came to. */
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

/* Uses up the directions that are there, or all but `keep`. */
enum pt_walk pt_walk_tnt(struct pt_flow *f, unsigned int keep);

/* To the next branch that a TIP is for, and over it to `ip`. */
enum pt_walk pt_walk_tip(struct pt_flow *f, uint64_t ip);

/* To the branch that left what is traced, which is reported with `to` (0: not told). */
enum pt_walk pt_walk_out(struct pt_flow *f, uint64_t to);

/* To an instruction, without a branch that would need a packet. */
enum pt_walk pt_walk_to(struct pt_flow *f, uint64_t ip);

/* Stands at an address from now on, in code of the width that was told. */
void pt_walk_arrive(struct pt_flow *f, uint64_t ip);
