/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One step of a stack walk: from a frame's registers to its caller's.
 *
 * This file is compiled twice: into assay (unwind/walk.c) and into the BPF collector (with
 * -ffreestanding). Its only loop is the bounded row search. It needs four functions, which the
 * including file defines before it includes this one:
 *
 *	struct unwind_ctx;
 *
 *	// 8 bytes of the user stack: 0, or the reason why they can't be read
 *	static inline enum unwind_stop unwind_read_stack(struct unwind_ctx *c, uint64_t addr,
 *							 uint64_t *value);
 *	// a register of the sample by its DWARF number; false if it is not known
 *	static inline bool unwind_sampled_register(struct unwind_ctx *c, uint32_t number,
 *						   uint64_t *value);
 *	// 8 bytes at the thread pointer + offset; false if they are not known
 *	static inline bool unwind_thread_word(struct unwind_ctx *c, int64_t offset,
 *					      uint64_t *value);
 *	// a row of the searched table (unwind/rule.h)
 *	static inline uint32_t unwind_row_at(struct unwind_ctx *c, uint32_t i);
 *
 * A walk is: find the rule of unwind_lookup_pc(), call unwind_step(), repeat until it gives a
 * reason. A chain holds each `pc` unchanged: return addresses for all frames except the first one
 * and those that a signal interrupted.
 *
 * The stack's content is not trusted: every stack pointer must be above the last, so a walk ends.
 * There are exceptions. A leaf function of AArch64 has no frame (and uses up `lr`). A signal
 * handler may be on another stack, and some rules lead to another stack (the caller limits the
 * depth).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "unwind/regs.h"
#include "unwind/rule.h"
#include "unwind/stop.h"

/* A word of the user stack. On i386, a word has the low half of the bytes that are read. */
static inline enum unwind_stop unwind_read_word(const struct unwind_regs *r, struct unwind_ctx *c,
						uint64_t addr, uint64_t *value)
{
	enum unwind_stop stop = unwind_read_stack(c, addr, value);

	if (r->is_i386)
		*value = (uint32_t)*value;
	return stop;
}

/* The last row at or below an offset in a page, whose rows are [first, end). Gives its rule. */
static inline uint32_t unwind_search(struct unwind_ctx *c, uint32_t first, uint32_t end,
				     uint32_t offset_in_page)
{
	uint32_t wanted = unwind_row(offset_in_page, UNWIND_MAX_RULES - 1);
	uint32_t n = end - first;

	/* no branch depends on the rows, so none is mispredicted */
	for (int i = 0; i < UNWIND_SEARCH_STEPS && n > 1; i++) {
		uint32_t half = n / 2;

		first = unwind_row_at(c, first + half) <= wanted ? first + half : first;
		n -= half;
	}
	return unwind_row_rule(unwind_row_at(c, first));
}

/*
 * Without a rule: the frame pointer's record, [fp] the caller's frame pointer and behind it the
 * return address. On x86, the caller's stack pointer is behind the record; on AArch64, the
 * record may be anywhere in the frame. Zero marks the outermost frame (x86-64 psABI 1.0 section
 * 3.4.1, AAPCS64 section 6.4.6).
 */
static inline enum unwind_stop unwind_step_by_fp(struct unwind_rule rule, struct unwind_regs *r,
						 struct unwind_ctx *c)
{
	bool goes_up = rule.aux != UNWIND_FP_ANYWHERE;
	uint64_t fp, pc;

	if (!(r->flags & UNWIND_KNOWS_FP))
		return UNWIND_NO_RULE;
	if (!r->fp)
		return UNWIND_END;
	if ((goes_up && r->fp < r->sp) || (r->fp & (unwind_bytes(r, 1) - 1)) ||
	    unwind_read_word(r, c, r->fp, &fp) ||
	    unwind_read_word(r, c, r->fp + unwind_bytes(r, 1), &pc))
		return UNWIND_FP_FAILED;
	r->sp = r->fp + unwind_bytes(r, 2);
	r->fp = fp;
	r->pc = unwind_plain_address(r, pc);
	r->flags = UNWIND_KNOWS_FP | (r->is_aarch64 ? 0u : UNWIND_KNOWS_SP);
	return r->pc ? UNWIND_GOES_ON : UNWIND_END;
}

