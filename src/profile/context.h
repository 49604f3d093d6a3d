/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contexts: the activities of a CPU, as in the kernel's own accounting.
 *
 * An interrupt runs in the process that has the CPU. So a sample in the handler is a sample of this
 * process. But the call chain has the kernel's entry functions: of hardware interrupts
 * (asm_sysvec_…, el1h_64_irq …), and of the work that they put off (handle_softirqs). Therefore
 * such samples have a context of their own. On the return from an interrupt, the kernel may work
 *for the process itself (rescheduling, signals). That is system time again.
 *
 *	schedule  irqentry_exit  sysvec_apic_timer…  asm_sysvec_apic_timer…  main
 *	  system <- of the process | irq ---------------------------------- | user
 *
 * The idle task is no process. All its samples but interrupts are idle. Without call chains, or
 * without names of the kernel, samples in interrupts count as system or idle.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/context_marks.h"

/* X(id, name, text) */
#define SAMPLE_CONTEXTS(X)                                                          \
	X(USER, "user", "a program's own code")                                     \
	X(SYSTEM, "system", "the kernel, on behalf of the process")                 \
	X(IRQ, "irq", "hard interrupts, whichever process they fell on")            \
	X(SOFTIRQ, "softirq", "soft interrupts: work that hard interrupts put off") \
	X(IDLE, "idle", "a processor without anything to do")

enum sample_context {
#define X(id, name, text) CONTEXT_##id,
	SAMPLE_CONTEXTS(X)
#undef X
		N_CONTEXTS
};

extern const char *const sample_context_names[N_CONTEXTS];

static inline enum sample_context context_of_class(uint8_t context, bool is_idle_task)
{
	return is_idle_task && context != CONTEXT_IRQ && context != CONTEXT_SOFTIRQ
		       ? CONTEXT_IDLE
		       : (enum sample_context)context;
}
