/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/trampolines.h"

#include "base/intmap.h"
#include "base/mem.h"
#include "guard/memory_reads.h"
#include "unwind/trampoline.h"

#if defined(__aarch64__)
#define IS_AARCH64 true
#else
#define IS_AARCH64 false
#endif

/* Addresses of other code that a process may have before any trampoline, and in all. */
#define OTHERS_FIRST 16
#define OTHERS_MAX   1024

/* Of all processes. Then all are forgotten: the next samples read anew. */
#define ADDRESSES_MAX 262144
#define PROCESSES_MAX 1024

struct trampoline_process {
	int32_t pid;
	bool is_barred;      /* its memory is not read (any more) */
	struct intmap rules; /* by address: number of the rule + 1; 0: other code */
	uint32_t n_others;
};

struct wanted_trampoline {
	int32_t pid;
	uint64_t pc; /* 0: none */
};

struct trampolines {
	trampoline_read_fn *read;
	void *context;
	struct intmap by_pid;
	VEC(struct trampoline_process) processes;
	VEC(struct unwind_rule) rules; /* a few */
	uint32_t n_addresses;
	struct wanted_trampoline wanted;
};

struct trampolines *trampolines_new(trampoline_read_fn *read, void *context)
{
	struct trampolines *t = xcalloc(1, sizeof(*t));

	t->read = read;
	t->context = context;
	return t;
}

static void trampolines_forget_all(struct trampolines *t)
{
	vec_foreach (&t->processes, p)
		intmap_fini(&p->rules);
	t->processes.n = 0;
	t->n_addresses = 0;
	intmap_fini(&t->by_pid);
}

void trampolines_free(struct trampolines *t)
{
	if (!t)
		return;
	trampolines_forget_all(t);
	vec_fini(&t->processes);
	vec_fini(&t->rules);
	free(t);
}

static struct trampoline_process *trampoline_process(struct trampolines *t, int32_t pid)
{
	uint32_t *at = intmap_find(&t->by_pid, (uint32_t)pid);

	if (at)
		return &t->processes.data[*at];
	if (t->processes.n >= PROCESSES_MAX || t->n_addresses >= ADDRESSES_MAX)
		trampolines_forget_all(t);
	*intmap_put(&t->by_pid, (uint32_t)pid, NULL) = (uint32_t)t->processes.n;
	vec_push(&t->processes, (struct trampoline_process){ .pid = pid });
	return &t->processes.data[t->processes.n - 1];
}

static uint32_t number_of_rule(struct trampolines *t, struct unwind_rule rule)
{
	if (unwind_rule_cfa(rule) == UNWIND_CFA_NONE)
		return 0;
	vec_foreach (&t->rules, known)
		if (known->saved == rule.saved && known->off == rule.off)
			return (uint32_t)(known - t->rules.data) + 1;
	vec_push(&t->rules, rule);
	return (uint32_t)t->rules.n;
}

struct unwind_rule trampolines_rule(struct trampolines *t, int32_t pid, uint64_t pc)
{
	struct trampoline_process *p = trampoline_process(t, pid);
	uint32_t *known = intmap_find(&p->rules, pc);

	if (known)
		return *known ? t->rules.data[*known - 1] : (struct unwind_rule){ 0 };
	if (!p->is_barred)
		t->wanted = (struct wanted_trampoline){ pid, pc };
	return (struct unwind_rule){ 0 };
}

static void keep_rule(struct trampolines *t, uint64_t pc, struct unwind_rule rule)
{
	struct trampoline_process *p = trampoline_process(t, t->wanted.pid);
	uint32_t number = number_of_rule(t, rule);

	*intmap_put(&p->rules, pc, NULL) = number;
	t->n_addresses++;
	p->n_others += !number;
	p->is_barred = t->n_addresses >= ADDRESSES_MAX ||
		       p->n_others >= (p->n_others == p->rules.n ? OTHERS_FIRST : OTHERS_MAX);
}

static void bar_wanted(struct trampolines *t)
{
	trampoline_process(t, t->wanted.pid)->is_barred = true;
	t->wanted.pc = 0;
}

static void read_wanted(void *trampolines)
{
	struct trampolines *t = trampolines;
	uint64_t pc = t->wanted.pc, start = trampoline_start(pc, IS_AARCH64);
	uint8_t bytes[TRAMPOLINE_BYTES] = { 0 };

	if (!t->read(t->context, t->wanted.pid, start, bytes, sizeof(bytes)) &&
	    !t->read(t->context, t->wanted.pid, start + TRAMPOLINE_CALLER_AT(IS_AARCH64),
		     bytes + TRAMPOLINE_CALLER_AT(IS_AARCH64),
		     TRAMPOLINE_CALLER_BYTES(IS_AARCH64))) {
		bar_wanted(t);
		return;
	}
	t->wanted.pc = 0;
	keep_rule(t, pc, unwind_rule_of_trampoline(bytes, IS_AARCH64));
}

bool trampolines_learn(struct trampolines *t, struct memory_reads *reads)
{
	if (!t || !t->wanted.pc)
		return false;
	if (!reads || memory_reads_run(reads, read_wanted, t) < 0)
		bar_wanted(t);
	return true;
}

void trampolines_forget(struct trampolines *t, int32_t pid)
{
	uint32_t *at = intmap_find(&t->by_pid, (uint32_t)pid), i;

	if (!at)
		return;
	i = *at;
	t->n_addresses -= t->processes.data[i].rules.n;
	intmap_fini(&t->processes.data[i].rules);
	intmap_remove(&t->by_pid, (uint32_t)pid);
	t->processes.data[i] = t->processes.data[--t->processes.n];
	if (i < t->processes.n)
		*intmap_put(&t->by_pid, (uint32_t)t->processes.data[i].pid, NULL) = i;
}