/* The kernel's frame of a signal handler has all registers. */
static inline enum unwind_stop unwind_step_signal(struct unwind_rule rule, struct unwind_regs *r,
						  struct unwind_ctx *c)
{
	uint64_t at = r->sp + unwind_bytes(r, (int64_t)unwind_rule_words(rule)), sp, pc, fp, lr = 0;
	uint64_t aux_at = r->sp + unwind_bytes(r, rule.aux);
	uint64_t pc_at = at + unwind_bytes(r, r->is_i386 ? UNWIND_I386_PC : 1);
	enum unwind_stop stop;

	if (!(r->flags & UNWIND_KNOWS_SP))
		return UNWIND_NO_REGISTER;
	if ((stop = unwind_read_word(r, c, at, &sp)) ||
	    (stop = unwind_read_word(r, c, pc_at, &pc)) ||
	    (stop = unwind_read_word(r, c, r->sp + unwind_bytes(r, rule.fp), &fp)) ||
	    (r->is_aarch64 && (stop = unwind_read_stack(c, aux_at, &lr))))
		return stop;
	r->sp = sp;
	r->pc = pc;
	r->fp = fp;
	r->lr = lr;
	r->bx_at = aux_at;
	r->flags = UNWIND_KNOWS_SP | UNWIND_KNOWS_FP | UNWIND_IS_EXACT |
		   (r->is_aarch64 ? UNWIND_KNOWS_LR : 0u);
	return r->pc ? UNWIND_GOES_ON : UNWIND_END;
}

/* To the goroutine that let this stack run. A thread without one runs the scheduler. */
static inline enum unwind_stop unwind_step_goroutine(struct unwind_rule rule, struct unwind_regs *r,
						     struct unwind_ctx *c)
{
	uint64_t g, m, low, end, sp, pc, fp;

	if (!unwind_thread_word(c, (int64_t)rule.aux * 8, &g) ||
	    unwind_read_stack(c, g + UNWIND_GO_M, &m) ||
	    unwind_read_stack(c, m + rule.off * 8ull, &g))
		return UNWIND_OTHER_STACK;
	if (!g)
		return UNWIND_END;
	if (unwind_read_stack(c, g + UNWIND_GO_STACK, &low) ||
	    unwind_read_stack(c, g + UNWIND_GO_STACK + 8, &end) ||
	    unwind_read_stack(c, g + UNWIND_GO_SAVED, &sp) ||
	    unwind_read_stack(c, g + UNWIND_GO_SAVED + 8, &pc) ||
	    unwind_read_stack(c, g + (uint64_t)(int64_t)rule.fp * 8, &fp))
		return UNWIND_OTHER_STACK;
	if (sp < low || sp >= end)
		return UNWIND_BAD_CFA;
	if (unwind_rule_ra(rule) == UNWIND_RA_BELOW_CFA) {
		if (unwind_read_stack(c, sp, &pc))
			return UNWIND_OTHER_STACK;
		sp += 8;
	}
	r->sp = sp;
	r->pc = pc;
	r->fp = fp;
	r->flags = UNWIND_KNOWS_SP | UNWIND_KNOWS_FP;
	return pc ? UNWIND_GOES_ON : UNWIND_END;
}

/* The sample's registers have the numbers of x86-64: rdx and rcx, rsi to rsp differ. */
static inline uint32_t unwind_number_of(const struct unwind_regs *r, uint32_t number)
{
	return r->is_i386 && number < 8 ? 0x54673120u >> number * 4 & 15 : number;
}

/*
 * A register that is not followed is known in the sampled frame only. rbx is followed as far as is
 * cheap: it has the CFA of callers that realign their stack without a frame pointer, such as the
 * dynamic linker's lazy binding.
 */
