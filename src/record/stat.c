/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/stat.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "collect/cpu_watch.h"
#include "counter/reason.h"
#include "pipeline/host.h"
#include "record/child.h"

/* The interval of checks for processes that are not ours: they send nothing when they end. */
#define LOOK_NS 100000000ULL

struct stat_state {
	const struct stat_config *config;
	struct stat_result *result;
	struct counts *counts;
	struct child child;
	bool has_child, child_runs, is_ended;
	int signal_fd, cpu_fd;
	sigset_t old_mask;
	struct pid_list tids;
	struct cpu_list cpus;
	struct count *now, *before, *delta;
	uint64_t start_ns, last_ns, stop_ns, n_reported;
};

static bool stat_has_pid_target(const struct stat_config *c)
{
	return c->pids->n || c->tids->n;
}

static bool stat_is_command_target(const struct stat_config *c)
{
	return c->argv && !c->whole_machine && !stat_has_pid_target(c);
}

static int stat_find_threads(struct stat_state *s, struct error *err)
{
	const struct stat_config *c = s->config;

	if (c->pids->n && reason_refuse_proc(NULL, err) < 0)
		return -EINVAL;
	for (size_t i = 0; i < c->pids->n; i++)
		if (proc_list_threads("/proc", c->pids->data[i], &s->tids) < 0)
			return error_set(err, -ESRCH, "no process %d", c->pids->data[i]);
	for (size_t i = 0; i < c->tids->n; i++) {
		if (kill(c->tids->data[i], 0) < 0 && errno == ESRCH)
			return error_set(err, -ESRCH, "no thread %d", c->tids->data[i]);
		vec_push(&s->tids, c->tids->data[i]);
	}
	if (stat_is_command_target(c))
		vec_push(&s->tids, (int32_t)s->child.pid);
	return 0;
}

static int find_cpus(struct stat_state *s, struct error *err)
{
	struct cpu_list online = { 0 };
	int r = cpu_list_online(NULL, &online, err);

	for (size_t i = 0; i < s->config->cpus->n && r >= 0; i++) {
		uint32_t cpu = s->config->cpus->data[i];
		bool is_online = false;

		vec_foreach (&online, o)
			is_online |= *o == cpu;
		if (!is_online)
			r = error_set(err, -ENODEV, "CPU %u is not online", cpu);
		vec_push(&s->cpus, cpu);
	}
	if (!s->config->cpus->n) {
		s->cpus = online;
		return r;
	}
	vec_fini(&online);
	return r;
}

static int stat_block_signals(struct stat_state *s, struct error *err)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD };
	sigset_t mask;

	sigemptyset(&mask);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		sigaddset(&mask, numbers[i]);
	sigprocmask(SIG_BLOCK, &mask, &s->old_mask);
	s->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signal_fd < 0 ? error_errno(err, -errno, "signalfd") : 0;
}

static int stat_start_child(struct stat_state *s, struct error *err)
{
	int r;

	if (!s->config->argv)
		return 0;
	r = child_check(s->config->argv[0], err);
	s->result->has_command_failed_to_start = r < 0;
	if (r >= 0)
		r = child_prepare(s->config->argv, NULL, &s->old_mask, true, &s->child, err);
	s->has_child = r >= 0;
	return r;
}

/* Counters of a CPU end with it; the kernel follows threads. */
static void stat_watch_cpus(struct stat_state *s)
{
	if (!s->tids.n)
		s->cpu_fd = cpu_watch_open();
}

static void stat_follow_cpus(struct stat_state *s)
{
	struct error why = { 0 };
	bool is_online;
	uint32_t cpu;
	int e;

	while (s->cpu_fd >= 0 && cpu_watch_next(s->cpu_fd, &cpu, &is_online)) {
		if (!is_online)
			continue;
		e = counts_cpu_online(s->counts, cpu, &why);
		if (!e)
			s->result->n_cpus_back++;
		else if (e != -ENOENT || !s->config->cpus->n) /* else not requested */
			s->result->n_cpus_missed++;
	}
}

