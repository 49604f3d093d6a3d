/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where CPU time goes: by the kind of code that runs, and by the tree of calls. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "explain/gather.h"
#include "explain/rules.h"
#include "profile/context.h"
#include "store/cpu_times.h"
#include "store/session.h"

/* The weights of a rule's part, by function, by caller, and by what the rule names as text. */
struct tally {
	double sum;
	double *symbol, *caller, *text;
};

/* A function that has the sample's weight in a rule's part. */
struct vote {
	uint32_t symbol, caller, text; /* NO_INDEX: none */
};

struct cpu {
	struct gather *g;
	struct tally tallies[N_EXPLAIN_RULES];
	/* By function: with all that it calls, while it calls itself, and its open calls */
	double *total, *recursive, *open;
	uint32_t *seen_at; /* by function: the entry that was the last with it, + 1 */
	uint32_t *seen_n;
	double *comm; /* of SHORT_PROCESSES, by comm */
};

static double *numbers_by_function(const struct gather *g)
{
	return xcalloc(g->p->functions.n + 1, sizeof(double));
}

static void tally_add(struct cpu *c, enum explain_rule_id id, double weight, struct vote vote)
{
	struct tally *t = &c->tallies[id];

	if (!t->symbol) {
		t->symbol = numbers_by_function(c->g);
		t->caller = numbers_by_function(c->g);
		t->text = numbers_by_function(c->g);
	}
	t->sum += weight;
	if (vote.symbol != NO_INDEX)
		t->symbol[vote.symbol] += weight;
	if (vote.caller != NO_INDEX && vote.caller != vote.symbol)
		t->caller[vote.caller] += weight;
	if (vote.text != NO_INDEX)
		t->text[vote.text] += weight;
}

/* ---- one stack ---- */

/* In the kernel, on behalf of a process. */
static void count_kernel(struct cpu *c, const struct gather_stack *s, double weight)
{
	uint32_t call = s->outer[KNOWN_SYSCALL];
	const struct vote vote = { s->leaf, s->own, call };

	if (s->outer[KNOWN_FAULT] != NO_INDEX)
		tally_add(c, EXPLAIN_PAGE_FAULTS, weight,
			  (struct vote){ s->own != NO_INDEX ? s->own : s->user, NO_INDEX,
					 s->outer[KNOWN_FAULT] });
	else if (call != NO_INDEX)
		tally_add(c, EXPLAIN_SYSCALLS, weight, (struct vote){ call, s->own, call });
	if (c->g->code[s->leaf] == KNOWN_KERNEL_COPY)
		tally_add(c, EXPLAIN_KERNEL_COPY, weight, vote);
	if (c->g->code[s->leaf] == KNOWN_SPIN)
		tally_add(c, EXPLAIN_KERNEL_SPIN, weight, vote);
}

static void count_kinds(struct cpu *c, const struct gather_stack *s, double weight)
{
	static const struct {
		enum known_code code;
		enum explain_rule_id id;
	} with_callees[] = { { KNOWN_ALLOCATOR, EXPLAIN_ALLOCATOR },
			     { KNOWN_COLLECTOR, EXPLAIN_COLLECTOR },
			     { KNOWN_LOCK, EXPLAIN_LOCKING } };
	enum known_code code = c->g->code[s->leaf];
	const struct vote vote = { s->leaf, s->own, NO_INDEX };

	for (size_t i = 0; i < ARRAY_SIZE(with_callees); i++) {
		uint32_t outer = s->outer[with_callees[i].code];

		if (outer != NO_INDEX)
			tally_add(c, with_callees[i].id, weight,
				  (struct vote){ outer, s->own, NO_INDEX });
	}
	if (code == KNOWN_COPY)
		tally_add(c, EXPLAIN_COPYING, weight, vote);
	if (code == KNOWN_ZERO || code == KNOWN_CLEAR)
		tally_add(c, EXPLAIN_CLEARING, weight, vote);
	if (code == KNOWN_INTERPRETER && !s->has_language)
		tally_add(c, EXPLAIN_INTERPRETER, weight, vote);
}

