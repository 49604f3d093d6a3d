/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The packets of a trace, one by one. */
#pragma once

#include "pt/flow_state.h"

/* Reads the packet at hand; 0: none is left, or it can't be read (and an error is reported). */
int pt_flow_next_packet(struct pt_flow *f, struct pt_packet *p);

void pt_flow_on_packet(struct pt_flow *f, const struct pt_packet *p);

/* Walks until the directions in `tnt` are used up. */
void pt_flow_use_directions(struct pt_flow *f);

/* How many directions the last TNT packet had, which are not all used. */
unsigned int pt_flow_last_tnt(const struct pt_flow *f);