static inline enum unwind_stop unwind_register(const struct unwind_regs *r, struct unwind_ctx *c,
					       uint32_t number, uint64_t *value)
{
	bool is_bx = number == UNWIND_RBX && !r->is_aarch64;

	if (is_bx && r->bx_at)
		return unwind_read_word(r, c, r->bx_at, value);
	if (!(is_bx || (r->flags & UNWIND_IS_SAMPLED)) ||
	    !unwind_sampled_register(c, unwind_number_of(r, number), value))
		return UNWIND_NO_REGISTER;
	if (r->is_i386)
		*value = (uint32_t)*value;
	return UNWIND_GOES_ON;
}

/* Whether a thread is new, and has not left clone(2) yet. Its stack is its own. */
static inline bool unwind_is_new_thread(const struct unwind_regs *r, struct unwind_ctx *c)
{
	uint64_t returned;

	return (r->flags & UNWIND_IS_SAMPLED) &&
	       unwind_sampled_register(c, UNWIND_RETURNED, &returned) &&
	       !(r->is_i386 ? (uint32_t)returned : returned);
}

/* The CFA of a frame whose rule has one. */
static inline enum unwind_stop unwind_cfa_of(struct unwind_rule rule, const struct unwind_regs *r,
					     struct unwind_ctx *c, uint64_t *cfa)
{
	uint64_t off = unwind_bytes(r, (int64_t)unwind_rule_words(rule));
	uint64_t deref_off = unwind_bytes(r, (int16_t)rule.off);
	enum unwind_cfa kind = unwind_rule_cfa(rule);
	bool by_fp =
		kind == UNWIND_CFA_FP || kind == UNWIND_CFA_FP_DEREF || kind == UNWIND_CFA_FP_OTHER;
	uint64_t base = by_fp ? r->fp : r->sp;
	enum unwind_stop stop;

	if (kind == UNWIND_CFA_REGISTER || kind == UNWIND_CFA_REGISTER_OTHER) {
		stop = unwind_register(r, c, (uint32_t)rule.aux, &base);
		if (stop)
			return stop;
	} else if (!(r->flags & (by_fp ? UNWIND_KNOWS_FP : UNWIND_KNOWS_SP))) {
		return UNWIND_NO_REGISTER;
	}
	if (kind == UNWIND_CFA_PLT) {
		off += unwind_bytes(r, (r->pc & 15) >= (uint16_t)rule.aux);
	} else if (kind == UNWIND_CFA_SP_DEREF || kind == UNWIND_CFA_FP_DEREF ||
		   kind == UNWIND_CFA_SP_OTHER || kind == UNWIND_CFA_SP_OTHER2) {
		stop = unwind_read_word(r, c, base + deref_off, &base);
		if (stop)
			return stop;
		if (kind == UNWIND_CFA_SP_OTHER2 &&
		    unwind_read_word(r, c, base + unwind_bytes(r, rule.fp), &base))
			return UNWIND_OTHER_STACK;
		off = unwind_bytes(r, rule.aux);
	}
	*cfa = base + off;
	return UNWIND_GOES_ON;
}

static inline enum unwind_stop unwind_return_address(struct unwind_rule rule,
						     const struct unwind_regs *r,
						     struct unwind_ctx *c, uint64_t cfa,
						     uint64_t *pc)
{
	enum unwind_ra kind = unwind_rule_ra(rule);
	int64_t slot = kind == UNWIND_RA_AT_CFA ? rule.aux : -1;

	if (kind == UNWIND_RA_LR) {
		*pc = r->lr;
		return r->flags & UNWIND_KNOWS_LR ? UNWIND_GOES_ON : UNWIND_NO_REGISTER;
	}
	if (kind == UNWIND_RA_REGISTER)
		return unwind_register(r, c, (uint32_t)rule.aux, pc);
	if (kind == UNWIND_RA_AT_FP)
		return unwind_read_word(r, c, r->fp + unwind_bytes(r, 1), pc);
	return unwind_read_word(r, c, cfa + unwind_bytes(r, slot), pc);
}

/*
 * An epilogue that has popped the frame pointer still has the rule that it is on the stack. That
 * place is below the stack pointer, where a copied stack has no bytes. The register has the value
 * then.
 */
