/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/pid_namespace.h"

#include <string.h>

#include "base/mem.h"
#include "symbol/kallsyms.h"

/* The functions that an idle CPU's stack goes through (kernel/sched/idle.c). */
static const char *const idle_names[] = { "do_idle", "cpu_startup_entry", "play_idle_precise" };

struct pid_namespace {
	struct event_sink sink;
	struct event_sink *next;
	struct {
		uint64_t start, end;
	} idle[ARRAY_SIZE(idle_names)];
};

static void find_idle(struct pid_namespace *p, const struct kallsyms *k)
{
	for (size_t i = 0; i + 1 < k->symbols.n; i++) {
		const struct kernel_symbol *s = &k->symbols.data[i];

		for (size_t j = 0; s->name && !s->module && j < ARRAY_SIZE(idle_names); j++) {
			if (strlen(idle_names[j]) != s->name_len ||
			    memcmp(idle_names[j], s->name, s->name_len) != 0)
				continue;
			p->idle[j].start = s->addr;
			p->idle[j].end = s[1].addr;
		}
	}
}

static bool is_idle_address(const struct pid_namespace *p, uint64_t addr)
{
	bool is_idle_stack = false;

	for (size_t i = 0; i < ARRAY_SIZE(idle_names); i++)
		is_idle_stack |= addr >= p->idle[i].start && addr < p->idle[i].end;
	return is_idle_stack;
}

static bool is_idle_stack(const struct pid_namespace *p, const struct sample_event *s)
{
	bool is_idle_stack = s->mode == MODE_KERNEL && is_idle_address(p, s->ip);

	for (uint32_t i = 0; i < s->n_kernel && !is_idle_stack; i++)
		is_idle_stack = is_idle_address(p, s->callers[i]);
	return is_idle_stack;
}

/* One frame replaces its unknown user part; copied registers and stacks are dropped. */
static int push_other(struct pid_namespace *p, const struct event *event)
{
	struct event e = *event;
	struct sample_extra extra;
	uint32_t n_user = e.sample.mode != MODE_USER && e.sample.n_callers > e.sample.n_kernel;

	e.pid = e.tid = PID_OTHER_NAMESPACE;
	e.sample.n_callers = e.sample.n_kernel + n_user;
	if (e.sample.extra) {
		extra = *e.sample.extra;
		extra.user = extra.interrupted = (struct sample_registers){ 0 };
		extra.stack = NULL;
		extra.stack_size = 0;
		e.sample.extra = &extra;
	}
	return event_push(p->next, &e);
}

static int pid_namespace_push(struct event_sink *sink, const struct event *e)
{
	struct pid_namespace *p = (struct pid_namespace *)sink;

	if (e->pid)
		return event_push(p->next, e);
	switch (e->type) {
	case EVENT_SAMPLE:
		return is_idle_stack(p, &e->sample) ? event_push(p->next, e) : push_other(p, e);
	case EVENT_MAPPING:
	case EVENT_COMM:
	case EVENT_FORK:
	case EVENT_EXIT:
		return 0;
	default:
		return event_push(p->next, e);
	}
}

static void pid_namespace_expect(struct event_sink *sink, const struct event *e)
{
	if (e->pid)
		event_expect(((struct pid_namespace *)sink)->next, e);
}

struct pid_namespace *pid_namespace_new(const char *proc, struct event_sink *next)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/kallsyms", proc);
	struct pid_namespace *p = xcalloc(1, sizeof(*p));
	struct kallsyms k = { 0 };

	p->sink = (struct event_sink){ pid_namespace_push, pid_namespace_expect };
	p->next = next;
	if (kallsyms_read(&k, path) == 0 && !k.is_hidden)
		find_idle(p, &k);
	kallsyms_fini(&k);
	return p;
}

void pid_namespace_free(struct pid_namespace *p)
{
	free(p);
}

struct event_sink *pid_namespace_sink(struct pid_namespace *p)
{
	return &p->sink;
}