static int open_counts(struct stat_state *s, struct error *err)
{
	const struct stat_config *c = s->config;
	struct counts_config counts = {
		.counters = c->counters,
		.sources = c->sources,
		.tids = s->tids.data,
		.n_tids = s->tids.n,
		.cpus = &s->cpus,
		.inherit = !c->tids->n,
		.enable_on_exec = stat_is_command_target(c),
		.is_separate = c->is_separate,
		.skips_missing = c->skips_missing,
	};
	int r = counts_open(&counts, &s->counts, err);
	size_t n = r < 0 ? 0 : counts_n_lanes(s->counts) * c->counters->n;

	s->now = xcalloc(n + 1, sizeof(*s->now));
	s->before = xcalloc(n + 1, sizeof(*s->before));
	s->delta = xcalloc(n + 1, sizeof(*s->delta));
	return r;
}

static int stat_release_child(struct stat_state *s, struct error *err)
{
	int r = 0;

	if (!stat_is_command_target(s->config))
		r = counts_enable(s->counts, err);
	s->start_ns = s->last_ns = clock_monotonic_ns();
	if (r < 0 || !s->has_child)
		return r;
	r = child_go(&s->child, s->config->argv, err);
	s->has_child = false;
	s->child_runs = r >= 0;
	s->result->has_command_failed_to_start = r < 0;
	return r;
}

static void stat_reap_child(struct stat_state *s)
{
	int status;

	if (!s->child_runs || waitpid(s->child.pid, &status, WNOHANG) != s->child.pid)
		return;
	s->child_runs = false;
	s->is_ended = true;
	s->result->wait_status = status;
}

/* As when recording: the terminal gives Ctrl-C to the command, and a second one ends everything. */
static void stat_on_stop_signal(struct stat_state *s, const struct signalfd_siginfo *info)
{
	if (s->child_runs && s->config->kills_command)
		kill(s->child.pid, SIGKILL);
	else if (!s->child_runs || s->stop_ns)
		s->is_ended = true;
	else if (info->ssi_code != SI_KERNEL)
		kill(s->child.pid, (int)info->ssi_signo);
	s->stop_ns = clock_monotonic_ns();
}

static void stat_handle_signals(struct stat_state *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			stat_reap_child(s);
		else
			stat_on_stop_signal(s, &info);
	}
}

static bool stat_has_target_ended(const struct stat_state *s)
{
	return stat_has_pid_target(s->config) && !proc_any_runs(&s->tids);
}

static int stat_report(struct stat_state *s, uint64_t at_ns, bool is_interval, struct error *err)
{
	size_t n = counts_n_lanes(s->counts) * s->config->counters->n;
	struct stat_reading reading = {
		.counters = s->config->counters,
		.counts = s->counts,
		.values = is_interval ? s->delta : s->now,
		.at_s = (double)(at_ns - s->start_ns) / 1e9,
		.length_s = (double)(at_ns - (is_interval ? s->last_ns : s->start_ns)) / 1e9,
		.wall_s = (double)clock_wall_ns() / 1e9,
		.is_interval = is_interval,
	};
	int r = counts_read(s->counts, s->now);

	if (r < 0)
		return error_errno(err, r, "cannot read a counter");
	for (size_t i = 0; i < n; i++) {
		const struct count *a = &s->before[i], *b = &s->now[i];

		/* a scaled value may fall, because its factor changes */
		s->delta[i].value = b->value > a->value ? b->value - a->value : 0;
		s->delta[i].wanted_ns = b->wanted_ns - a->wanted_ns;
		s->delta[i].ran_ns = b->ran_ns - a->ran_ns;
	}
	s->config->report(s->config->context, &reading);
	memcpy(s->before, s->now, n * sizeof(*s->now));
	s->last_ns = at_ns;
	s->n_reported++;
	return 0;
}