static inline enum unwind_stop unwind_callers_fp(struct unwind_rule rule,
						 const struct unwind_regs *r, struct unwind_ctx *c,
						 uint64_t cfa, uint64_t *fp, uint32_t *flags)
{
	enum unwind_fp kind = unwind_rule_fp(rule);
	uint64_t at = (kind == UNWIND_FP_AT_CFA ? cfa : r->fp) + unwind_bytes(r, rule.fp);
	enum unwind_stop stop;

	*fp = r->fp;
	*flags = kind == UNWIND_FP_LOST ? 0 : r->flags & UNWIND_KNOWS_FP;
	if (kind == UNWIND_FP_SAME || kind == UNWIND_FP_LOST)
		return UNWIND_GOES_ON;
	if (kind == UNWIND_FP_AT_CFA)
		*flags = UNWIND_KNOWS_FP;
	stop = unwind_read_word(r, c, at, fp);
	if (stop && at < r->sp) {
		*fp = r->fp;
		return UNWIND_GOES_ON;
	}
	return stop;
}

/*
 * Turns the registers of a frame into those of its caller. Returns UNWIND_GOES_ON, or the reason
 * why the caller can't be found; the registers are then unchanged.
 */
static inline enum unwind_stop unwind_step(struct unwind_rule rule, struct unwind_regs *r,
					   struct unwind_ctx *c)
{
	uint64_t cfa, pc, fp;
	enum unwind_stop stop;
	uint32_t flags;
	bool leaves;

	switch (unwind_rule_cfa(rule)) {
	case UNWIND_CFA_NONE:
		return unwind_step_by_fp(rule, r, c);
	case UNWIND_CFA_END:
		return UNWIND_END;
	case UNWIND_CFA_SIGNAL:
		return unwind_step_signal(rule, r, c);
	case UNWIND_CFA_SP:
		/* behind a frame pointer step on AArch64, where x29 chains frames */
		if (!(r->flags & UNWIND_KNOWS_SP))
			return unwind_step_by_fp((struct unwind_rule){ 0 }, r, c);
		break;
	case UNWIND_CFA_ELSEWHERE:
		return rule.aux ? unwind_step_goroutine(rule, r, c) : UNWIND_OTHER_STACK;
	case UNWIND_CFA_CLONED:
		if (unwind_is_new_thread(r, c))
			return UNWIND_END;
		break;
	case UNWIND_CFA_FP:
	case UNWIND_CFA_REGISTER:
	case UNWIND_CFA_PLT:
	case UNWIND_CFA_SP_DEREF:
	case UNWIND_CFA_FP_DEREF:
	case UNWIND_CFA_SP_OTHER:
	case UNWIND_CFA_SP_OTHER2:
	case UNWIND_CFA_FP_OTHER:
	case UNWIND_CFA_REGISTER_OTHER:
		break;
	default:
		return UNWIND_UNSUPPORTED;
	}
	if ((stop = unwind_cfa_of(rule, r, c, &cfa)))
		return stop;
	leaves = unwind_leaves_stack(rule);
	if (!leaves && (cfa < r->sp || (cfa == r->sp && unwind_rule_ra(rule) < UNWIND_RA_LR)))
		return UNWIND_BAD_CFA;
	if ((stop = unwind_return_address(rule, r, c, cfa, &pc)) ||
	    (stop = unwind_callers_fp(rule, r, c, cfa, &fp, &flags)))
		return leaves && (stop == UNWIND_SHORT_COPY || stop == UNWIND_UNREADABLE)
			       ? UNWIND_OTHER_STACK
			       : stop;
	pc = unwind_plain_address(r, pc);
	if (!pc)
		return UNWIND_END;
	if (unwind_saves_bx(rule) && cfa + unwind_bytes(r, rule.aux) >= r->sp)
		r->bx_at = cfa + unwind_bytes(r, rule.aux);
	r->sp = cfa;
	r->pc = pc;
	r->fp = fp;
	r->flags = flags | UNWIND_KNOWS_SP;
	return UNWIND_GOES_ON;
}
