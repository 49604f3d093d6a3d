/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where execution stands. */
#pragma once

#include "pt/flow_state.h"

/* Sets the position to an address, in code of `width`. */
void pt_flow_arrive(struct pt_flow *f, uint64_t ip);

/* Execution is nowhere that is known. */
void pt_flow_stand_nowhere(struct pt_flow *f);

/* The packets that wait for a FUP have none. */
void pt_flow_forget_fup(struct pt_flow *f);

/* The addresses on the return stack stay, their blocks do not. */
void pt_flow_forget_nodes(struct pt_flow *f);

void pt_flow_clear_stack(struct pt_flow *f);

static inline bool pt_flow_is_traced(const struct pt_flow *f)
{
	return f->config.quick ? f->quick_ip : f->node;
}
