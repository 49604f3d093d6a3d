/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of the instructions between two branches. */
#pragma once

#include "trace/pt_synth_state.h"

/*
 * The number of instructions up to an event. If code and trace do not fit, the branch of a time
 * packet may not have been reached. Then the number is one less.
 */
uint64_t synth_insns_up_to(const struct synth_queue *q, const struct pt_event *e);

/* Begins the period that time is in, as the next instruction would: it has no sample. */
void synth_catch_up(const struct pt_synth *s, struct synth_period *p);

/*
 * Passes the `n` instructions up to this event, or on the way to it; code between two taken
 * branches is in a row. `last`: the address of the last of them; 0: not known. Samples them.
 */
int synth_pass_some(struct pt_synth *s, const struct pt_event *e, uint64_t n, uint64_t last);

int synth_pass_instructions(struct pt_synth *s, const struct pt_event *e, uint64_t last);