/* The depth of a stack's open calls, for functions that call themselves. */
static void count_tree(struct cpu *c, uint32_t entry, double weight)
{
	const struct profile *p = c->g->p;
	uint32_t node = p->entries.data[entry].node;

	for (; p->nodes.data[node].depth; node = p->nodes.data[node].parent) {
		uint32_t f = p->nodes.data[node].function;

		if (c->seen_at[f] != entry + 1) {
			c->seen_at[f] = entry + 1;
			c->seen_n[f] = 0;
			c->total[f] += weight;
		}
		c->seen_n[f]++;
		c->open[f] += weight;
		if (c->seen_n[f] == 2)
			c->recursive[f] += weight;
	}
}

static void count_entry(struct cpu *c, uint32_t entry, double weight)
{
	const struct profile_entry *e = &c->g->p->entries.data[entry];
	enum sample_context context = profile_class_value(c->g->p, PROFILE_CONTEXT, e->group);
	struct gather_stack s;

	gather_look(c->g, e->node, &s);
	if (context == CONTEXT_IRQ || context == CONTEXT_SOFTIRQ) {
		tally_add(c, EXPLAIN_INTERRUPTS, weight,
			  (struct vote){ s.leaf, NO_INDEX, NO_INDEX });
		return;
	}
	if (s.outer[KNOWN_PROCESS] != NO_INDEX || s.outer[KNOWN_LINKER] != NO_INDEX) {
		tally_add(c, EXPLAIN_SHORT_PROCESSES, weight,
			  (struct vote){ s.leaf, NO_INDEX, NO_INDEX });
		c->comm[profile_class_value(c->g->p, PROFILE_COMM, e->group)] += weight;
	}
	if (context == CONTEXT_SYSTEM)
		count_kernel(c, &s, weight);
	count_kinds(c, &s, weight);
	count_tree(c, entry, weight);
	if (gather_symbol(c->g, s.leaf) && c->g->code[s.leaf] == KNOWN_NONE)
		tally_add(c, EXPLAIN_HOT_FUNCTION, weight,
			  (struct vote){ s.leaf, NO_INDEX, NO_INDEX });
}

/* ---- facts ---- */

static void put_sum(struct cpu *c, enum explain_rule_id id, double sum)
{
	struct explain_fact *fact = &c->g->out->fact[id];

	fact->part = sum;
	fact->whole = c->g->out->cpu_sum;
	fact->unit = c->g->out->cpu_unit;
}

static void put_tally(struct cpu *c, enum explain_rule_id id)
{
	const struct tally *t = &c->tallies[id];
	size_t n = c->g->p->functions.n;
	uint32_t symbol;

	put_sum(c, id, t->sum);
	if (!t->symbol)
		return;
	symbol = gather_largest(t->symbol, n);
	gather_put_top(c->g, id, symbol, symbol == NO_INDEX ? 0 : t->symbol[symbol]);
	gather_put_symbol(c->g, id, EXPLAIN_TEXT_caller, gather_largest(t->caller, n));
	gather_put_symbol(c->g, id, EXPLAIN_TEXT_text, gather_largest(t->text, n));
}

/* "read" instead of "__x64_sys_read". */
static void name_syscall(struct gather *g, enum explain_rule_id id)
{
	const struct explain_fact *fact = &g->out->fact[id];
	const char *name = known_syscall(explain_text(g->out, fact, EXPLAIN_TEXT_text));

	explain_set_text(g->out, id, EXPLAIN_TEXT_text, name);
}

