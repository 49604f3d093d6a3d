/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first registers of a user stack walk, and their words in the kernel's structure.
 * The including file has BPF_CORE_READ. */
#pragma once

#include <linux/bpf_perf_event.h>

#include <bpf/bpf_tracing.h>

#include "collect/bpf/shared.h"
#include "unwind/regs.h"

#define REGISTER_SLOTS \
	64 /* room for all words of bpf_user_pt_regs_t; a power of two for the verifier */

/*
 * The thread pointer of the current task; 0: not known yet. On AArch64, a program's first thread
 * sets it by an instruction, and the kernel reads it when the thread leaves its CPU.
 */
static __always_inline __u64 thread_pointer(void)
{
#if defined(__TARGET_ARCH_x86)
	return BPF_CORE_READ(bpf_get_current_task_btf(), thread.fsbase);
#else
	return BPF_CORE_READ(bpf_get_current_task_btf(), thread.uw.tp_value);
#endif
}

/* By DWARF number: the word of bpf_user_pt_regs_t (asm/ptrace.h). */
#if defined(__TARGET_ARCH_x86)
#define N_USER_REGS 17
static const __u8 word_of_register[REGISTER_SLOTS] = { 10, 12, 11, 5, 13, 14, 4, 19, 9,
						       8,  7,  6,  3, 2,  1,  0, 16 };

#define MODE_WORD 17 /* cs */

static __always_inline bool is_user_mode(const __u64 *words)
{
	return words[MODE_WORD] & 3;
}

static __always_inline bool is_i386_mode(__u64 mode)
{
	return (mode & 0xffff) == 0x23; /* __USER32_CS */
}

static __always_inline bool is_64_bit(const __u64 *words)
{
	return (words[MODE_WORD] & 0xffff) == 0x33; /* __USER_CS */
}

static __always_inline struct unwind_regs first_registers(const __u64 *words)
{
	if (is_i386_mode(words[MODE_WORD]))
		return unwind_regs_sampled_i386(words[16], words[19], words[4]);
	return unwind_regs_sampled(words[16], words[19], words[4], 0, false);
}
#elif defined(__TARGET_ARCH_arm64)
#define N_USER_REGS 33
static const __u8 word_of_register[REGISTER_SLOTS] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
						       11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
						       22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32 };

#define MODE_WORD 33 /* pstate */

static __always_inline bool is_user_mode(const __u64 *words)
{
	return (words[MODE_WORD] & 15) == 0; /* EL0 */
}

static __always_inline bool is_i386_mode(__u64 mode)
{
	(void)mode;
	return false;
}

static __always_inline bool is_64_bit(const __u64 *words)
{
	return !(words[MODE_WORD] & 16);
}

static __always_inline struct unwind_regs first_registers(const __u64 *words)
{
	return unwind_regs_sampled(words[32], words[31], words[29], words[30], true);
}
#endif
