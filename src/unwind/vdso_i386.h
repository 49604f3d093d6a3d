/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules of the vdso of i386 programs. assay's own process has no such vdso. So the stack
 * tells them (Linux: arch/x86/entry/vdso/vdso32, asm/sigframe.h).
 *
 *   - A system call returns to the landing pad of __kernel_vsyscall, behind pushes of ecx, edx and
 *     ebp.
 *   - A signal handler returns to __kernel_rt_sigreturn or __kernel_sigreturn. A frame of the first
 *     begins with the signal's number and the addresses of siginfo and ucontext behind it. A frame
 *     of the second has the signal's number and a struct sigcontext with selectors of user code.
 *   - Other functions keep frame pointers.
 *
 * Compiled like unwind/step.h, which comes before.
 */
#pragma once

#define I386_USER_CODE 0x23
#define I386_USER_DATA 0x2b

/* The struct sigcontext `at` bytes from the stack pointer. */
static inline struct unwind_rule unwind_rule_of_sigcontext(uint32_t at)
{
	return (struct unwind_rule){
		.cfa = UNWIND_CFA_SIGNAL,
		.off = (uint16_t)((at + 28) / 4),
		.fp = (int16_t)((at + 24) / 4),
		.aux = (int16_t)((at + 32) / 4),
	};
}

static inline bool unwind_stack_has(const struct unwind_regs *r, struct unwind_ctx *c,
				    uint64_t addr, uint64_t wanted, uint64_t mask)
{
	uint64_t word;

	return !unwind_read_word(r, c, addr, &word) && (word & mask) == wanted;
}

/* `is_in_kernel`: the frame is that of the sample, whose thread is in the kernel. */
static inline struct unwind_rule unwind_rule_of_vdso_i386(const struct unwind_regs *r,
							  struct unwind_ctx *c, bool is_in_kernel)
{
	static const struct unwind_rule by_fp = { 0 };
	struct unwind_rule landing_pad = {
		.cfa = UNWIND_CFA_SP,
		.off = 4,
		.saved = UNWIND_FP_AT_CFA,
		.fp = -4,
	};
	bool is_sampled = r->flags & UNWIND_IS_SAMPLED, is_call;
	uint64_t sp = r->sp;

	if (!(r->flags & UNWIND_KNOWS_SP))
		return by_fp;
	/*
	 * In a system call, ebp is on top, as in its register. Else it is a page fault, or a
	 * signal. Of a thread that waits, ebp may not be known: 0.
	 */
	if (r->flags & UNWIND_IS_EXACT) {
		is_call = is_sampled && !r->fp ? is_in_kernel
					       : unwind_stack_has(r, c, sp, r->fp, UINT32_MAX);
		return is_call && (!is_sampled || is_in_kernel) ? landing_pad : by_fp;
	}
	if (unwind_stack_has(r, c, sp + 4, sp + 12, UINT32_MAX) &&
	    unwind_stack_has(r, c, sp + 8, sp + 140, UINT32_MAX))
		return unwind_rule_of_sigcontext(160);
	if (unwind_stack_has(r, c, sp + 4 + 60, I386_USER_CODE, UINT16_MAX) &&
	    unwind_stack_has(r, c, sp + 4 + 72, I386_USER_DATA, UINT16_MAX))
		return unwind_rule_of_sigcontext(4);
	return by_fp;
}
