/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registers of a frame that a walk follows. Freestanding. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	UNWIND_KNOWS_SP = 1, /* the stack pointer is exact, not only a lower bound */
	UNWIND_KNOWS_FP = 2,
	UNWIND_KNOWS_LR = 4,
	UNWIND_IS_EXACT = 8,    /* pc is the instruction to execute, not a return address */
	UNWIND_IS_SAMPLED = 16, /* the registers are those of the sample: all are known */
};

struct unwind_regs {
	uint64_t pc, sp, fp, lr; /* rip, rsp, rbp, – or pc, sp, x29, x30 */
	uint64_t bx_at;          /* the stack address of the saved rbx; 0: still in its register */
	uint32_t flags;
	uint32_t is_aarch64;
};

/* The registers that a sample has. */
static inline struct unwind_regs unwind_regs_sampled(uint64_t pc, uint64_t sp, uint64_t fp,
						     uint64_t lr, bool is_aarch64)
{
	return (struct unwind_regs){
		.pc = pc,
		.sp = sp,
		.fp = fp,
		.lr = lr,
		.flags = UNWIND_KNOWS_SP | UNWIND_KNOWS_FP | UNWIND_IS_EXACT | UNWIND_IS_SAMPLED |
			 (is_aarch64 ? UNWIND_KNOWS_LR : 0u),
		.is_aarch64 = is_aarch64,
	};
}

/*
 * The address that selects the rule. A return address may be behind the last instruction of its
 * function, so the call before it is looked up.
 */
static inline uint64_t unwind_lookup_pc(const struct unwind_regs *r)
{
	return r->flags & UNWIND_IS_EXACT ? r->pc : r->pc - 1;
}
