/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ways out of Java's frames (lang/hotspot.h), with the registers and the stack of a walk. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lang/hotspot.h"
#include "unwind/regs.h"
#include "unwind/rule.h"

struct unwind_ctx;

/* A word of an interpreted frame, by its distance from the frame pointer. False: it is not there.
 */
bool java_read_by_fp(const struct unwind_regs *regs, struct unwind_ctx *stack, int words,
		     uint64_t *out);

/* Where a way leads to. False: the stack does not have it. */
bool java_return_address(const struct hotspot_leave *leave, const struct unwind_regs *regs,
			 struct unwind_ctx *stack, uint64_t *pc);

struct unwind_rule java_rule_of(const struct hotspot_leave *leave);
