/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The checks of a block, and of the host that sends it, before a fleet stores it. They are the same
 * for a gateway (fleet/fleet_receive.h) and for a directory that hosts write to (fleet/ship.h).
 *
 * Clocks. The skew of a host's clock is known since it introduced itself. With a skew of more than
 * an hour, its blocks are refused: their time is wrong. A block may be ahead of the fleet's clock
 * by the skew and ten minutes.
 *
 * Clones. If two machines run under one name, as copies of a virtual machine do, the second one is
 * refused (host_facts_are_cloned()).
 *
 * Keys. A block whose key is known must have the samples and losses of the known one. Its bytes may
 * be others: names of functions become known later, and a service may have been forgotten.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fleet/block_check.h"

struct error;
struct file_mapping;
struct fleet_key;
struct host_facts;

struct block_offer {
	const struct host_facts *facts; /* of the host */
	const struct fleet_key *known;  /* the key that the fleet has of this block; NULL: none */
	const char *part;
	uint64_t bucket;                 /* CLOCK_REALTIME in ns */
	uint64_t now_ns;                 /* of the fleet's clock, CLOCK_REALTIME */
	const struct file_mapping *body; /* the segment */
	bool is_packed;                  /* by zstd */
};

/*
 * Asks the parser about the block. 0: it may be stored. 1: the fleet has it. -ETIME: a clock is
 * wrong. -ENOTUNIQ: the fleet has another block of this key. Others are of block_check_ask(). The
 * caller frees *out with block_check_fini(), also after a failure.
 */
int block_take_check(const struct block_offer *offer, struct block_check *out, struct error *err);

/*
 * Whether a failure of block_take_check() or fleet_host_take() is one of this block, and others may
 * be taken.
 */
bool block_take_is_refusal(int r);

/* Counts a refusal, which `assay fleet hosts` and `assay fleet audit` show. `facts` changes, too.
 */
void block_take_refused(const char *fleet, const char *host, struct host_facts *facts,
			const char *part, const char *sentence);

/*
 * A host introduces itself. *now replaces its facts, but for those that the fleet keeps, which are
 * put into *now. -EEXIST: another machine runs under this name; then the facts of the first one
 * stay, with a note. The host is locked.
 */
int host_introduce(const char *fleet, const char *host, struct host_facts *now, struct error *err);