/* Recorded faults name the function that has most of them, which need not take the most time. */
static void put_faults(struct cpu *c)
{
	const struct profile *p = c->g->p;
	struct explain_fact *fact = &c->g->out->fact[EXPLAIN_PAGE_FAULTS];
	cleanup(free_at_exit) double *faults = numbers_by_function(c->g);
	uint32_t lane = c->g->fault_lane;
	struct gather_stack s;

	fact->look = lane == NO_INDEX ? LOOK_VIA : LOOK_FAULTS;
	if (lane == NO_INDEX)
		return;
	fact->n = p->lanes[lane].total.period;
	for (uint32_t i = 0; i < p->entries.n; i++) {
		uint64_t n = profile_weights(p, i)[lane].period;

		if (!n || !p->entries.data[i].node)
			continue;
		gather_look(c->g, p->entries.data[i].node, &s);
		if (s.own != NO_INDEX || s.user != NO_INDEX)
			faults[s.own != NO_INDEX ? s.own : s.user] += (double)n;
	}
	gather_put_symbol(c->g, EXPLAIN_PAGE_FAULTS, EXPLAIN_TEXT_caller,
			  gather_largest(faults, p->functions.n));
}

static void put_processes(struct cpu *c)
{
	struct explain_fact *fact = &c->g->out->fact[EXPLAIN_SHORT_PROCESSES];
	uint32_t comm = gather_largest(c->comm, c->g->p->comms.n);
	struct cpu_times times;
	const char *why;

	cpu_times_init(&times);
	fact->n = c->g->p->processes.n;
	if (cpu_times_of_session(&times, c->g->session, &why))
		fact->n = MAX(fact->n, times.processes.n + times.n_more);
	cpu_times_fini(&times);
	if (comm != NO_INDEX)
		explain_set_text(c->g->out, EXPLAIN_SHORT_PROCESSES, EXPLAIN_TEXT_comm,
				 strings_get(&c->g->p->comms, (string_id){ comm }));
}

static void put_idle(struct cpu *c)
{
	struct gather *g = c->g;
	double *by_comm = xcalloc(g->p->comms.n + 1, sizeof(*by_comm));
	uint32_t most;

	for (size_t i = 0; i < g->p->entries.n; i++)
		by_comm[profile_class_value(g->p, PROFILE_COMM, g->p->entries.data[i].group)] +=
			(double)profile_weights(g->p, i)[g->cpu_lane].period;
	most = gather_largest(by_comm, g->p->comms.n);
	if (most != NO_INDEX) {
		explain_set_text(g->out, EXPLAIN_IDLE, EXPLAIN_TEXT_comm,
				 strings_get(&g->p->comms, (string_id){ most }));
		g->out->fact[EXPLAIN_IDLE].of_symbol = by_comm[most] / g->out->cpu_sum;
	}
	free(by_comm);
}

/* ---- the tree of calls ---- */

/*
 * A function of a program, with a name, that no other rule is about. Of an interpreted program, the
 * functions of its language are, and not those of the interpreter.
 */
static bool is_plain_code(const struct gather *g, uint32_t f)
{
	const struct image *image = g->p->images.data[g->p->functions.data[f].image].image;

	if (g->has_language && image->kind != IMAGE_LANGUAGE)
		return false;
	return !g->is_kernel[f] && !g->is_c_library[f] && g->code[f] == KNOWN_NONE &&
	       gather_symbol(g, f);
}

static void put_recursion(struct cpu *c)
{
	struct gather *g = c->g;
	struct explain_fact *fact = &g->out->fact[EXPLAIN_RECURSION];
	uint32_t f;

	for (f = 0; f < g->p->functions.n; f++)
		if (!is_plain_code(g, f))
			c->recursive[f] = 0;
	f = gather_largest(c->recursive, g->p->functions.n);
	if (f == NO_INDEX)
		return;
	put_sum(c, EXPLAIN_RECURSION, c->recursive[f]);
	gather_put_top(g, EXPLAIN_RECURSION, f, c->recursive[f]);
	fact->n = (uint64_t)(c->open[f] / c->total[f] + 0.5);
}

