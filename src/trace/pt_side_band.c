/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/pt_side_band.h"

#include "pt/flow.h"
#include "trace/pt_view.h"

enum { SWITCH_NS = 20000 /* that a switch takes at most, from its record on */ };

/* Events from the n-th on are of the thread that the queue has now. */
static void set_mark(struct queue *q, size_t n, const struct version *of)
{
	const struct pt_switch *guest = of->guest ? q->guest_thread : NULL;
	struct mark m = { .event = n, .tid = q->tid, .of = *of };

	if (guest) {
		m.guest_tid = guest->tid;
		m.machine_pid = q->guest_cpu->machine_pid;
		m.vcpu = q->guest_cpu->vcpu;
	}
	if (q->marks.n && q->marks.data[q->marks.n - 1].event == m.event)
		q->marks.data[q->marks.n - 1] = m;
	else
		vec_push(&q->marks, m);
}

/*
 * No thread leaves its CPU but in the kernel: in user code, and in a guest, the time is only
 * estimated wrongly.
 */
static bool is_outside_kernel(const struct queue *q)
{
	uint64_t ip = q->flow && !q->trace->quick ? pt_flow_address(q->flow) : 0;

	return ip && (q->is_guest || !(ip >> 63));
}

static void enter_thread(struct queue *q, const struct pt_switch *s)
{
	q->tid = s->tid;
	q->pid = s->pid >= 0 ? s->pid : pt_history_pid(&q->trace->history, s->tid);
	q->said = NULL;
}

static void announce_thread(struct queue *q, const struct pt_switch *s)
{
	q->said = s;
	q->said_ip = pt_flow_address(q->flow);
	q->stands_until = 0;
}

/* A CPU of a virtual machine may stand still between the record and the switch, however long. */
static void see_whether_it_stands(struct queue *q, uint64_t now)
{
	uint64_t ip = q->said && q->flow ? pt_flow_address(q->flow) : 0;

	if (ip && ip == q->said_ip)
		q->stands_until = now;
	q->said_ip = ip;
}

bool queue_ends_ahead(const struct queue *q)
{
	const struct pt_history *h = &q->trace->history;

	return q->n_switches && h->cpus.data[q->cpu].data[q->n_switches - 1].is_ahead;
}

/* The trace passes the place where the kernel switches: then that is when. */
static bool is_seen_to_switch(const struct queue *q)
{
	return q->trace->switch_ip != UINT64_MAX && q->flow && pt_flow_address(q->flow);
}

static void follow_switches(struct queue *q, uint64_t now, uint64_t *next)
{
	const struct pt_history *h = &q->trace->history;

	if (q->cpu >= h->cpus.n)
		return;
	if (q->said && !is_seen_to_switch(q))
		enter_thread(q, q->said);
	see_whether_it_stands(q, now);
	for (; q->n_switches < h->cpus.data[q->cpu].n; q->n_switches++) {
		const struct pt_switch *s = &h->cpus.data[q->cpu].data[q->n_switches];

		if (s->time_ns > now || (q->tid >= 0 && is_outside_kernel(q))) {
			*next = MIN(*next, s->time_ns);
			break;
		}
		/* It is there: direct branches up to the switch are still to be followed. */
		if (q->said && !s->is_ahead && s->tid == q->said->tid &&
		    now < MAX(s->time_ns, q->stands_until) + SWITCH_NS)
			break;
		if (q->said)
			enter_thread(q, q->said);
		if (s->is_ahead && is_seen_to_switch(q))
			announce_thread(q, s);
		else
			enter_thread(q, s);
	}
	if (q->said)
		*next = MIN(*next, now);
}

/*
 * The trace passes the kernel's switch of threads. The next thread is the one of the last switch
 * record, or of the next record, because the known time may be a little late.
 */
static bool pass_switch(struct queue *q, uint64_t now)
{
	const struct pt_history *h = &q->trace->history;

	if (!q->said && q->cpu < h->cpus.n && q->n_switches < h->cpus.data[q->cpu].n) {
		const struct pt_switch *s = &h->cpus.data[q->cpu].data[q->n_switches];

		if (!s->is_ahead || s->time_ns > now + SWITCH_NS)
			return false;
		announce_thread(q, s);
		q->n_switches++;
	}
	if (!q->said)
		return false;
	enter_thread(q, q->said);
	return true;
}

