/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/cpu_account.h"

#include <errno.h>
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

struct account_process {
	int32_t pid;
	uint64_t start_ns; /* its clock when counting began, or 0 */
	uint64_t done_ns;  /* of ended processes with this number */
	uint64_t last_ns;  /* taskstats: its life's time, as far as it was sent */
	uint64_t end_ns;   /* its clock at the end */
	bool has_last, has_end;
	/* of recorded processes: threads that have not ended, and its lives with this number */
	uint32_t n_threads, n_lives, n_exits;
	bool is_stranger; /* the last message was of another process with this number */
};

/* A message of taskstats that waits for the events before it. */
struct account_exit {
	uint64_t received_ns, ns;
	int32_t pid;
	bool is_whole;
};

struct cpu_account {
	struct cpu_account_config config;
	struct cpu_times times;
	VEC(struct account_process) processes;
	struct intmap process_of_pid;
	VEC(struct account_exit) waiting;
	struct intmap throttled_since; /* (CPU, counter): index of `since` */
	VEC(uint64_t) since;           /* 0: it runs */
	struct cpu_stat stat;
	uint64_t begin_ns, end_ns, throttled_ns;
	uint64_t task_ns; /* rings_task_time() at the beginning */
	bool has_stat, has_dropped;
};

static struct account_process *account_find(const struct cpu_account *a, int32_t pid)
{
	const uint32_t *at = intmap_find(&a->process_of_pid, (uint32_t)pid);

	return at ? &a->processes.data[*at] : NULL;
}

/* NULL: there are too many. */
static struct account_process *account_process_of(struct cpu_account *a, int32_t pid)
{
	struct account_process *p = account_find(a, pid);
	bool is_new;

	if (p || a->processes.n == CPU_TIMES_MAX_PROCESSES)
		return p;
	*intmap_put(&a->process_of_pid, (uint32_t)pid, &is_new) = (uint32_t)a->processes.n;
	vec_push(&a->processes, (struct account_process){ .pid = pid });
	return &a->processes.data[a->processes.n - 1];
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

/* ---- the recorded processes ---- */

static void begin_thread(struct cpu_account *a, int32_t pid, bool is_life)
{
	struct account_process *p = account_process_of(a, pid);

	if (!p)
		return;
	p->n_threads++;
	p->n_lives += is_life;
}

static void account_event(void *context, const struct event *e)
{
	struct cpu_account *a = context;
	struct account_process *p;

	if (e->type == EVENT_THROTTLE)
		account_throttle(a, e);
	if (a->config.is_machine)
		return;
	if (e->type == EVENT_FORK)
		begin_thread(a, e->pid, e->pid == e->tid);
	if (e->type == EVENT_EXIT && (p = account_find(a, e->pid)) && p->n_threads)
		p->n_threads--;
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
		int32_t pid = process_of_thread(a, a->config.tids[i]);
		bool is_new = !account_find(a, pid);
		struct account_process *p;

		begin_thread(a, pid, is_new);
		p = account_find(a, pid);
		if (p && is_new)
			process_clock(pid, &p->start_ns);
	}
}

/* The clocks of processes that live, unless they were read before. */
static void clock_processes(struct cpu_account *a)
{
	vec_foreach (&a->processes, p)
		if (p->n_threads && !p->has_end)
			p->has_end = process_clock(p->pid, &p->end_ns);
}

void cpu_account_reap(struct cpu_account *a, int32_t pid)
{
	struct account_process *p = account_find(a, pid);

	if (p && !a->config.is_machine)
		p->has_end = process_clock(pid, &p->end_ns);
}

void cpu_account_children(struct cpu_account *a, int32_t pid, uint64_t all_ns)
{
	const struct account_process *p = account_find(a, pid);

	/* with taskstats, each has its own time */
	if (p && p->has_end && a->config.exits_fd < 0 && !a->config.is_machine)
		a->times.children_ns = all_ns - MIN(p->end_ns, all_ns);
}

/* ---- ended processes ---- */

/* A later process of the same number began with a smaller clock. */
static void finish_life(struct account_process *p)
{
	if (p->has_last)
		p->done_ns += p->last_ns - MIN(p->last_ns, p->start_ns);
	p->start_ns = 0;
	p->has_last = false;
}

/* False: its process is not recorded, and has the number of a recorded one that ended. */
static bool is_of_recorded(struct account_process *p, bool is_whole)
{
	if (is_whole)
		return !p->is_stranger;
	p->is_stranger = p->n_exits == p->n_lives;
	p->n_exits += !p->is_stranger;
	return !p->is_stranger;
}

static void apply_exit(struct cpu_account *a, const struct account_exit *e)
{
	bool is_machine = a->config.is_machine;
	struct account_process *p =
		is_machine ? account_process_of(a, e->pid) : account_find(a, e->pid);

	if (!p && is_machine) {
		a->times.n_more++;
		a->times.more_ns += e->ns;
	}
	if (!p || (!is_machine && !is_of_recorded(p, e->is_whole)))
		return;
	if (p->has_last && (!e->is_whole || e->ns < p->last_ns))
		finish_life(p);
	p->last_ns = e->ns;
	p->has_last = true;
}

static void account_exit(void *context, pid_t pid, uint64_t ns, bool is_whole)
{
	struct cpu_account *a = context;
	const struct account_exit e = { clock_monotonic_ns(), ns, pid, is_whole };

	if (a->config.is_machine)
		apply_exit(a, &e);
	else
		vec_push(&a->waiting, e);
}

