/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/context.h"

#include <stdlib.h>
#include <string.h>

#include "profile/index.h"

const char *const sample_context_names[N_CONTEXTS] = {
#define X(id, name, text) [CONTEXT_##id] = name,
	SAMPLE_CONTEXTS(X)
#undef X
};

const char *const sample_context_texts[N_CONTEXTS] = {
#define X(id, name, text) [CONTEXT_##id] = text,
	SAMPLE_CONTEXTS(X)
#undef X
};

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

/* The marks of the kernel's functions. Chains repeat the same few hundred. */
struct mark_cache {
	struct profile *p;
	struct intmap found; /* image << 32 | symbol to mark */
};

static enum context_mark mark_at(struct mark_cache *c, uint32_t image, uint64_t offset)
{
	uint32_t symbol = index_symbol(c->p, image, offset), *mark;
	bool is_new;

	if (symbol == NO_SYMBOL)
		return MARK_NONE;
	mark = intmap_put(&c->found, (uint64_t)image << 32 | symbol, &is_new);
	if (is_new)
		*mark = context_mark_of(symbol_get(c->p->images.data[image].table, symbol).name);
	return (enum context_mark) * mark;
}

/* On the way from the outermost kernel frame inwards. */
struct chain_state {
	uint8_t context; /* of the next inner frames */
	uint8_t before;  /* the context that the innermost interrupt interrupted */
};

static struct chain_state step(struct chain_state s, enum context_mark mark)
{
	static const uint8_t contexts[] = { [MARK_IRQ] = CONTEXT_IRQ,
					    [MARK_SOFTIRQ] = CONTEXT_SOFTIRQ,
					    [MARK_IDLE] = CONTEXT_IDLE };

	if (mark == MARK_NONE)
		return s;
	if (mark == MARK_EXIT)
		return (struct chain_state){ s.context == CONTEXT_IRQ ? s.before : s.context,
					     CONTEXT_SYSTEM };
	if (mark == MARK_IRQ && s.context != CONTEXT_IRQ)
		s.before = s.context;
	s.context = contexts[mark];
	return s;
}

/* Where an address that no image has belongs: the upper half is the kernel's. */
static bool is_kernel_node(const struct image *image, uint64_t offset)
{
	enum code_mode mode = image_kind_mode(image->kind);

	return mode == CODE_KERNEL || (mode == CODE_UNKNOWN && offset >> 63);
}

uint8_t *segment_contexts(struct profile *p, const struct segment *segment, const uint32_t *images)
{
	const struct chain_state outside = { CONTEXT_SYSTEM, CONTEXT_SYSTEM };
	struct chain_state *inner = xcalloc(segment->n_nodes + 1, sizeof(*inner));
	uint8_t *own = xcalloc(segment->n_nodes + 1, 1);
	struct mark_cache cache = { .p = p };

	inner[0] = outside;
	for (uint32_t n = 1; n < segment->n_nodes; n++) {
		const struct tree_node *node = &segment->nodes[n];
		uint32_t image =
			images[node->code.image.n < segment->n_images ? node->code.image.n : 0];
		uint64_t offset = node->code.offset;
		struct chain_state s = inner[node->parent < n ? node->parent : 0];
		enum image_kind kind = p->images.data[image].image->kind;

		inner[n] = outside;
		own[n] = CONTEXT_USER;
		if (!is_kernel_node(p->images.data[image].image, offset))
			continue;
		own[n] = s.context;
		inner[n] = s;
		if (kind != IMAGE_KERNEL)
			continue;
		/* In the exit itself it is still the interrupt that takes the time. */
		if (mark_at(&cache, image, offset) != MARK_EXIT)
			own[n] = step(s, mark_at(&cache, image, offset)).context;
		inner[n] = step(s, mark_at(&cache, image, offset - (offset > 0)));
	}
	intmap_fini(&cache.found);
	free(inner);
	return own;
}
