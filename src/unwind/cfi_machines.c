/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processors whose stacks are walked: registers, words, and frames of signals. */
#include <elf.h>

#include "unwind/cfi.h"

/*
 * x86-64 numbers: psABI 1.0 figure 3.36. When a handler returns, rsp is at the struct ucontext of
 * struct rt_sigframe (arch/x86/include/asm/sigframe.h). The struct sigcontext (asm/sigcontext.h) at
 * 40 has rbp at 120, rbx at 128, rsp at 160, rip at 168.
 */
static const struct cfi_machine x86_64 = {
	.sp = 7,
	.fp = 6,
	.ra = 16,
	.pc = 16,
	.bx = UNWIND_RBX,
	.vg = UINT32_MAX,
	.word = 8,
	.signal = { .cfa = UNWIND_CFA_SIGNAL, .off = 160 / 8, .fp = 120 / 8, .aux = 128 / 8 },
	.has_marked_functions = true,
};

/*
 * AArch64 numbers: aadwarf64 table 2. sp is at struct rt_sigframe (arch/arm64/kernel/signal.c): 128
 * bytes of siginfo, then the struct ucontext. The struct sigcontext (asm/sigcontext.h) at 176 has
 * x29 at 544, x30 at 552, sp at 560, pc at 568.
 */
static const struct cfi_machine aarch64 = {
	.sp = 31,
	.fp = 29,
	.ra = 30,
	.pc = 32,
	.bx = UINT32_MAX, /* none is followed */
	.vg = 46,
	.word = 8,
	.undefined_ra = UNWIND_RA_LR,
	.has_undefined_ra = true,
	.signal = { .cfa = UNWIND_CFA_SIGNAL, .off = 560 / 8, .fp = 544 / 8, .aux = 552 / 8 },
};

/*
 * i386 numbers: psABI 1.1 table 2.14. There are two kinds of signal frames (asm/sigframe.h).
 * `signal` is the one with a siginfo: when its handler returns, esp is behind the first word of
 * struct rt_sigframe. The struct sigcontext at 160 has ebp at 24, esp at 28, ebx at 32 and eip at
 * 56. Call frame information gives the place of the struct, or of its esp.
 */
#define I386_SIGNAL_FRAME(sp_at)                                                     \
	{                                                                            \
		.cfa = UNWIND_CFA_SIGNAL, .off = (sp_at) / 4, .fp = (sp_at) / 4 - 1, \
		.aux = (sp_at) / 4 + 1,                                              \
	}
#define I386_SIGCONTEXT_SP 28
static const struct cfi_machine i386 = {
	.sp = 4,
	.fp = 5,
	.ra = 8,
	.pc = 8,
	.bx = UNWIND_RBX,
	.vg = UINT32_MAX,
	.word = 4,
	.signal = I386_SIGNAL_FRAME(160 + I386_SIGCONTEXT_SP),
};

const struct cfi_machine *cfi_machine_of(uint16_t machine)
{
	return machine == EM_X86_64    ? &x86_64
	       : machine == EM_AARCH64 ? &aarch64
	       : machine == EM_386     ? &i386
				       : NULL;
}

struct unwind_rule cfi_signal_rule(const struct cfi_machine *m, const struct cfi_state *s)
{
	struct unwind_rule rule = m->signal;
	int64_t at = s->cfa == UNWIND_CFA_SP ? (int64_t)((uint64_t)s->off + I386_SIGCONTEXT_SP)
					     : s->expr_off;

	if (m != &i386 || at < 0 || at % 4 || at >= INT16_MAX ||
	    (s->cfa == UNWIND_CFA_SP && s->reg != i386.sp) ||
	    (s->cfa != UNWIND_CFA_SP && s->cfa != UNWIND_CFA_SP_OTHER))
		return rule;
	return (struct unwind_rule)I386_SIGNAL_FRAME(at);
}
