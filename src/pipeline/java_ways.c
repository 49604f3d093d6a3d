/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/java_ways.h"

#include <string.h>

#include "unwind/user_ctx.h"

bool java_read_by_fp(const struct unwind_regs *regs, struct unwind_ctx *stack, int words,
		     uint64_t *out)
{
	return regs->flags & UNWIND_KNOWS_FP && regs->fp >= regs->sp && !(regs->fp & 7) &&
	       !unwind_read_stack(stack, regs->fp + (uint64_t)((int64_t)words * 8), out);
}

static bool read_return_address(const struct hotspot_leave *leave, const struct unwind_regs *regs,
				struct unwind_ctx *stack, uint64_t *pc)
{
	switch (leave->way) {
	case HOTSPOT_BY_SIZE:
		return leave->words &&
		       !unwind_read_stack(stack, regs->sp + (leave->words - 1) * (uint64_t)8, pc);
	case HOTSPOT_AT_TOP:
		return !unwind_read_stack(stack, regs->sp, pc);
	case HOTSPOT_BEHIND_FP:
		return !unwind_read_stack(stack, regs->sp + 8, pc);
	case HOTSPOT_BY_LINK:
	case HOTSPOT_BY_REGISTER:
		*pc = regs->lr;
		return regs->flags & UNWIND_KNOWS_LR;
	default:
		return java_read_by_fp(regs, stack, 1, pc);
	}
}

bool java_return_address(const struct hotspot_leave *leave, const struct unwind_regs *regs,
			 struct unwind_ctx *stack, uint64_t *pc)
{
	if (!read_return_address(leave, regs, stack, pc))
		return false;
	*pc = unwind_plain_address(regs, *pc);
	return true;
}

bool java_is_way_of_aarch64(const struct hotspot_blob *blob, const struct hotspot_leave *leave,
			    const struct unwind_regs *regs, const struct hotspot_blob *caller)
{
	bool is_by_fp = leave->way == HOTSPOT_BY_FP;

	if (leave->way == HOTSPOT_BY_OTHER_FP)
		return unwind_plain_address(regs, regs->lr) - blob->code <
		       blob->code_end - blob->code;
	if (blob->kind != HOTSPOT_INTERPRETER)
		return true;
	return caller &&
	       is_by_fp == (caller->kind == HOTSPOT_INTERPRETER || caller->kind == HOTSPOT_STUBS);
}

struct unwind_rule java_rule_of(const struct hotspot_leave *leave)
{
	struct unwind_rule rule = { .fp = -2, .off = 2 };

	switch (leave->way) {
	case HOTSPOT_BY_SIZE:
	case HOTSPOT_BEHIND_FP:
		rule.cfa = UNWIND_CFA_SP;
		rule.saved = UNWIND_FP_AT_CFA;
		if (leave->way == HOTSPOT_BY_SIZE)
			rule.off = (uint16_t)leave->words;
		return rule;
	case HOTSPOT_AT_TOP:
		return (struct unwind_rule){ .cfa = UNWIND_CFA_SP,
					     .saved = UNWIND_FP_SAME,
					     .off = 1 };
	case HOTSPOT_BY_FP:
	case HOTSPOT_BY_OTHER_FP:
		rule.cfa = UNWIND_CFA_FP;
		rule.saved = UNWIND_FP_AT_CFA;
		return rule;
	case HOTSPOT_BY_LINK:
		return (struct unwind_rule){ .cfa = UNWIND_CFA_SP,
					     .saved = UNWIND_FP_SAME | UNWIND_RA_LR << 4,
					     .off = (uint16_t)leave->words };
	case HOTSPOT_BY_REGISTER:
		return (struct unwind_rule){ .cfa = UNWIND_CFA_REGISTER,
					     .saved = UNWIND_FP_SAME | UNWIND_RA_LR << 4,
					     .aux = (int16_t)leave->words };
	case HOTSPOT_BY_SENDER:
		break;
	}
	return (struct unwind_rule){ .cfa = UNWIND_CFA_FP_DEREF,
				     .saved = UNWIND_FP_AT_FP | UNWIND_RA_AT_FP << 4,
				     .off = (uint16_t)HOTSPOT_SENDER_AT };
}

uint64_t java_words_of_frame(const struct unwind_regs *regs)
{
	return regs->fp >= regs->sp ? (regs->fp - regs->sp) / 8 : UINT64_MAX;
}

bool java_is_being_made(const struct hotspot *vm, const struct unwind_regs *regs)
{
	return !vm->is_aarch64 && regs->flags & UNWIND_IS_SAMPLED &&
	       regs->flags & UNWIND_KNOWS_FP &&
	       java_words_of_frame(regs) < (uint64_t)-hotspot_bcp_at(vm);
}

bool java_is_called(const struct hotspot_blob *blob)
{
	return blob->kind <= HOTSPOT_INTERPRETER || blob->kind == HOTSPOT_FRAMELESS;
}

bool java_is_called_as_stub(const struct hotspot_blob *blob)
{
	return blob->kind == HOTSPOT_STUBS && !java_is_at_heap(blob);
}

bool java_is_at_heap(const struct hotspot_blob *stub)
{
	return stub->kind == HOTSPOT_STUBS && strstr(stub->name, "continuation");
}
