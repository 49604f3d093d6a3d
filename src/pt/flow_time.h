/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows the time of a trace, and the side band along with it. */
#pragma once

#include "pt/flow_state.h"

/* So many ticks before and behind the time of a sample, all branches are events. */
enum { PT_NEAR_SAMPLE = 1024 };

/* Tracing begins or ends; cycles count while it is on. */
void pt_flow_time_on(struct pt_flow *f, bool is_on);

/* Follows the time packet at hand. True: side_band() was called, and code may have changed. */
bool pt_flow_on_time(struct pt_flow *f, const struct pt_packet *p);

/*
 * Follows an MTC behind which the flow goes on as before: no side band is due, and no sample is
 * near. False: nothing has changed, and pt_flow_on_time() follows it.
 */
bool pt_flow_pass_mtc(struct pt_flow *f, uint8_t mtc);

/* Side band up to `tsc` is due or not yet. True: it was followed, and code may have changed. */
bool pt_flow_follow_side_band(struct pt_flow *f, uint64_t tsc);

/* Whether the packet at hand comes right behind a CYC, but for PADs. */
bool pt_flow_is_after_cyc(const struct pt_flow *f);
