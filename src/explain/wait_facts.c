/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where threads wait, for what, and which thread ended the wait. */
#include <stdlib.h>
#include <string.h>

#include "explain/gather.h"
#include "profile/wait_reasons.h"
#include "store/session.h"

/* Functions, and values of keys, are NO_INDEX where there is none. */
struct wait {
	uint32_t comm, function;
	uint32_t waker, waker_symbol, owner, device; /* values of the keys */
	uint32_t words;                              /* of explain_facts.texts */
	enum known_wait kind;
	double ns;
};

struct waits {
	struct gather *g;
	VEC(struct wait) list;
	double *comm_ns;                       /* by comm: on and off the CPU */
	uint32_t interrupt;                    /* the waker that is one; NO_INDEX: none */
	uint32_t reason_value[N_WAIT_REASONS]; /* of the key; NO_INDEX: no wait has it */
};

/* The reasons of the kernel. The others say too little to be a finding. */
static const struct {
	enum known_wait kind;
	const char *words;
} by_reason[N_WAIT_REASONS] = {
	[REASON_TO_WAIT_FUTEX] = { WAIT_LOCK, "a lock" },
	[REASON_TO_WAIT_IPC] = { WAIT_LOCK, "a semaphore or a message queue" },
	[REASON_TO_WAIT_FILE_LOCK] = { WAIT_LOCK, "a lock of a file" },
	[REASON_TO_WAIT_SLEEP] = { WAIT_TIMER, "a time" },
	[REASON_TO_WAIT_POLL] = { WAIT_PEER, "one of several files or events" },
	[REASON_TO_WAIT_SOCKET] = { WAIT_PEER, "a socket" },
	[REASON_TO_WAIT_PIPE] = { WAIT_PEER, "a pipe" },
	[REASON_TO_WAIT_CHILD] = { WAIT_CHILD, "a child" },
	[REASON_TO_WAIT_BLOCK_IO] = { WAIT_IO, "a disk" },
	[REASON_TO_WAIT_JOURNAL] = { WAIT_IO, "the journal of a file system" },
	[REASON_TO_WAIT_WRITEBACK] = { WAIT_IO, "pages to be written to a disk" },
	[REASON_TO_WAIT_NETWORK_FILE] = { WAIT_SERVER, "a server" },
	[REASON_TO_WAIT_MEMORY] = { WAIT_MEMORY, "free memory" },
	[REASON_TO_WAIT_KERNEL_LOCK] = { WAIT_KERNEL_LOCK, "a lock of the kernel" },
	[REASON_TO_WAIT_CPU] = { WAIT_CPU, "a CPU" },
};

static void find_reasons(struct waits *w)
{
	string_id found;

	for (int i = 0; i < N_WAIT_REASONS; i++)
		w->reason_value[i] =
			strings_find(&w->g->p->waker_texts, wait_reason_names[i], &found)
				? found.n
				: NO_INDEX;
}

static enum wait_reason reason_of_value(const struct waits *w, uint32_t value)
{
	for (int i = 0; i < N_WAIT_REASONS; i++)
		if (w->reason_value[i] == value)
			return (enum wait_reason)i;
	return REASON_TO_WAIT_NONE;
}

/* The outermost function of a program that is known to wait, and who called it. */
struct known_call {
	uint32_t function, caller;
};

static bool is_named_own(const struct gather *g, uint32_t f)
{
	return !g->is_kernel[f] && !g->is_c_library[f] && g->code[f] == KNOWN_NONE &&
	       gather_symbol(g, f);
}

static struct known_call find_known_call(const struct gather *g, uint32_t node)
{
	struct known_call call = { NO_INDEX, NO_INDEX };

	for (; g->p->nodes.data[node].depth; node = gather_caller(g, node)) {
		uint32_t f = g->p->nodes.data[node].function;

		if (g->wait[f] != WAIT_OTHER)
			call = (struct known_call){ f, NO_INDEX };
		else if (call.caller == NO_INDEX && is_named_own(g, f))
			call.caller = f;
	}
	return call;
}

