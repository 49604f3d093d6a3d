/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks through the code, as the packets of a trace say. */
#pragma once

#include "pt/flow_state.h"

/* The result of a walk. */
enum pt_walk {
	PT_WALK_DONE,
	PT_WALK_NEEDS_TIP, /* an indirect branch, with directions left */
	/* Errors: */
	PT_WALK_NO_CODE,
	PT_WALK_MISMATCH,
	PT_WALK_LOOP,
};

/* Uses up the directions in `tnt`, except the last `keep`. */
enum pt_walk pt_walk_tnt(struct pt_flow *f, unsigned int keep);

/* To the next branch that a TIP is for, and over it to `ip`. */
enum pt_walk pt_walk_tip(struct pt_flow *f, uint64_t ip);

/* To the branch that left the traced code. It is reported with `to` (0: not known). */
enum pt_walk pt_walk_out(struct pt_flow *f, uint64_t to);

/* Whether an instruction is near, without a branch that would need a packet. */
bool pt_walk_reaches(const struct pt_flow *f, uint64_t ip);

/* To such an instruction. */
enum pt_walk pt_walk_to(struct pt_flow *f, uint64_t ip);