static double *totals_by_node(const struct gather *g)
{
	const struct profile *p = g->p;
	double *total = xcalloc(p->nodes.n + 1, sizeof(*total));

	for (size_t i = 0; i < p->entries.n; i++)
		total[p->entries.data[i].node] += (double)profile_weights(p, i)[g->cpu_lane].period;
	for (uint32_t n = (uint32_t)p->nodes.n; n-- > 1;)
		total[p->nodes.data[n].parent] += total[n];
	return total;
}

/* The heaviest child of each node: parents come before children. */
static uint32_t *heaviest_children(const struct profile *p, const double *total)
{
	uint32_t *heaviest = xcalloc(p->nodes.n + 1, sizeof(*heaviest));

	for (uint32_t n = 1; n < p->nodes.n; n++) {
		uint32_t *best = &heaviest[p->nodes.data[n].parent];

		if (!*best || total[n] > total[*best])
			*best = n;
	}
	return heaviest;
}

#define NAMED_CALLEES 3

/* "parse 12 %, mix 9 %": the heaviest functions that a node calls. */
static void name_callees(struct cpu *c, uint32_t node, const double *total, struct buf *out)
{
	const struct profile *p = c->g->p;
	uint32_t named[NAMED_CALLEES] = { 0 };

	for (size_t k = 0; k < NAMED_CALLEES; k++) {
		uint32_t best = 0;

		for (uint32_t n = 1; n < p->nodes.n; n++)
			if (p->nodes.data[n].parent == node &&
			    total[n] > (best ? total[best] : 0) && n != named[0] && n != named[1] &&
			    n != named[2] && gather_symbol(c->g, p->nodes.data[n].function))
				best = n;
		if (!best)
			return;
		named[k] = best;
		buf_printf(out, "%s%s ", k ? ", " : "",
			   gather_symbol(c->g, p->nodes.data[best].function));
		explain_put_share(out, total[best] / c->g->out->cpu_sum);
	}
}

/* Whether a kind of code, of which the function has most, is half of the weight or more. */
static bool is_explained(const struct gather *g, const char *name, double weight)
{
	static const enum explain_rule_id kinds[] = { EXPLAIN_SYSCALLS, EXPLAIN_PAGE_FAULTS,
						      EXPLAIN_ALLOCATOR, EXPLAIN_COPYING,
						      EXPLAIN_CLEARING };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct explain_fact *fact = &g->out->fact[kinds[i]];

		if (fact->part >= weight / 2 &&
		    (!strcmp(explain_text(g->out, fact, EXPLAIN_TEXT_symbol), name) ||
		     !strcmp(explain_text(g->out, fact, EXPLAIN_TEXT_caller), name)))
			return true;
	}
	return false;
}