/*
 * A condition variable and a mutex both end in the same call of the kernel, so the program's
 * function decides. In a disk's or the kernel's name, it waits for something else.
 */
static void set_kind(struct waits *w, struct wait *wait, enum wait_reason reason,
		     const struct known_call *call)
{
	const struct gather *g = w->g;
	const char *words = by_reason[reason].words;

	wait->kind = by_reason[reason].kind;
	if (call->function != NO_INDEX && (wait->kind == WAIT_LOCK || wait->kind == WAIT_PEER)) {
		wait->kind = g->wait[call->function];
		words = g->wait_words[call->function];
	} else if (reason == REASON_TO_WAIT_FUTEX && wait->waker == w->interrupt) {
		wait->kind = WAIT_TIMER; /* its time was over */
	}
	wait->words = strings_add(&g->out->texts, words ? words : "").n;
}

static bool is_off_cpu(const char *event)
{
	return !strncmp(event, OFF_CPU_EVENTS, strlen(OFF_CPU_EVENTS));
}

static void add_wait_entry(struct waits *w, size_t entry, uint32_t lane)
{
	const struct profile *p = w->g->p;
	const struct profile_entry *e = &p->entries.data[entry];
	double ns = (double)profile_weights(p, entry)[lane].period;
	struct known_call call;
	struct gather_stack s;
	struct wait wait = { .ns = ns };

	if (ns <= 0 || !e->node)
		return;
	gather_look(w->g, e->node, &s);
	if (s.user == NO_INDEX) /* threads of the kernel wait for work */
		return;
	call = find_known_call(w->g, e->node);
	wait.comm = profile_class_value(p, PROFILE_COMM, e->group);
	wait.function = call.caller != NO_INDEX ? call.caller : s.own != NO_INDEX ? s.own : s.user;
	wait.waker = profile_class_value(p, PROFILE_WAKER, e->group);
	wait.waker_symbol = profile_class_value(p, PROFILE_WAKER_SYMBOL, e->group);
	wait.owner = profile_class_value(p, PROFILE_OWNER, e->group);
	wait.device = profile_class_value(p, PROFILE_DEVICE, e->group);
	set_kind(w, &wait, reason_of_value(w, profile_class_value(p, PROFILE_REASON, e->group)),
		 &call);
	w->comm_ns[wait.comm] += ns;
	vec_push(&w->list, wait);
}

static void add_waits(struct waits *w)
{
	const struct profile *p = w->g->p;

	for (uint32_t lane = 0; lane < p->n_lanes; lane++) {
		if (!is_off_cpu(p->session->info.counters[p->lanes[lane].counter].name))
			continue;
		for (size_t i = 0; i < p->entries.n; i++)
			add_wait_entry(w, i, lane);
	}
	if (w->g->cpu_lane == NO_INDEX || w->g->out->cpu_unit != EXPLAIN_NS)
		return;
	for (size_t i = 0; i < p->entries.n; i++)
		w->comm_ns[profile_class_value(p, PROFILE_COMM, p->entries.data[i].group)] +=
			(double)profile_weights(p, i)[w->g->cpu_lane].period;
}

/* ---- the largest of a kind ---- */

/* The waits that count. NO_INDEX: any value. */
struct choice_of_waits {
	enum known_wait kind;
	uint32_t comm, words, function, waker;
};

static bool is_chosen(uint32_t choice, uint32_t value)
{
	return choice == NO_INDEX || choice == value;
}

