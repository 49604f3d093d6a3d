/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of packets that stand for themselves: PTWRITE, power, event trace, PEBS. */
#pragma once

#include "trace/pt_synth_state.h"

/* An item of a PEBS record. */
void synth_take_item(struct pt_synth *s, const struct pt_event *e);

/*
 * The record is whole. The kernel tells which counter has which number in it; where it does not,
 * there is one event.
 */
int synth_push_pebs(struct pt_synth *s, const struct pt_event *e);

/* A word of flags, then the payload. */
int synth_push_payload(struct pt_synth *s, uint64_t tsc, enum pt_synth_id id, uint64_t ip,
		       uint32_t flags, uint64_t payload);
int synth_push_cbr(struct pt_synth *s, const struct pt_event *e);
int synth_push_power(struct pt_synth *s, const struct pt_event *e);

/* Event trace: an EVD waits for its CFE. */
void synth_take_evd(struct pt_synth *s, const struct pt_event *e);
int synth_push_cfe(struct pt_synth *s, const struct pt_event *e);

/* A change of the interrupt flag. */
int synth_push_iflag(struct pt_synth *s, const struct pt_event *e);
