/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/trampolines.h"

#include <errno.h>

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
	uint64_t space;
	bool is_stuck;       /* a read did not end: its memory is not read any more */
	struct intmap rules; /* by address: number of the rule + 1; 0: other code */
	uint32_t n_others;   /* and addresses that could not be read */
};

struct trampolines {
	trampoline_read_fn *read;
	void *context;
	struct intmap by_pid;
	VEC(struct trampoline_process) processes;
	VEC(struct unwind_rule) rules; /* a few */
	uint32_t n_addresses;
	/* The walk. */
	int32_t pid;
	uint64_t space;
	uint64_t wanted; /* address; 0: none */
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
	vec_push(&t->processes, (struct trampoline_process){ .pid = pid, .space = t->space });
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

/* Code is elsewhere after an exec, and other code may be at its place. */
static void begin_space(struct trampolines *t, struct trampoline_process *p, uint64_t space)
{
	t->n_addresses -= p->rules.n;
	intmap_fini(&p->rules);
	p->n_others = 0;
	p->space = space;
}

void trampolines_begin(struct trampolines *t, int32_t pid, uint64_t space)
{
	const uint32_t *at = intmap_find(&t->by_pid, (uint32_t)pid);

	t->pid = pid;
	t->space = space;
	t->wanted = 0;
	if (at && t->processes.data[*at].space != space)
		begin_space(t, &t->processes.data[*at], space);
}

static bool is_left_alone(const struct trampolines *t, const struct trampoline_process *p)
{
	uint32_t n_max = p->n_others >= p->rules.n ? OTHERS_FIRST : OTHERS_MAX;

	return p->is_stuck || p->n_others >= n_max || t->n_addresses >= ADDRESSES_MAX;
}

static bool read_code(struct trampolines *t, uint64_t pc, uint8_t *bytes)
{
	uint64_t start = trampoline_start(pc, IS_AARCH64);
	size_t at = TRAMPOLINE_CALLER_AT(IS_AARCH64);

	return t->read(t->context, t->pid, start, bytes, TRAMPOLINE_BYTES) ||
	       t->read(t->context, t->pid, start + at, bytes + at,
		       TRAMPOLINE_CALLER_BYTES(IS_AARCH64));
}

/* The read may never end: nothing is half done then. */
static void read_wanted(void *trampolines)
{
	struct trampolines *t = trampolines;
	uint8_t bytes[TRAMPOLINE_BYTES] = { 0 };
	bool is_read = read_code(t, t->wanted, bytes);
	struct trampoline_process *p = trampoline_process(t, t->pid);
	uint32_t number = 0;

	if (is_read) {
		number = number_of_rule(t, unwind_rule_of_trampoline(bytes, IS_AARCH64));
		*intmap_put(&p->rules, t->wanted, NULL) = number;
		t->n_addresses++;
		t->wanted = 0;
	}
	p->n_others += !number;
}

struct unwind_rule trampolines_rule(struct trampolines *t, uint64_t lookup_pc)
{
	struct trampoline_process *p = trampoline_process(t, t->pid);
	uint32_t *known = intmap_find(&p->rules, lookup_pc);

	if (!known && !is_left_alone(t, p)) {
		t->wanted = lookup_pc;
		if (memory_reads_here())
			read_wanted(t);
		known = intmap_find(&p->rules, lookup_pc);
	}
	return known && *known ? t->rules.data[*known - 1] : (struct unwind_rule){ 0 };
}

bool trampolines_learn(struct trampolines *t, struct memory_reads *reads)
{
	int result;

	if (!t || !t->wanted)
		return false;
	result = reads ? memory_reads_run(reads, t->pid, read_wanted, t) : -EACCES;
	if (result == -ETIME || result == -EACCES)
		trampoline_process(t, t->pid)->is_stuck = true;
	return !t->wanted;
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