static bool wait_is_of(const struct wait *wait, const struct choice_of_waits *c)
{
	return wait->kind == c->kind && is_chosen(c->comm, wait->comm) &&
	       is_chosen(c->words, wait->words) && is_chosen(c->function, wait->function) &&
	       is_chosen(c->waker, wait->waker);
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

/* The value of a key that has the most time, unless that is none, or not known. */
static uint32_t put_value(struct waits *w, enum explain_rule_id id,
			  const struct choice_of_waits *choice, size_t member,
			  enum explain_text which)
{
	char scratch[KEY_TEXT_SIZE];
	double ns;
	uint32_t value = heaviest_value(w, choice, member, w->g->p->waker_texts.n, &ns);
	const char *text =
		value == NO_INDEX ? "" : profile_key_text(w->g->p, PROFILE_WAKER, value, scratch);

	if (!strcmp(text, wait_reason_names[REASON_TO_WAIT_NONE]) ||
	    !strcmp(text, wait_reason_names[REASON_TO_WAIT_UNKNOWN]))
		text = "";
	explain_set_text(w->g->out, id, which, text);
	return *text ? value : NO_INDEX;
}

static void put_waker(struct waits *w, enum explain_rule_id id, struct choice_of_waits choice)
{
	choice.waker = put_value(w, id, &choice, WAIT_MEMBER(waker), EXPLAIN_TEXT_waker);
	if (choice.waker != NO_INDEX)
		put_value(w, id, &choice, WAIT_MEMBER(waker_symbol), EXPLAIN_TEXT_waker_symbol);
}

/* The program that waits longest in this way, and the object that it waits for longest. */
static void put_waits(struct waits *w, enum explain_rule_id id, enum known_wait kind)
{
	struct gather *g = w->g;
	struct choice_of_waits choice = { kind, NO_INDEX, NO_INDEX, NO_INDEX, NO_INDEX };
	struct explain_fact *fact = &g->out->fact[id];
	double ns;

	choice.comm = heaviest_value(w, &choice, WAIT_MEMBER(comm), g->p->comms.n, &ns);
	if (choice.comm == NO_INDEX)
		return;
	choice.words = heaviest_value(w, &choice, WAIT_MEMBER(words), g->out->texts.n, &ns);
	vec_foreach (&w->list, wait)
		fact->n += wait_is_of(wait, &choice);
	fact->is_measured = true;
	fact->part = ns;
	fact->whole = w->comm_ns[choice.comm];
	explain_set_text(g->out, id, EXPLAIN_TEXT_comm,
			 strings_get(&g->p->comms, (string_id){ choice.comm }));
	fact->text[EXPLAIN_TEXT_text] = (string_id){ choice.words };
	choice.function = heaviest_value(w, &choice, WAIT_MEMBER(function), g->p->functions.n, &ns);
	gather_put_top(g, id, choice.function, ns);
	put_waker(w, id, choice);
	put_value(w, id, &choice, WAIT_MEMBER(owner), EXPLAIN_TEXT_owner);
	put_value(w, id, &choice, WAIT_MEMBER(device), EXPLAIN_TEXT_device);
}

void gather_waits(struct gather *g)
{
	static const struct {
		enum explain_rule_id id;
		enum known_wait kind;
	} rules[] = {
		{ EXPLAIN_WAIT_LOCKS, WAIT_LOCK },    { EXPLAIN_WAIT_KERNEL, WAIT_KERNEL_LOCK },
		{ EXPLAIN_WAIT_DISK, WAIT_IO },       { EXPLAIN_WAIT_SERVER, WAIT_SERVER },
		{ EXPLAIN_WAIT_MEMORY, WAIT_MEMORY }, { EXPLAIN_WAIT_FOR_CPU, WAIT_CPU },
		{ EXPLAIN_WAIT_TIMER, WAIT_TIMER },   { EXPLAIN_WAIT_CONDITIONS, WAIT_CONDITION },
		{ EXPLAIN_WAIT_PEERS, WAIT_PEER },
	};
	struct waits w = { .g = g, .interrupt = NO_INDEX };
	string_id interrupt;

	if (!g->has_waits)
		return;
	w.comm_ns = xcalloc(g->p->comms.n + 1, sizeof(*w.comm_ns));
	if (strings_find(&g->p->waker_texts, "[interrupt]", &interrupt))
		w.interrupt = interrupt.n;
	find_reasons(&w);
	add_waits(&w);
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		put_waits(&w, rules[i].id, rules[i].kind);
	vec_fini(&w.list);
	free(w.comm_ns);
}
