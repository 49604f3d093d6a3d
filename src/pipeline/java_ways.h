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

/*
 * On AArch64, whether a way is that to the caller. An interpreted frame has the stack pointer of
 * its caller if that is compiled. An interpreted caller goes by its own frame pointer, as its
 * stack pointer may be below this frame. `caller`: of an interpreted frame; NULL: it is not known.
 */
bool java_is_way_of_aarch64(const struct hotspot_blob *blob, const struct hotspot_leave *leave,
			    const struct unwind_regs *regs, const struct hotspot_blob *caller);

struct unwind_rule java_rule_of(const struct hotspot_leave *leave);

/*
 * The words that an interpreted frame at the frame pointer has below it. While it is made, these
 * are few, and the memory below is none of it.
 */
uint64_t java_words_of_frame(const struct unwind_regs *regs);

/*
 * Whether the innermost frame, which is interpreted, is being made. On AArch64, its first words
 * come before the frame pointer.
 */
bool java_is_being_made(const struct hotspot *vm, const struct unwind_regs *regs);

/* Whether Java code calls such code, so that its return address is a place of a call. */
bool java_is_called(const struct hotspot_blob *blob);

/*
 * Whether calls lead to such a stub itself. Stubs of virtual threads end in frames that they have
 * just put there, whose calls led elsewhere.
 */
bool java_is_called_as_stub(const struct hotspot_blob *blob);

/*
 * A virtual thread that goes on has its innermost frames on the stack alone. They return to a stub
 * that fetches more of them from the heap, where a sample does not see them. Whether this is it.
 */
bool java_is_at_heap(const struct hotspot_blob *stub);
