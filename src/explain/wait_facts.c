/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where threads wait, for what, and which thread ended the wait. */
#include <stdlib.h>
#include <string.h>

#include "explain/gather.h"
#include "store/session.h"

struct wait {
	uint32_t comm, function;
	uint32_t waker, waker_symbol; /* values of the keys */
	enum known_wait kind;
	double ns;
};

struct waits {
	struct gather *g;
	VEC(struct wait) list;
	double *comm_ns;    /* by comm: on and off the CPU */
	uint32_t interrupt; /* the waker that is one; NO_INDEX: none */
};

/* The state of a thread that waits, by its event; N_KNOWN_WAITS: the event is another one. */
static enum known_wait wait_of_event(const char *event)
{
	static const struct {
		const char *event;
		enum known_wait kind;
	} kinds[] = { { "off-cpu:sleep", WAIT_OTHER },
		      { "off-cpu:disk", WAIT_IO },
		      { "off-cpu:ready", WAIT_CPU },
		      { "off-cpu:stopped", WAIT_OTHER } };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i].event, event))
			return kinds[i].kind;
	return N_KNOWN_WAITS;
}

/*
 * By the outermost known function of programs, else by the innermost one of the kernel: a condition
 * variable and a mutex both end in the same call of the kernel.
 */
static enum known_wait wait_of_stack(const struct gather *g, uint32_t node, enum known_wait state)
{
	enum known_wait of_kernel = WAIT_OTHER, of_program = WAIT_OTHER;

	if (state == WAIT_CPU)
		return state;
	for (; g->p->nodes.data[node].depth; node = g->p->nodes.data[node].parent) {
		uint32_t f = g->p->nodes.data[node].function;

		if (g->is_kernel[f] && of_kernel == WAIT_OTHER)
			of_kernel = g->wait[f];
		else if (!g->is_kernel[f] && g->wait[f] != WAIT_OTHER)
			of_program = g->wait[f];
	}
	if (of_program != WAIT_OTHER && of_kernel == WAIT_LOCK)
		return of_program;
	if (state == WAIT_IO)
		return of_kernel == WAIT_KERNEL_LOCK ? of_kernel : WAIT_IO;
	return of_kernel;
}

static void add_wait_entry(struct waits *w, size_t entry, uint32_t lane, enum known_wait state)
{
	const struct profile *p = w->g->p;
	const struct profile_entry *e = &p->entries.data[entry];
	double ns = (double)profile_weights(p, entry)[lane].period;
	struct gather_stack s;
	struct wait wait = { .ns = ns };

	if (ns <= 0 || !e->node)
		return;
	gather_look(w->g, e->node, &s);
	if (s.user == NO_INDEX) /* threads of the kernel wait for work */
		return;
	wait.comm = profile_class_value(p, PROFILE_COMM, e->group);
	wait.function = s.own != NO_INDEX ? s.own : s.user;
	wait.waker = profile_class_value(p, PROFILE_WAKER, e->group);
	wait.waker_symbol = profile_class_value(p, PROFILE_WAKER_SYMBOL, e->group);
	wait.kind = wait_of_stack(w->g, e->node, state);
	if (wait.kind == WAIT_LOCK && wait.waker == w->interrupt) /* its time was over */
		wait.kind = WAIT_TIMER;
	w->comm_ns[wait.comm] += ns;
	vec_push(&w->list, wait);
}

static void add_waits(struct waits *w)
{
	const struct profile *p = w->g->p;

	for (uint32_t lane = 0; lane < p->n_lanes; lane++) {
		enum known_wait state =
			wait_of_event(p->session->info.counters[p->lanes[lane].counter].name);

		for (size_t i = 0; i < p->entries.n && state != N_KNOWN_WAITS; i++)
			add_wait_entry(w, i, lane, state);
	}
	if (w->g->cpu_lane == NO_INDEX || w->g->out->cpu_unit != EXPLAIN_NS)
		return;
	for (size_t i = 0; i < p->entries.n; i++)
		w->comm_ns[profile_class_value(p, PROFILE_COMM, p->entries.data[i].group)] +=
			(double)profile_weights(p, i)[w->g->cpu_lane].period;
}

/* ---- the largest of a kind ---- */

/* Which waits count, and by what they are told apart. */
struct choice_of_waits {
	enum known_wait kind;
	uint32_t comm, function, waker; /* NO_INDEX: any */
};

