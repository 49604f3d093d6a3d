/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/cpu_account.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/intmap.h"
#include "collect/process_clock.h"
#include "machine/proc.h"
#include "store/cpu_times.h"

#define CPU_ACCOUNT_MAX_TASKS (1u << 20) /* that have not ended yet */

struct account_process {
	int32_t pid;
	uint64_t start_ns; /* its clock when counting began, or 0 */
	uint64_t done_ns;  /* of ended processes with this number, or of its ended threads */
	uint64_t last_ns;  /* taskstats: its life's time, as far as it was sent */
	uint64_t end_ns;   /* its clock at the end */
	bool has_last, is_alive, is_unknown, is_settled;
};

/* A thread of the recorded processes without its final time yet. */
struct account_task {
	int32_t pid;
	uint32_t root; /* the index of the target process that it comes from */
};

/* A target process: the time of its first threads, and of all that they started. */
struct account_root {
	int32_t pid;
	uint64_t total_ns, ended_ns, alive_ns;
	int32_t missing_pid; /* of ended threads whose time did not come; 0: none, -1: several */
};

struct cpu_account {
	struct cpu_account_config config;
	struct cpu_times times;
	VEC(struct account_process) processes;
	struct intmap process_of_pid;
	VEC(struct account_task) tasks; /* free ones have pid 0 */
	VEC(uint32_t) free_tasks;
	struct intmap task_of_tid;
	VEC(struct account_root) roots;
	VEC(uint32_t) root_of_tid; /* by the config's tids */
	VEC(uint64_t) ended_of_id;
	struct intmap index_of_id;
	struct intmap throttled_since; /* (CPU, counter): index of `since` */
	VEC(uint64_t) since;           /* 0: it runs */
	struct cpu_stat stat;
	uint64_t begin_ns, end_ns, throttled_ns;
	int exits_fd, exits_error;
	bool has_stat, has_dropped;
};

/* NULL: there are too many. */
static struct account_process *account_process_of(struct cpu_account *a, int32_t pid)
{
	bool is_new;
	uint32_t *at = intmap_find(&a->process_of_pid, (uint32_t)pid);

	if (at)
		return &a->processes.data[*at];
	if (a->processes.n == CPU_TIMES_MAX_PROCESSES)
		return NULL;
	*intmap_put(&a->process_of_pid, (uint32_t)pid, &is_new) = (uint32_t)a->processes.n;
	vec_push(&a->processes, (struct account_process){ .pid = pid });
	return &a->processes.data[a->processes.n - 1];
}

static void add_done(struct cpu_account *a, int32_t pid, uint64_t ns)
{
	struct account_process *p = account_process_of(a, pid);

	if (p)
		p->done_ns += ns;
	else
		a->times.more_ns += ns;
	a->times.n_more += !p;
}

/* ---- threads of the recorded processes ---- */

static void put_task(struct cpu_account *a, int32_t tid, int32_t pid, uint32_t root)
{
	uint32_t *at = intmap_find(&a->task_of_tid, (uint32_t)tid), i;

	if (at) /* its number is used again: its time got lost */
		a->roots.data[a->tasks.data[*at].root].missing_pid = -1;
	if (!at && a->tasks.n - a->free_tasks.n >= CPU_ACCOUNT_MAX_TASKS)
		return;
	if (!at && !a->free_tasks.n)
		vec_push(&a->tasks, (struct account_task){ 0 });
	i = at                ? *at
	    : a->free_tasks.n ? a->free_tasks.data[--a->free_tasks.n]
			      : (uint32_t)a->tasks.n - 1;
	a->tasks.data[i] = (struct account_task){ .pid = pid, .root = root };
	*intmap_put(&a->task_of_tid, (uint32_t)tid, NULL) = i;
}

static void drop_task(struct cpu_account *a, int32_t tid)
{
	const uint32_t *at = intmap_find(&a->task_of_tid, (uint32_t)tid);

	if (!at)
		return;
	a->tasks.data[*at].pid = 0;
	vec_push(&a->free_tasks, *at);
	intmap_remove(&a->task_of_tid, (uint32_t)tid);
}

static void account_throttle(struct cpu_account *a, const struct event *e)
{
	uint64_t key = (uint64_t)e->cpu << 32 | e->throttle.counter, *since;
	bool is_new;
	uint32_t *at = intmap_put(&a->throttled_since, key, &is_new);

	if (is_new) {
		*at = (uint32_t)a->since.n;
		vec_push(&a->since, 0);
	}
	since = &a->since.data[*at];
	if (!e->throttle.is_end && !*since)
		*since = e->time_ns;
	if (!e->throttle.is_end || !*since || e->time_ns < *since)
		return;
	a->throttled_ns += e->time_ns - *since;
	*since = 0;
}

static void account_event(void *context, const struct event *e)
{
	struct cpu_account *a = context;
	const uint32_t *at;

	if (e->type == EVENT_THROTTLE)
		account_throttle(a, e);
	if (a->config.is_machine || e->type != EVENT_FORK)
		return;
	at = intmap_find(&a->task_of_tid, (uint32_t)e->fork.ptid);
	if (at)
		put_task(a, e->tid, e->pid, a->tasks.data[*at].root);
}

