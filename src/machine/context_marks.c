/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/context_marks.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

/*
 * The kernel's entry functions. For x86: arch/x86/entry, arch/x86/include/asm/idtentry.h and,
 * before 5.8, entry_64.S. For arm64: arch/arm64/kernel/entry.S and entry-common.c. For both:
 * kernel/softirq.c, kernel/sched/idle.c, kernel/entry/common.c. A name that ends in '*' is a
 * prefix.
 */
static const struct {
	const char *name;
	enum context_mark mark;
} marks[] = {
	/* x86-64 */
	{ "asm_sysvec_*", MARK_IRQ },
	{ "sysvec_*", MARK_IRQ },
	{ "__sysvec_*", MARK_IRQ },
	{ "fred_sysvec_*", MARK_IRQ },
	{ "fred_extint", MARK_IRQ },
	{ "asm_common_interrupt", MARK_IRQ },
	{ "common_interrupt", MARK_IRQ },
	{ "__common_interrupt", MARK_IRQ },
	{ "asm_spurious_interrupt", MARK_IRQ },
	{ "spurious_interrupt", MARK_IRQ },
	{ "asm_exc_nmi", MARK_IRQ },
	{ "fred_exc_nmi", MARK_IRQ },
	{ "exc_nmi", MARK_IRQ },
	{ "end_repeat_nmi", MARK_IRQ },
	{ "__xen_pv_evtchn_do_upcall", MARK_IRQ },
	{ "do_IRQ", MARK_IRQ },
	{ "ret_from_intr", MARK_IRQ },
	{ "apic_timer_interrupt", MARK_IRQ },
	{ "smp_apic_timer_interrupt", MARK_IRQ },
	{ "reschedule_interrupt", MARK_IRQ },
	{ "smp_reschedule_interrupt", MARK_IRQ },
	{ "call_function_interrupt", MARK_IRQ },
	{ "call_function_single_interrupt", MARK_IRQ },
	{ "irq_work_interrupt", MARK_IRQ },
	{ "hypervisor_callback_vector", MARK_IRQ },
	{ "xen_hvm_callback_vector", MARK_IRQ },
	{ "hyperv_callback_vector", MARK_IRQ },
	/* AArch64 */
	{ "el1h_64_irq*", MARK_IRQ },
	{ "el1h_64_fiq*", MARK_IRQ },
	{ "el1t_64_irq*", MARK_IRQ },
	{ "el1t_64_fiq*", MARK_IRQ },
	{ "el0t_64_irq*", MARK_IRQ },
	{ "el0t_64_fiq*", MARK_IRQ },
	{ "el0t_32_irq*", MARK_IRQ },
	{ "el0t_32_fiq*", MARK_IRQ },
	{ "el1_interrupt", MARK_IRQ },
	{ "el0_interrupt", MARK_IRQ },
	{ "el1_irq", MARK_IRQ },
	{ "el0_irq", MARK_IRQ },
	{ "el0_irq_naked", MARK_IRQ },
	{ "__el0_irq_handler_common", MARK_IRQ },
	{ "__el0_fiq_handler_common", MARK_IRQ },
	{ "gic_handle_irq", MARK_IRQ },
	/* every architecture */
	{ "__do_softirq", MARK_SOFTIRQ },
	{ "__softirqentry_text_start", MARK_SOFTIRQ },
	{ "handle_softirqs", MARK_SOFTIRQ },
	{ "do_softirq", MARK_SOFTIRQ },
	{ "do_softirq_own_stack", MARK_SOFTIRQ },
	{ "do_idle", MARK_IDLE },
	{ "cpu_startup_entry", MARK_IDLE },
	{ "play_idle", MARK_IDLE },
	{ "play_idle_precise", MARK_IDLE },
	/* back from the interrupt */
	{ "irqentry_exit", MARK_EXIT },
	{ "irqentry_exit_to_user_mode", MARK_EXIT },
	{ "irqentry_exit_cond_resched", MARK_EXIT },
	{ "raw_irqentry_exit_cond_resched", MARK_EXIT },
	{ "exit_to_user_mode_loop", MARK_EXIT },
	{ "exit_to_user_mode_prepare", MARK_EXIT },
	{ "prepare_exit_to_usermode", MARK_EXIT },
	{ "exit_to_usermode_loop", MARK_EXIT },
	{ "retint_user", MARK_EXIT },
	{ "do_notify_resume", MARK_EXIT },
	{ "arm64_preempt_schedule_irq", MARK_EXIT },
	{ "preempt_schedule_irq", MARK_EXIT },
};

static bool context_matches(const char *pattern, const char *function)
{
	size_t n = strlen(pattern);

	if (pattern[n - 1] == '*')
		return !strncmp(pattern, function, n - 1);
	return !strncmp(pattern, function, n) && (!function[n] || function[n] == '.');
}

enum context_mark context_mark_of(const char *function)
{
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (context_matches(marks[i].name, function))
			return marks[i].mark;
	return MARK_NONE;
}

static_assert(CONTEXT_MARK_BITS == 1 << 12, "as many bits as the hash has values");

static uint32_t context_mark_bit(const char *name)
{
	uint32_t word;

	memcpy(&word, name, CONTEXT_MARK_CHARS);
	return word * 0x9e3779b1 >> 20;
}

void context_marks_begin(struct context_marks *m)
{
	memset(m, 0, sizeof(*m));
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		uint32_t bit = context_mark_bit(marks[i].name);

		m->begins[bit / 8] |= (uint8_t)(1 << bit % 8);
	}
}

bool context_may_be_mark(const struct context_marks *m, const char *name)
{
	uint32_t bit = context_mark_bit(name);

	return m->begins[bit / 8] >> bit % 8 & 1;
}
