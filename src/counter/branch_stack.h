/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Branch stacks: the last branches that were taken before a sample. Some processors keep them:
 * Intel's LBR, AMD's BRS and LbrExtV2, Arm's BRBE. The source is perf_event_open(2),
 * PERF_SAMPLE_BRANCH_STACK and branch_sample_type.
 */
#pragma once

#include <stdint.h>

#include "counter/counter.h"

struct error;

/* The words of branch_kinds_parse(), for help. */
#define BRANCH_KINDS                                                                        \
	"any, any_call, any_ret, ind_call, ind_jmp, call, cond, call_stack, in_tx, no_tx, " \
	"abort_tx, u, k, hv, save_type"

/*
 * "any_call,u": bits of attr.branch_sample_type. Without a kind, all kinds. Without a mode (u, k,
 * hv), the kernel takes the event's modes. 0, or -EINVAL with err set.
 */
int branch_kinds_parse(const char *text, uint64_t *kinds, struct error *err);

/*
 * Each sample of these counters has a branch stack. 0, or -ENOTSUP with err set, if a counter is
 * none of the processor's own: the kernel has no branch stacks of others.
 */
int branch_stack_request(struct counters *counters, uint64_t kinds, struct error *err);