/* All of a program or thread is below these. */
static bool is_beginning(const char *name)
{
	static const char *const names[] = { "main", "_start", "<module>" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* Only where no function is hot by itself. */
static void put_hot_path(struct cpu *c)
{
	struct gather *g = c->g;
	cleanup(free_at_exit) double *total = totals_by_node(g);
	cleanup(free_at_exit) uint32_t *heaviest = heaviest_children(g->p, total);
	const struct explain_rule *rule = &explain_rules[EXPLAIN_HOT_PATH];
	const char *name;
	uint32_t found = 0;
	struct buf text = { 0 };

	for (uint32_t n = heaviest[0]; n && total[n] >= rule->least * g->out->cpu_sum;
	     n = heaviest[n])
		if (is_plain_code(g, g->p->nodes.data[n].function))
			found = n;
	name = gather_symbol(g, g->p->nodes.data[found].function);
	if (!found || is_beginning(name) || is_explained(g, name, total[found]) ||
	    explain_share(&g->out->fact[EXPLAIN_HOT_FUNCTION]) >=
		    explain_rules[EXPLAIN_HOT_FUNCTION].least)
		return;
	put_sum(c, EXPLAIN_HOT_PATH, total[found]);
	gather_put_top(g, EXPLAIN_HOT_PATH, g->p->nodes.data[found].function, total[found]);
	name_callees(c, found, total, &text);
	explain_set_text(g->out, EXPLAIN_HOT_PATH, EXPLAIN_TEXT_text, buf_cstr(&text));
	buf_fini(&text);
}

/* ---- all ---- */

/* The hottest function alone, and its callers. */
static void put_hot_function(struct cpu *c)
{
	struct gather *g = c->g;
	const struct profile *p = g->p;
	struct tally *t = &c->tallies[EXPLAIN_HOT_FUNCTION];
	uint32_t hot = t->symbol ? gather_largest(t->symbol, p->functions.n) : NO_INDEX;
	cleanup(free_at_exit) double *callers = numbers_by_function(g);

	if (hot == NO_INDEX)
		return;
	for (size_t i = 0; i < p->entries.n; i++) {
		uint32_t node = p->entries.data[i].node;

		if (p->nodes.data[node].function != hot)
			continue;
		while (p->nodes.data[node].depth && p->nodes.data[node].function == hot)
			node = gather_caller(g, node);
		if (p->nodes.data[node].depth)
			callers[p->nodes.data[node].function] +=
				(double)profile_weights(p, i)[g->cpu_lane].period;
	}
	put_sum(c, EXPLAIN_HOT_FUNCTION, t->symbol[hot]);
	gather_put_top(g, EXPLAIN_HOT_FUNCTION, hot, t->symbol[hot]);
	gather_put_symbol(g, EXPLAIN_HOT_FUNCTION, EXPLAIN_TEXT_caller,
			  gather_largest(callers, p->functions.n));
}

static void cpu_init(struct cpu *c, struct gather *g)
{
	size_t n = g->p->functions.n;

	*c = (struct cpu){ .g = g };
	c->total = numbers_by_function(g);
	c->recursive = numbers_by_function(g);
	c->open = numbers_by_function(g);
	c->seen_at = xcalloc(n + 1, sizeof(*c->seen_at));
	c->seen_n = xcalloc(n + 1, sizeof(*c->seen_n));
	c->comm = xcalloc(g->p->comms.n + 1, sizeof(*c->comm));
}

static void cpu_fini(struct cpu *c)
{
	for (int id = 0; id < N_EXPLAIN_RULES; id++) {
		free(c->tallies[id].symbol);
		free(c->tallies[id].caller);
		free(c->tallies[id].text);
	}
	free(c->total);
	free(c->recursive);
	free(c->open);
	free(c->seen_at);
	free(c->seen_n);
	free(c->comm);
}

void gather_cpu(struct gather *g)
{
	static const enum explain_rule_id by_tally[] = {
		EXPLAIN_SYSCALLS,    EXPLAIN_PAGE_FAULTS, EXPLAIN_KERNEL_COPY,
		EXPLAIN_CLEARING,    EXPLAIN_KERNEL_SPIN, EXPLAIN_COPYING,
		EXPLAIN_ALLOCATOR,   EXPLAIN_COLLECTOR,   EXPLAIN_LOCKING,
		EXPLAIN_INTERPRETER, EXPLAIN_INTERRUPTS,  EXPLAIN_SHORT_PROCESSES,
	};
	struct cpu c;

	cpu_init(&c, g);
	for (uint32_t i = 0; i < g->p->entries.n; i++) {
		double weight = (double)profile_weights(g->p, i)[g->cpu_lane].period;

		if (weight > 0 && g->p->entries.data[i].node)
			count_entry(&c, i, weight);
	}
	for (size_t i = 0; i < ARRAY_SIZE(by_tally); i++)
		put_tally(&c, by_tally[i]);
	name_syscall(g, EXPLAIN_SYSCALLS);
	name_syscall(g, EXPLAIN_KERNEL_COPY);
	name_syscall(g, EXPLAIN_KERNEL_SPIN);
	put_faults(&c);
	put_processes(&c);
	put_idle(&c);
	put_hot_function(&c);
	put_recursion(&c);
	put_hot_path(&c);
	cpu_fini(&c);
}
