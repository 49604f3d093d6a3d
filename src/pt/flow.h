/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reconstructs the execution from an Intel PT trace and the executed code.
 *
 * A decoder follows one buffer (a CPU's or a thread's) in the order of its bytes. The caller feeds
 * pieces of whole packets, and gets batches of events. Returns are never compressed across a PSB,
 * so a decoder can begin at any PSB. Therefore, independent decoders can decode the pieces between
 * PSBs.
 *
 * Decoding never fails. A part that can't be followed is an event PT_EV_ERROR with its reason,
 * place and time. It is counted, and decoding goes on at the next address or PSB.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pt/code.h"
#include "pt/flow_config.h"

struct pt_flow;

/*
 * `code` stays the caller's. It decides whether all branches become events, or only calls, returns
 * and the events of the trace itself.
 */
struct pt_flow *pt_flow_new(const struct pt_flow_config *config, struct pt_code *code);
void pt_flow_free(struct pt_flow *flow); /* NULL is fine */
DEFINE_AT_EXIT(pt_flow_free, struct pt_flow)

/*
 * Behind a branch to pt_code.watched, feeding pauses after all events were given out. side_band is
 * called before the next packet. So the next thread is known from the kernel's switch on.
 */

/*
 * Another address space from here on; or the same after pt_code_forget(). Outside of side_band,
 * call it with NULL first, before anything changes: the place of execution has to outlive its
 * block.
 */
void pt_flow_set_code(struct pt_flow *flow, struct pt_code *code);

/* Decodes the next bytes of the buffer. On return, all their events were given out. For tests. */
void pt_flow_feed(struct pt_flow *flow, const uint8_t *bytes, size_t size);

/*
 * The same, up to a call of pt_flow_pause() in a callback; or up to a packet that goes on beyond
 * the end, unless `is_last`. Returns the number of used bytes. Feed the others again.
 */
size_t pt_flow_feed_some(struct pt_flow *flow, const uint8_t *bytes, size_t size, bool is_last);
void pt_flow_pause(struct pt_flow *flow);

/* No bytes follow: gives out what waits. */
void pt_flow_end(struct pt_flow *flow);

/* The next bytes do not follow the former ones, which is no error. Goes on at the next PSB. */
void pt_flow_resync(struct pt_flow *flow);

/* The same, and the next bytes are at `offset` of the buffer. */
void pt_flow_resync_at(struct pt_flow *flow, uint64_t offset);

const struct pt_flow_stats *pt_flow_stats(const struct pt_flow *flow);

/* The address that execution stands at; 0: it is not traced, or not known. */
uint64_t pt_flow_address(const struct pt_flow *flow);

/* From the next byte on, so much is added to the time of TSC packets (pt_time_shift()). */
void pt_flow_shift_tsc(struct pt_flow *flow, uint64_t shift);

/* The time of the last packet that told it; 0: none has. */
uint64_t pt_flow_tsc(const struct pt_flow *flow);
