/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PEBS records in a trace (BBP … BEP). Gathers their items, and makes the fields of a sample of
 * them.
 *
 *   group      items                                             sample
 *   registers  RFLAGS RIP RAX RCX RDX RBX RSP RBP RSI RDI R8 …   iregs, by REGS_INTR's mask
 *   XMM        two a register                                    iregs, from bit 32 on
 *   basic      address, counters, TSC                            ip, events, time
 *   memory     address, auxiliary, latency, TSX                  addr, weight, transaction
 *   LBR        from, to, information; three groups of eight      branch stack
 *
 * The groups and items are those of the SDM, tables "BBP Block Types" and below. The fields are
 * those that the kernel makes of PEBS records in memory (arch/x86/events/intel/ds.c), and perf of
 * those in a trace. The auxiliary information depends on the processor, and is not used.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "pt/event.h"

enum { PT_PEBS_ITEMS = 32, PT_PEBS_LBRS = 24 };

/* In the order of the items that they have. */
enum { N_PT_PEBS_GROUPS = 7 };

struct pt_pebs {
	uint32_t has[N_PT_PEBS_GROUPS]; /* a bit an item */
	uint64_t items[N_PT_PEBS_GROUPS][PT_PEBS_ITEMS];
	bool is_32_bit; /* its registers */
};

/* The parts of a sample that need memory, as long as the sample is used. */
struct pt_pebs_room {
	uint64_t registers[64];
	struct branch branches[PT_PEBS_LBRS];
};

/* An event PT_EV_ITEM. Items of unknown groups are dropped. */
void pt_pebs_take(struct pt_pebs *p, const struct pt_event *e);
void pt_pebs_clear(struct pt_pebs *p);

uint64_t pt_pebs_ip(const struct pt_pebs *p);       /* 0: not told */
uint64_t pt_pebs_tsc(const struct pt_pebs *p);      /* 0: not told */
uint64_t pt_pebs_counters(const struct pt_pebs *p); /* a bit each that it is for; 0: not told */

struct perf_event_attr;
/* What the event's sample_type asks for and the record has, into the sample's extras. */
void pt_pebs_fill(const struct pt_pebs *p, const struct perf_event_attr *attr,
		  struct sample_extra *out, struct pt_pebs_room *room);