/* How many of a process's changes were made by then. */
static size_t changes_until(const struct pt_process *p, size_t from, uint64_t now, uint64_t *next)
{
	size_t n = from <= p->changes.n ? from : 0;

	if (n && p->changes.data[n - 1].time_ns > now)
		n = 0;
	while (n < p->changes.n && p->changes.data[n].time_ns <= now)
		n++;
	if (n < p->changes.n)
		*next = MIN(*next, p->changes.data[n].time_ns);
	return n;
}

/* How many of the kernel's changes were made by then. */
static size_t pokes_until(const struct pt_history *h, size_t from, uint64_t now, uint64_t *next)
{
	size_t n = from;

	if (n && h->pokes.data[n - 1].time_ns > now)
		n = 0;
	while (n < h->pokes.n && h->pokes.data[n].time_ns <= now)
		n++;
	if (n < h->pokes.n)
		*next = MIN(*next, h->pokes.data[n].time_ns);
	return n;
}

/*
 * The thread of the guest that runs. Its kernel switches threads, too: in user mode, the time is
 * only estimated wrongly.
 */
static void follow_guest(struct queue *q, uint64_t now, uint64_t *next)
{
	const struct pt_history *h = &q->trace->history;
	const struct pt_guest_cpu *cpu = q->is_guest ? pt_history_guest_cpu(h, q->tid) : NULL;
	uint64_t ip = q->flow && !q->trace->quick ? pt_flow_address(q->flow) : 0;
	const struct pt_switch *now_runs;

	if (!cpu || cpu != q->guest_cpu)
		q->guest_thread = NULL;
	q->guest_cpu = cpu;
	if (!cpu)
		return;
	now_runs = pt_history_guest_thread(cpu, now, next);
	if (!q->guest_thread || !ip || ip >> 63)
		q->guest_thread = now_runs;
	else if (now_runs != q->guest_thread)
		*next = MIN(*next, now);
}

/* What the queue's process has mapped by now. */
static struct version version_at(const struct queue *q, uint64_t now, uint64_t *next)
{
	const struct pt_history *h = &q->trace->history;
	struct version of = { .pid = q->pid,
			      .is_guest = q->is_guest,
			      .guest = q->guest_thread ? q->guest_thread->pid : 0 };
	const struct pt_process *p = pt_history_process(h, version_process(&of));

	if (p)
		of.n_changes = changes_until(p,
					     q->view && version_process(&q->version) ==
								     version_process(&of)
						     ? q->version.n_changes
						     : 0,
					     now, next);
	of.n_pokes = pokes_until(h, q->view ? q->view->of.n_pokes : 0, now, next);
	return of;
}

uint64_t queue_follow(struct queue *q, uint64_t now)
{
	uint64_t next = UINT64_MAX;
	struct version of;

	follow_switches(q, now, &next);
	follow_guest(q, now, &next);
	of = version_at(q, now, &next);
	queue_enter_view(q, &of);
	set_mark(q, q->events.n, &of);
	return next;
}

void queue_enter_machine(struct queue *q, bool is_guest)
{
	bool is_timeless = q->trace->info.is_timeless;
	uint64_t now = is_timeless ? UINT64_MAX : trace_ns(q->trace, pt_flow_tsc(q->flow));
	uint64_t next = UINT64_MAX;
	struct version of = q->version;

	q->is_guest = of.is_guest = is_guest;
	if (q->trace->history.guest_cpus.n) {
		q->guest_thread = NULL;
		follow_guest(q, now, &next);
		of = version_at(q, now, &next);
		/* Before the first time, what is known of the process still holds. */
		if (!now && version_process(&of) == version_process(&q->version))
			of.n_changes = q->version.n_changes;
		if (!now)
			of.n_pokes = q->version.n_pokes;
	}
	queue_enter_view(q, &of);
	set_mark(q, q->events.n, &of);
}

bool queue_is_switch(const struct queue *q, const struct pt_event *e)
{
	return e->kind == PT_EV_BRANCH && e->branch.to == q->trace->switch_ip && e->branch.from;
}

void queue_find_switches(struct queue *q, const struct pt_event *events, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct pt_event *e = &events[i];
		uint64_t next = UINT64_MAX, now;
		struct version of;

		if (q->is_guest || !queue_is_switch(q, e))
			continue;
		now = trace_ns(q->trace, e->tsc);
		if (!pass_switch(q, now))
			continue;
		of = version_at(q, now, &next);
		set_mark(q, q->events.n + i + 1, &of);
	}
}