void cpu_account_turn(struct cpu_account *a, uint64_t safe_ns)
{
	size_t n = 0;

	if (a->config.exits_fd >= 0 && !exit_times_read(a->config.exits_fd, account_exit, a))
		a->has_dropped = true;
	while (n < a->waiting.n && a->waiting.data[n].received_ns <= safe_ns)
		apply_exit(a, &a->waiting.data[n++]);
	if (!n)
		return;
	a->waiting.n -= n;
	memmove(a->waiting.data, a->waiting.data + n, a->waiting.n * sizeof(*a->waiting.data));
}

/* ---- the machine ---- */

static void each_clock(struct cpu_account *a, bool is_end)
{
	struct pid_list pids = { 0 };

	proc_list_pids("/proc", &pids);
	vec_foreach (&pids, pid) {
		uint64_t ns;
		struct account_process *p;

		if (!process_clock(*pid, &ns) || !(p = account_process_of(a, *pid)))
			continue;
		p->has_end = is_end;
		*(is_end ? &p->end_ns : &p->start_ns) = ns;
	}
	vec_fini(&pids);
}

static void begin_machine(struct cpu_account *a)
{
	a->has_stat = cpu_stat_read("/proc", a->config.cpus, &a->stat);
	if (a->config.has_all_cpus)
		each_clock(a, false);
}

struct cpu_account *cpu_account_begin(const struct cpu_account_config *config)
{
	struct cpu_account *a = xcalloc(1, sizeof(*a));
	const struct rings_watch watch = { account_event, a };

	a->config = *config;
	cpu_times_init(&a->times);
	rings_set_watch(config->rings, &watch);
	if (config->is_machine)
		begin_machine(a);
	else
		begin_processes(a);
	a->begin_ns = clock_monotonic_ns();
	a->task_ns = rings_task_time(config->rings);
	return a;
}

void cpu_account_end(struct cpu_account *a)
{
	struct cpu_stat now;

	a->end_ns = clock_monotonic_ns();
	if (!a->config.is_machine) {
		clock_processes(a);
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
	cpu_account_turn(a, UINT64_MAX);
}

/* ---- the result ---- */

static uint64_t time_of_life(const struct account_process *p)
{
	return p->end_ns - MIN(p->end_ns, p->start_ns);
}

static uint64_t result_of(struct account_process *p)
{
	if (p->has_last && (!p->has_end || p->end_ns < p->last_ns))
		finish_life(p);
	if (!p->has_end && !p->done_ns && (p->start_ns || p->n_lives))
		return CPU_TIME_UNKNOWN;
	return p->done_ns + (p->has_end ? time_of_life(p) : 0);
}

static void put_reason(struct cpu_account *a, bool has_unknown)
{
	int e = MIN(a->config.exits_fd, 0);

	if (a->config.is_machine && !a->config.has_all_cpus)
		a->times.why = xstrdup("the processes ran on other CPUs, too");
	else if (e && (a->config.is_machine || has_unknown))
		a->times.why = xasprintf("the kernel gives no times of ended processes here "
					 "(taskstats: %s)",
					 e == -EOPNOTSUPP ? "Linux before 5.19" : strerror(-e));
	else if (a->has_dropped)
		a->times.why = xstrdup("the kernel dropped times of ended processes");
}

/* Puts the known times of processes, and returns the sum of all. *has_unknown: some are not known.
 */
static uint64_t put_times(struct cpu_account *a, bool *has_unknown)
{
	struct cpu_times *t = &a->times;
	uint64_t sum = t->more_ns + t->children_ns;

	vec_foreach (&a->processes, p) {
		uint64_t ns = result_of(p);

		if (ns)
			vec_push(&t->processes, (struct process_time){ p->pid, ns });
		sum += ns == CPU_TIME_UNKNOWN ? 0 : ns;
		*has_unknown |= ns == CPU_TIME_UNKNOWN;
	}
	return sum;
}

int cpu_account_write(struct cpu_account *a, const char *dir, struct error *err)
{
	struct cpu_times *t = &a->times;
	bool has_unknown = false;
	uint64_t known;

	t->is_machine = a->config.is_machine;
	t->n_cpus = a->stat.n_cpus;
	t->wall_ns = a->end_ns - a->begin_ns;
	vec_foreach (&a->since, since)
		a->throttled_ns += *since && *since < a->end_ns ? a->end_ns - *since : 0;
	if (a->config.has_throttles)
		t->throttled_ns = a->throttled_ns;
	if (!t->is_machine) {
		clock_processes(a);
		cpu_account_turn(a, UINT64_MAX);
	}
	known = put_times(a, &has_unknown);
	put_reason(a, has_unknown);
	t->capacity_ns = t->is_machine ? t->wall_ns * t->n_cpus
				       : MAX(known, rings_task_time(a->config.rings) - a->task_ns);
	t->rest_ns = t->is_machine ? 0 : t->capacity_ns - known;
	return cpu_times_write(dir, t, err);
}

void cpu_account_free(struct cpu_account *a)
{
	if (!a)
		return;
	close_at_exit(&a->config.exits_fd);
	cpu_times_fini(&a->times);
	vec_fini(&a->processes);
	vec_fini(&a->waiting);
	vec_fini(&a->since);
	intmap_fini(&a->process_of_pid);
	intmap_fini(&a->throttled_since);
	free(a);
}
