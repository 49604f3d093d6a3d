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
	uint16_t is_aarch64, is_i386;
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

/* Of a program of 32 bits on x86. */
static inline struct unwind_regs unwind_regs_sampled_i386(uint64_t pc, uint64_t sp, uint64_t fp)
{
	struct unwind_regs r =
		unwind_regs_sampled((uint32_t)pc, (uint32_t)sp, (uint32_t)fp, 0, false);

	r.is_i386 = true;
	return r;
}

/* The bytes of a number of words. */
static inline uint64_t unwind_bytes(const struct unwind_regs *r, int64_t words)
{
	return (uint64_t)words << (r->is_i386 ? 2 : 3);
}

/*
 * The address that selects the rule. A return address may be behind the last instruction of its
 * function, so the call before it is looked up.
 */
static inline uint64_t unwind_lookup_pc(const struct unwind_regs *r)
{
	return r->flags & UNWIND_IS_EXACT ? r->pc : r->pc - 1;
}

/*
 * The signature of a signed return address (pointer authentication) is in the bits above the 48 of
 * a user address. These bits have no other meaning.
 */
static inline uint64_t unwind_plain_address(const struct unwind_regs *r, uint64_t addr)
{
	return r->is_aarch64 ? addr & ((1ull << 48) - 1) : addr;
}