static void account_ran(void *context, int32_t pid, int32_t tid, uint64_t id, uint64_t ns)
{
	struct cpu_account *a = context;
	bool is_new;
	uint32_t *at;

	if (a->config.is_machine)
		return;
	at = intmap_put(&a->index_of_id, id, &is_new);
	if (is_new) {
		*at = (uint32_t)a->ended_of_id.n;
		vec_push(&a->ended_of_id, 0);
	}
	a->ended_of_id.data[*at] += ns;
	add_done(a, pid, ns);
	drop_task(a, tid);
}

static uint32_t root_of_pid(struct cpu_account *a, int32_t pid)
{
	for (uint32_t i = 0; i < a->roots.n; i++)
		if (a->roots.data[i].pid == pid)
			return i;
	vec_push(&a->roots, (struct account_root){ .pid = pid });
	return (uint32_t)a->roots.n - 1;
}

/* A command's first thread is its process. */
static int32_t process_of_thread(const struct cpu_account *a, int32_t tid)
{
	for (size_t i = 0; i < a->config.n_pids; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/%d/task/%d", a->config.pids[i], tid);
		if (access(path, F_OK) == 0)
			return a->config.pids[i];
	}
	return tid;
}

static void begin_processes(struct cpu_account *a)
{
	for (size_t i = 0; i < a->config.n_tids; i++) {
		int32_t tid = a->config.tids[i], pid = process_of_thread(a, tid);
		struct account_process *p = account_process_of(a, pid);
		uint32_t root = root_of_pid(a, pid);

		if (p && !p->start_ns)
			process_clock(pid, &p->start_ns);
		vec_push(&a->root_of_tid, root);
		put_task(a, tid, pid, root);
	}
}

/* The clocks of processes that live, unless they were read before. */
static void clock_tasks(struct cpu_account *a)
{
	vec_foreach (&a->tasks, t) {
		struct account_process *p = t->pid ? account_process_of(a, t->pid) : NULL;

		if (p && !p->is_alive)
			p->is_alive = process_clock(t->pid, &p->end_ns);
	}
}

/* ---- the machine ---- */

/* A later process of the same number began with a smaller clock. */
static void finish_life(struct account_process *p)
{
	if (p->has_last)
		p->done_ns += p->last_ns - MIN(p->last_ns, p->start_ns);
	p->start_ns = 0;
	p->has_last = false;
}

static void account_exit(void *context, pid_t pid, uint64_t ns, bool is_whole)
{
	struct cpu_account *a = context;
	struct account_process *p = account_process_of(a, pid);

	if (!p) {
		a->times.n_more++;
		a->times.more_ns += ns;
		return;
	}
	if (p->has_last && (!is_whole || ns < p->last_ns))
		finish_life(p);
	p->last_ns = ns;
	p->has_last = true;
}

static void each_clock(struct cpu_account *a, bool is_end)
{
	struct pid_list pids = { 0 };

	proc_list_pids("/proc", &pids);
	vec_foreach (&pids, pid) {
		uint64_t ns;
		struct account_process *p;

		if (!process_clock(*pid, &ns) || !(p = account_process_of(a, *pid)))
			continue;
		p->is_alive = is_end;
		*(is_end ? &p->end_ns : &p->start_ns) = ns;
	}
	vec_fini(&pids);
}

static void begin_machine(struct cpu_account *a)
{
	a->has_stat = cpu_stat_read("/proc", a->config.cpus, &a->stat);
	if (!a->config.has_all_cpus)
		return;
	a->exits_fd = exit_times_open();
	a->exits_error = MIN(a->exits_fd, 0);
	each_clock(a, false);
}

struct cpu_account *cpu_account_begin(const struct cpu_account_config *config)
{
	struct cpu_account *a = xcalloc(1, sizeof(*a));
	const struct rings_watch watch = { account_event, account_ran, a };

	a->config = *config;
	a->exits_fd = -1;
	cpu_times_init(&a->times);
	rings_set_watch(config->rings, &watch);
	if (config->is_machine)
		begin_machine(a);
	else
		begin_processes(a);
	a->begin_ns = clock_monotonic_ns();
	return a;
}

void cpu_account_turn(struct cpu_account *a)
{
	if (a->exits_fd >= 0 && !exit_times_read(a->exits_fd, account_exit, a))
		a->has_dropped = true;
}

void cpu_account_end(struct cpu_account *a)
{
	struct cpu_stat now;

	a->end_ns = clock_monotonic_ns();
	if (!a->config.is_machine) {
		clock_tasks(a);
		return;
	}
	if (a->has_stat && cpu_stat_read("/proc", a->config.cpus, &now)) {
		a->times.idle_ns = now.idle_ns - MIN(a->stat.idle_ns, now.idle_ns);
		a->times.steal_ns = now.steal_ns - MIN(a->stat.steal_ns, now.steal_ns);
		a->times.interrupts_ns =
			now.interrupts_ns - MIN(a->stat.interrupts_ns, now.interrupts_ns);
	}
	if (a->config.has_all_cpus)
		each_clock(a, true);
	cpu_account_turn(a);
}

