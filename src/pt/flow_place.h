/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where execution stands. */
#pragma once

#include "pt/flow_state.h"

/* The machine that the last PIP told. */
void pt_flow_enter_machine(struct pt_flow *f);

/* A branch from one machine to the other comes. */
static inline bool pt_flow_crosses(const struct pt_flow *f)
{
	return f->is_guest != f->next_is_guest;
}

/* The place is an address, in code of `width` and of that machine; `position` stays. */
void pt_flow_arrive(struct pt_flow *f, uint64_t ip);

/* Nothing is known of the execution; from now on, `position` is this one. */
void pt_flow_stand_nowhere(struct pt_flow *f, enum pt_position position);

/* Drops directions, and what waits for a packet. */
void pt_flow_forget_packets(struct pt_flow *f);

/* The code may change: until pt_flow_enter_code(), the place is an address. */
void pt_flow_leave_code(struct pt_flow *f);
void pt_flow_enter_code(struct pt_flow *f);

void pt_flow_clear_stack(struct pt_flow *f);
