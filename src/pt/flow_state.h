/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The decoder's state, which the files flow_… and walk… share. */
#pragma once

#include "pt/code.h"
#include "pt/flow_config.h"
#include "pt/packet.h"
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
	uint64_t psb_offset;            /* of the PSB+ at hand */
	uint8_t psb_cbr;                /* its ratio; 0: none */
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
	uint8_t pebs_group;                  /* of the items that follow */
	bool has_items;                      /* of a PEBS record that has not ended */
	uint64_t pip, vmcs;                  /* the last */
	struct pt_packet fup_packet;         /* of PTWRITE, power, event */

	struct pt_returns returns;

	struct pt_event events[PT_BATCH];
	size_t n_events;
};

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