/* ---- the result ---- */

static void add_task_time(void *context, int32_t tid, uint64_t id, uint64_t ns)
{
	struct cpu_account *a = context;
	const uint32_t *ended = intmap_find(&a->index_of_id, id);

	for (size_t i = 0; i < a->config.n_tids; i++) {
		struct account_root *root = &a->roots.data[a->root_of_tid.data[i]];

		if (a->config.tids[i] != tid)
			continue;
		root->total_ns += ns;
		root->ended_ns += ended ? a->ended_of_id.data[*ended] : 0;
	}
}

static uint64_t time_of_life(const struct account_process *p)
{
	return p->end_ns - MIN(p->end_ns, p->start_ns);
}

/*
 * One ended thread of each first thread hands no time over: it ended with the counters that the
 * others were inherited from (the kernel exchanges them between threads). What the total has beyond
 * all other threads is its time.
 */
static void settle_root(struct cpu_account *a, const struct account_root *root)
{
	uint64_t known = root->ended_ns + root->alive_ns;
	struct account_process *p;

	a->times.capacity_ns += root->total_ns;
	if (root->missing_pid > 0 && root->total_ns > known)
		add_done(a, root->missing_pid, root->total_ns - known);
	if (root->missing_pid >= 0)
		return;
	vec_foreach (&a->tasks, t)
		if (t->pid && &a->roots.data[t->root] == root &&
		    (p = account_process_of(a, t->pid)) && !p->is_alive)
			p->is_unknown = true;
	if (!a->times.why)
		a->times.why = xstrdup("records of ended threads were lost");
}

static void settle_tasks(struct cpu_account *a)
{
	clock_tasks(a);
	vec_foreach (&a->tasks, t) {
		struct account_process *p = t->pid ? account_process_of(a, t->pid) : NULL;
		struct account_root *root = &a->roots.data[t->root];

		if (p && !p->is_alive)
			root->missing_pid =
				!root->missing_pid || root->missing_pid == t->pid ? t->pid : -1;
		if (p && p->is_alive && !p->is_settled)
			root->alive_ns += time_of_life(p) - MIN(p->done_ns, time_of_life(p));
		if (p)
			p->is_settled = true;
	}
	rings_each_task_time(a->config.rings, add_task_time, a);
	vec_foreach (&a->roots, root)
		settle_root(a, root);
}

/* Of a tree, ended threads of a living process are in its clock; of a machine, ended lives are not.
 */
static uint64_t result_of(const struct cpu_account *a, struct account_process *p)
{
	if (p->is_unknown)
		return CPU_TIME_UNKNOWN;
	if (!a->config.is_machine)
		return p->is_alive ? time_of_life(p) : p->done_ns;
	if (p->has_last && (!p->is_alive || p->end_ns < p->last_ns))
		finish_life(p);
	if (!p->is_alive && !p->done_ns && p->start_ns)
		return CPU_TIME_UNKNOWN;
	return p->done_ns + (p->is_alive ? time_of_life(p) : 0);
}

static void put_reason(struct cpu_account *a)
{
	if (!a->config.is_machine || a->times.why)
		return;
	if (!a->config.has_all_cpus)
		a->times.why = xstrdup("the processes ran on other CPUs, too");
	else if (a->exits_error)
		a->times.why = xasprintf("the kernel gives no times of ended processes here "
					 "(taskstats: %s)",
					 strerror(-a->exits_error));
	else if (a->has_dropped)
		a->times.why = xstrdup("the kernel dropped times of ended processes");
}

int cpu_account_write(struct cpu_account *a, const char *dir, struct error *err)
{
	struct cpu_times *t = &a->times;

	t->is_machine = a->config.is_machine;
	t->n_cpus = a->stat.n_cpus;
	t->wall_ns = a->end_ns - a->begin_ns;
	vec_foreach (&a->since, since)
		a->throttled_ns += *since && *since < a->end_ns ? a->end_ns - *since : 0;
	if (a->config.has_throttles)
		t->throttled_ns = a->throttled_ns;
	if (t->is_machine)
		t->capacity_ns = t->wall_ns * t->n_cpus;
	else
		settle_tasks(a);
	put_reason(a);
	vec_foreach (&a->processes, p) {
		uint64_t ns = result_of(a, p);

		if (ns)
			vec_push(&t->processes, (struct process_time){ p->pid, ns });
	}
	return cpu_times_write(dir, t, err);
}

void cpu_account_free(struct cpu_account *a)
{
	if (!a)
		return;
	close_at_exit(&a->exits_fd);
	cpu_times_fini(&a->times);
	vec_fini(&a->processes);
	vec_fini(&a->tasks);
	vec_fini(&a->free_tasks);
	vec_fini(&a->roots);
	vec_fini(&a->root_of_tid);
	vec_fini(&a->ended_of_id);
	vec_fini(&a->since);
	intmap_fini(&a->process_of_pid);
	intmap_fini(&a->task_of_tid);
	intmap_fini(&a->index_of_id);
	intmap_fini(&a->throttled_since);
	free(a);
}
