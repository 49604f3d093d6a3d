/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the way through the code begins, where it is lost, and where it goes on. */
#pragma once

#include "pt/flow_state.h"
#include "pt/walk.h"

/* Tracing begins at an address. */
void pt_flow_begin_at(struct pt_flow *f, uint64_t ip);

/* Where the way was lost: there is an address. In code that can't be read it stays lost. */
void pt_flow_go_on_at(struct pt_flow *f, uint64_t ip);

void pt_flow_report_error(struct pt_flow *f, uint64_t ip, enum pt_error reason);

/* The bytes end inside a packet. */
void pt_flow_lose_rest(struct pt_flow *f);

/*
 * The byte at hand begins no packet: goes on at the next byte, and then at the next address. Up to
 * the next PSB, packets may be made of anything, so their times are not believed.
 */
void pt_flow_pass_bad_byte(struct pt_flow *f);

/* Where the next PSB is, or may have begun; else the end of the bytes. */
const uint8_t *pt_flow_next_psb(const struct pt_flow *f);

/* Behind such bytes, decoding stops before the next PSB and begins anew there. */
void pt_flow_find_limit(struct pt_flow *f);

/* The packets do not fit the code: goes on at the next address. */
void pt_flow_lose_way(struct pt_flow *f, enum pt_error reason);

/* The next bytes do not follow the former ones. Goes on at the next PSB. */
void pt_flow_lose_bytes(struct pt_flow *f);

/* True when the walk went well; else the trace is lost. */
bool pt_flow_check_walk(struct pt_flow *f, enum pt_walk r);

/* At a PSB, where a stretch that is in doubt ends. */
void pt_flow_begin_period(struct pt_flow *f, bool is_confirmed);

/* The same at the end of the bytes, or where other bytes follow. */
void pt_flow_end_period(struct pt_flow *f, bool is_confirmed);

/* Instructions of doubtful periods, the one at hand included. */
static inline uint64_t pt_flow_doubtful_insns(const struct pt_flow *f)
{
	return f->doubtful_insns + (f->facts & PT_FACT_IN_DOUBT ? f->insns - f->period_insns : 0);
}