static uint64_t seconds_ns(double s)
{
	return (uint64_t)(s * 1e9);
}

/* The time of the next work, unless a signal comes. */
static uint64_t next_ns(const struct stat_state *s, uint64_t now)
{
	const struct stat_config *c = s->config;
	uint64_t next = UINT64_MAX;

	if (stat_has_pid_target(c))
		next = now + LOOK_NS;
	if (c->interval_s > 0)
		next = MIN(next, s->start_ns + (s->n_reported + 1) * seconds_ns(c->interval_s));
	if (c->duration_s > 0)
		next = MIN(next, s->start_ns + seconds_ns(c->duration_s));
	return next;
}

static void wait_until(const struct stat_state *s, uint64_t next, uint64_t now)
{
	struct pollfd p[] = { { .fd = s->signal_fd, .events = POLLIN },
			      { .fd = s->cpu_fd, .events = POLLIN } };
	uint64_t ms = next == UINT64_MAX ? 3600000 : next > now ? (next - now) / 1000000 + 1 : 0;

	poll(p, ARRAY_SIZE(p), (int)MIN(ms, 3600000));
}

static int count_all(struct stat_state *s, struct error *err)
{
	const struct stat_config *c = s->config;
	bool has_intervals = c->interval_s > 0;
	int r = 0;

	while (!s->is_ended && r >= 0) {
		uint64_t now = clock_monotonic_ns();

		wait_until(s, next_ns(s, now), now);
		stat_handle_signals(s);
		stat_follow_cpus(s);
		now = clock_monotonic_ns();
		s->is_ended |= stat_has_target_ended(s);
		s->is_ended |= c->duration_s > 0 && now >= s->start_ns + seconds_ns(c->duration_s);
		if (has_intervals && !s->is_ended &&
		    now >= s->start_ns + (s->n_reported + 1) * seconds_ns(c->interval_s))
			r = stat_report(s, now, true, err);
		s->is_ended |= c->n_intervals && s->n_reported >= c->n_intervals;
	}
	counts_disable(s->counts);
	/* the rest behind the last interval is an interval, too */
	if (r >= 0 && (!has_intervals || !c->n_intervals || s->n_reported < c->n_intervals))
		r = stat_report(s, clock_monotonic_ns(), has_intervals, err);
	return r;
}

static void stat_finish(struct stat_state *s)
{
	if (s->has_child)
		child_abandon(&s->child);
	/* a command that outlives the counting is killed, or goes on without us */
	if (s->child_runs && s->config->kills_command) {
		kill(s->child.pid, SIGKILL);
		waitpid(s->child.pid, &s->result->wait_status, 0);
	}
	counts_close(s->counts);
	close_at_exit(&s->signal_fd);
	close_at_exit(&s->cpu_fd);
	sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
	vec_fini(&s->tids);
	vec_fini(&s->cpus);
	free(s->now);
	free(s->before);
	free(s->delta);
}

int stat_run(const struct stat_config *config, struct stat_result *out, struct error *err)
{
	struct stat_state s = { .config = config, .result = out, .signal_fd = -1, .cpu_fd = -1 };
	int r;

	*out = (struct stat_result){ .wait_status = -1 };
	sigprocmask(SIG_SETMASK, NULL, &s.old_mask);
	if ((r = stat_block_signals(&s, err)) < 0 || (r = stat_start_child(&s, err)) < 0 ||
	    (r = stat_find_threads(&s, err)) < 0)
		goto out;
	if ((r = find_cpus(&s, err)) < 0)
		goto out;
	stat_watch_cpus(&s);
	if ((r = open_counts(&s, err)) < 0 || (r = stat_release_child(&s, err)) < 0)
		goto out;
	r = count_all(&s, err);
out:
	stat_finish(&s);
	return r;
}