static bool wait_is_of(const struct wait *wait, const struct choice_of_waits *c)
{
	return wait->kind == c->kind && (c->comm == NO_INDEX || c->comm == wait->comm) &&
	       (c->function == NO_INDEX || c->function == wait->function) &&
	       (c->waker == NO_INDEX || c->waker == wait->waker);
}

/* The value that has the most time; *ns: that time. NO_INDEX: there is no wait. */
static uint32_t heaviest_value(const struct waits *w, const struct choice_of_waits *c,
			       size_t member, size_t n_values, double *ns)
{
	cleanup(free_at_exit) double *sums = xcalloc(n_values + 1, sizeof(*sums));
	uint32_t best;

	vec_foreach (&w->list, wait)
		if (wait_is_of(wait, c))
			sums[*(const uint32_t *)((const char *)wait + member)] += wait->ns;
	best = gather_largest(sums, n_values);
	*ns = best == NO_INDEX ? 0 : sums[best];
	return best;
}

#define WAIT_MEMBER(name) offsetof(struct wait, name)

static void put_waker(struct waits *w, enum explain_rule_id id, struct choice_of_waits choice)
{
	static const char none[] = "[none]";
	const struct profile *p = w->g->p;
	size_t n = p->waker_texts.n;
	char scratch[KEY_TEXT_SIZE];
	uint32_t symbol;
	double ns;

	choice.waker = heaviest_value(w, &choice, WAIT_MEMBER(waker), n, &ns);
	if (choice.waker == NO_INDEX ||
	    !strcmp(profile_key_text(p, PROFILE_WAKER, choice.waker, scratch), none))
		return;
	explain_set_text(w->g->out, id, EXPLAIN_TEXT_waker,
			 profile_key_text(p, PROFILE_WAKER, choice.waker, scratch));
	symbol = heaviest_value(w, &choice, WAIT_MEMBER(waker_symbol), n, &ns);
	if (symbol != NO_INDEX &&
	    strcmp(profile_key_text(p, PROFILE_WAKER_SYMBOL, symbol, scratch), none) != 0)
		explain_set_text(w->g->out, id, EXPLAIN_TEXT_waker_symbol,
				 profile_key_text(p, PROFILE_WAKER_SYMBOL, symbol, scratch));
}

/* The program that waits longest in this way. */
static void put_waits(struct waits *w, enum explain_rule_id id, enum known_wait kind)
{
	struct gather *g = w->g;
	struct choice_of_waits choice = { kind, NO_INDEX, NO_INDEX, NO_INDEX };
	struct explain_fact *fact = &g->out->fact[id];
	double ns;

	choice.comm = heaviest_value(w, &choice, WAIT_MEMBER(comm), g->p->comms.n, &ns);
	if (choice.comm == NO_INDEX)
		return;
	fact->is_measured = true;
	fact->part = ns;
	fact->whole = w->comm_ns[choice.comm];
	explain_set_text(g->out, id, EXPLAIN_TEXT_comm,
			 strings_get(&g->p->comms, (string_id){ choice.comm }));
	choice.function = heaviest_value(w, &choice, WAIT_MEMBER(function), g->p->functions.n, &ns);
	gather_put_top(g, id, choice.function, ns);
	put_waker(w, id, choice);
}

void gather_waits(struct gather *g)
{
	static const struct {
		enum explain_rule_id id;
		enum known_wait kind;
	} rules[] = {
		{ EXPLAIN_WAIT_LOCKS, WAIT_LOCK },  { EXPLAIN_WAIT_KERNEL, WAIT_KERNEL_LOCK },
		{ EXPLAIN_WAIT_DISK, WAIT_IO },     { EXPLAIN_WAIT_FOR_CPU, WAIT_CPU },
		{ EXPLAIN_WAIT_TIMER, WAIT_TIMER }, { EXPLAIN_WAIT_CONDITIONS, WAIT_CONDITION },
		{ EXPLAIN_WAIT_PEERS, WAIT_PEER },
	};
	struct waits w = { .g = g, .interrupt = NO_INDEX };
	string_id interrupt;

	if (!g->has_waits)
		return;
	w.comm_ns = xcalloc(g->p->comms.n + 1, sizeof(*w.comm_ns));
	if (strings_find(&g->p->waker_texts, "[interrupt]", &interrupt))
		w.interrupt = interrupt.n;
	add_waits(&w);
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		put_waits(&w, rules[i].id, rules[i].kind);
	vec_fini(&w.list);
	free(w.comm_ns);
}
