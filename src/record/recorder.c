/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/recorder.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "collect/cgroup.h"
#include "collect/cpu_watch.h"
#include "collect/missed.h"
#include "collect/sampler.h"
#include "record/child.h"
#include "record/host.h"
#include "record/in_kernel.h"
#include "record/off_cpu.h"
#include "record/raw.h"
#include "record/session_dir.h"

#define SECOND_NS        1000000000ULL
#define UNSAMPLED_MIN_NS 50000000ULL
#define MISSED_MIN       50 /* samples; periods that threads end in are worth a few */

const char *const stack_source_texts[N_STACK_SOURCES] = {
#define X(id, text) text,
	STACK_SOURCES(X)
#undef X
};

struct recorder {
	const struct recorder_config *config;
	struct recorder_result *result;
	struct cpu_list cpus; /* that are profiled, also when they come online later */
	uint32_t n_online;
	struct pid_list tids; /* all threads to be profiled */
	struct child child;
	bool has_child, child_runs;
	int cgroup_fd, signal_fd;
	int cpu_fd;  /* tells of CPUs that come and go; < 0: nobody does */
	int wake_fd; /* signals, and what the sampler tells at once */
	sigset_t old_mask;
	struct machine *machine;
	struct pipeline *pipeline;
	struct rings *rings;
	struct sampler *sampler; /* NULL: the rings carry the samples */
	struct in_kernel *in_kernel;
	struct raw_recording *raw; /* NULL: a session is recorded */
	struct host host;
	uint64_t start_ns;
	uint64_t read_ns; /* when the in-kernel sampler was last read */
	bool is_ended;
	uint64_t stop_ns; /* when the command was first asked to stop; 0: not yet */
};

/* Targets. */

static bool has_pid_target(const struct recorder_config *c)
{
	return c->pids->n || c->tids->n;
}

static bool is_command_target(const struct recorder_config *c)
{
	return c->argv && !c->whole_machine && !c->cgroup && !has_pid_target(c);
}

static int find_threads(struct recorder *r, struct error *err)
{
	const struct recorder_config *c = r->config;

	for (size_t i = 0; i < c->pids->n; i++)
		if (proc_list_threads("/proc", c->pids->data[i], &r->tids) < 0)
			return error_set(err, -ESRCH, "no process %d", c->pids->data[i]);
	for (size_t i = 0; i < c->tids->n; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/%d", c->tids->data[i]);
		if (access(path, F_OK) < 0)
			return error_set(err, -ESRCH, "no thread %d", c->tids->data[i]);
		vec_push(&r->tids, c->tids->data[i]);
	}
	if (is_command_target(c))
		vec_push(&r->tids, (int32_t)r->child.pid);
	return 0;
}

static int open_cgroup(struct recorder *r, struct error *err)
{
	if (!r->config->cgroup)
		return 0;
	r->cgroup_fd = cgroup_open(r->config->cgroup, err);
	return MIN(r->cgroup_fd, 0);
}

static int choose_cpus(struct recorder *r, struct error *err)
{
	struct cpu_list online = { 0 };
	const struct cpu_list *wanted = r->config->cpus;
	int e = cpu_list_online(NULL, &online, err);

	r->n_online = (uint32_t)(wanted->n ? wanted->n : online.n);
	if (e < 0 || !wanted->n) {
		if (e < 0 || cpu_list_present(NULL, &r->cpus, NULL) < 0)
			r->cpus = online;
		else
			vec_fini(&online);
		return e;
	}
	vec_foreach (wanted, cpu) {
		bool is_online = false;

		vec_foreach (&online, o)
			is_online |= *o == *cpu;
		if (!is_online) {
			vec_fini(&online);
			return error_set(err, -ENODEV, "CPU %u is not online (see %s)", *cpu,
					 "/sys/devices/system/cpu/online");
		}
		vec_push(&r->cpus, *cpu);
	}
	vec_fini(&online);
	return 0;
}

static char *describe_target(const struct recorder_config *c)
{
	const struct pid_list *ids = c->pids->n ? c->pids : c->tids;
	char *text;

	if (c->whole_machine)
		return xstrdup("whole machine");
	if (c->cgroup)
		return xasprintf("cgroup %s", c->cgroup);
	if (!ids->n)
		return xstrdup("command");
	text = xasprintf("%s ", c->pids->n ? "process" : "thread");
	for (size_t i = 0; i < ids->n; i++) {
		char *longer = xasprintf("%s%s%d", text, i ? "," : "", ids->data[i]);

		free(text);
		text = longer;
	}
	return text;
}

/* Setting up, in the order in which a failure costs least. */

static int open_pipeline(struct recorder *r, struct error *err)
{
	const struct recorder_config *c = r->config;
	cleanup(free_at_exit) char *command = quote_command(c->argv);
	cleanup(free_at_exit) char *target = describe_target(c);
	struct session_info info = {
		.version = c->version,
		.command = command,
		.target = target,
		.hostname = r->host.hostname,
		.os_release = r->host.os_release,
		.arch = r->host.arch,
		.cpu_model = r->host.cpu_model,
		.collector = c->in_kernel ? "BPF"
			     : c->off_cpu ? "perf rings and BPF"
					  : "perf rings",
		.stacks = stack_source_texts[r->result->stacks],
		.note = c->note,
		.n_cpus = r->n_online,
		.start_wall_ns = clock_wall_ns(),
		.start_ns = clock_monotonic_ns(),
		.counters = r->host.counters,
		.n_counters = r->host.n_counters,
		.merged = c->merged,
		.segment_bytes = c->segment_bytes,
	};
	struct pipeline_config pipeline = {
		.ops = c->raw ? &no_store : c->ops,
		.dir = c->dir,
		.info = &info,
		.machine = r->machine,
	};

	r->start_ns = info.start_ns;
	r->pipeline = pipeline_open(&pipeline, err);
	return r->pipeline ? 0 : err->code;
}

static int open_raw(struct recorder *r, struct error *err)
{
	struct raw_config raw = {
		.path = r->config->raw,
		.version = r->config->version,
		.cpu_model = r->host.cpu_model,
		.argv = r->config->raw_argv,
		.rings = r->rings,
		.counters = r->config->counters,
		.n_cpus = r->n_online,
		.next = pipeline_sink(r->pipeline),
	};

	int e;

	if (!r->config->raw)
		return 0;
	e = raw_open(&raw, &r->raw, err);
	r->start_ns = clock_monotonic_ns(); /* reading the kernel's symbols takes its time */
	return e;
}

/*
 * The rings of an ordinary user are small, as what he may lock is. Copies of half
 * the size leave them twice the time.
 */
static uint32_t stack_bytes(const struct recorder_config *c)
{
	if (c->stacks != STACKS_COPIED || c->in_kernel)
		return 0;
	if (c->stack_bytes)
		return c->stack_bytes;
	return geteuid() == 0 ? 16384 : 8192;
}

static int open_rings(struct recorder *r, struct error *err)
{
	const struct recorder_config *c = r->config;
	static const struct counters none;
	struct rings_config rings = {
		.counters = c->in_kernel ? &none : c->counters,
		.with_inodes = c->in_kernel || c->off_cpu,
		.for_file = c->raw,
		.sources = c->sources,
		.cpus = &r->cpus,
		.tids = r->tids.data,
		.n_tids = r->tids.n,
		.cgroup_fd = r->cgroup_fd,
		.inherit = is_command_target(c) || c->pids->n,
		.enable_on_exec = is_command_target(c),
		.with_callchain = c->stacks != STACKS_NONE,
		.stack_bytes = stack_bytes(c),
		.ring_bytes = c->ring_bytes,
	};
	int e = rings_open(&rings, &r->rings, err);

	/* Kernels for processors that perf_event knows no registers of, and events that give none.
	 */
	if (c->is_stacks_wish && rings.stack_bytes &&
	    (e == -EOPNOTSUPP || e == -ENOSYS || e == -EINVAL)) {
		rings.stack_bytes = 0;
		r->result->stacks = STACKS_FRAME_POINTERS;
		e = rings_open(&rings, &r->rings, err);
	}
	return e;
}

static int wake_by(struct recorder *r, int fd, struct error *err)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (epoll_ctl(r->wake_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		return error_errno(err, -errno, "epoll_ctl");
	return 0;
}

static int block_signals(struct recorder *r, struct error *err)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, &r->old_mask);
	r->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (r->signal_fd < 0)
		return error_errno(err, -errno, "signalfd");
	r->wake_fd = epoll_create1(EPOLL_CLOEXEC);
	if (r->wake_fd < 0)
		return error_errno(err, -errno, "epoll_create1");
	return wake_by(r, r->signal_fd, err);
}

/* Threads are followed to every CPU by the kernel; what counts by CPU ends with it. */
static int watch_cpus(struct recorder *r, struct error *err)
{
	if (r->tids.n)
		return 0;
	r->cpu_fd = cpu_watch_open();
	return r->cpu_fd < 0 ? 0 : wake_by(r, r->cpu_fd, err);
}

static void follow_cpus(struct recorder *r)
{
	struct error why = { 0 };
	bool is_online;
	uint32_t cpu;
	int e;

	while (r->cpu_fd >= 0 && cpu_watch_next(r->cpu_fd, &cpu, &is_online)) {
		if (!is_online)
			continue;
		e = rings_cpu_online(r->rings, cpu, &why);
		if (!e && r->sampler)
			e = sampler_cpu_online(r->sampler, cpu, &why);
		if (e == -ENOENT && r->config->cpus->n)
			continue; /* none of those that were asked for */
		pipeline_lose(r->pipeline, e ? LOSS_CPU_UNWATCHED : LOSS_CPU_ONLINE, UINT32_MAX, 1);
	}
}

static int start_child(struct recorder *r, struct error *err)
{
	const struct recorder_config *c = r->config;
	int e;

	if (!c->argv)
		return 0;
	e = child_check(c->argv[0], err);
	if (e < 0) {
		r->result->has_command_failed_to_start = true;
		return e;
	}
	e = child_prepare(c->argv, &r->old_mask, &r->child, err);
	r->has_child = e == 0;
	r->result->command_pid = e == 0 ? r->child.pid : 0;
	return e;
}

static int let_child_go(struct recorder *r, struct error *err)
{
	int e;

	if (!r->has_child)
		return 0;
	e = child_go(&r->child, r->config->argv, err);
	r->has_child = e == 0;
	r->child_runs = e == 0;
	r->result->has_command_failed_to_start = e < 0;
	return e;
}

static int open_sampler(struct recorder *r, struct error *err)
{
	static const struct counters none;
	const struct recorder_config *config = r->config;
	enum stack_source stacks = r->result->stacks;
	char why[128];
	bool with_tables = stacks == STACKS_IN_KERNEL ||
			   (stacks == STACKS_COPIED && sampler_can_unwind(why, sizeof(why)));
	struct sampler_waits waits = {
		.min_ns = config->off_cpu_min_ns,
		.first_counter = (uint32_t)config->counters->n,
		.targets = config->pids->n ? config->pids->data : r->tids.data,
		.n_targets = config->pids->n ? config->pids->n : r->tids.n,
		.targets_are_threads = config->tids->n > 0,
	};
	struct sampler_config c = {
		.counters = config->in_kernel ? config->counters : &none,
		.sources = config->sources,
		.cpus = &r->cpus,
		.with_stacks = stacks != STACKS_NONE,
		.by_frame_pointer = !with_tables,
		.waits = config->off_cpu ? &waits : NULL,
	};
	int e = sampler_open(&c, &r->sampler, err);

	r->result->has_sampler_failed = e < 0;
	if (e < 0)
		return e;
	r->in_kernel = in_kernel_new(r->sampler, r->pipeline, r->machine, with_tables);
	if (config->off_cpu)
		in_kernel_expect_waits(r->in_kernel, waits.first_counter);
	return wake_by(r, sampler_fd(r->sampler), err);
}

/*
 * Threads that wait since before the sampler saw them. One that came back while it was
 * looked at does not wait any more.
 */
static void put_wait(void *context, int32_t pid, int32_t tid)
{
	struct recorder *r = context;
	struct blocked_thread t, again;

	if (tid == gettid() || !off_cpu_look("/proc", pid, tid, &t))
		return;
	in_kernel_put_wait(r->in_kernel, "/proc", &t, r->start_ns);
	if (!off_cpu_look("/proc", pid, tid, &again))
		sampler_drop_wait(r->sampler, tid);
}

static void put_waits(struct recorder *r)
{
	const struct recorder_config *c = r->config;

	if (c->off_cpu && !is_command_target(c))
		off_cpu_each("/proc", c->pids, c->tids, put_wait, r);
}

static struct event_sink *side_band_sink(struct recorder *r)
{
	if (r->raw)
		return raw_sink(r->raw);
	return r->in_kernel ? in_kernel_sink(r->in_kernel) : pipeline_sink(r->pipeline);
}

/* What already runs is read from /proc after counting has begun, so that nothing falls between. */
static int scan_running(struct recorder *r, struct error *err)
{
	const struct recorder_config *c = r->config;
	struct event_sink *sink;
	int e = 0;

	if (!is_command_target(c))
		e = rings_enable(r->rings, err);
	if (!e && (c->in_kernel || c->off_cpu))
		e = open_sampler(r, err);
	if (e < 0)
		return e;
	sink = side_band_sink(r);
	if (c->whole_machine || c->cgroup)
		e = proc_scan_all("/proc", sink);
	else if (!is_command_target(c))
		for (size_t i = 0; i < r->tids.n && e >= 0; i++)
			e = proc_scan_process("/proc", r->tids.data[i], sink);
	/* Last, as its raw stacks wait to be read; the side band goes on since before. */
	if (r->sampler && e >= 0) {
		e = sampler_start(r->sampler, err);
		r->result->has_sampler_failed = e < 0;
	}
	if (e >= 0)
		put_waits(r);
	if (r->raw)
		raw_end_scan(r->raw);
	return MIN(e, 0);
}

/* While it runs. */

static void reap_child(struct recorder *r)
{
	int status;

	if (!r->child_runs || waitpid(r->child.pid, &status, WNOHANG) != r->child.pid)
		return;
	r->child_runs = r->has_child = false;
	r->is_ended = true;
	r->result->wait_status = status;
	r->result->end = END_COMMAND;
}

/*
 * Ctrl-C reaches the command through the terminal, so it is not sent again; the
 * command decides what it means, and a second one ends the recording anyway. A
 * signal that was sent to us alone is passed on. timeout(1) and service managers signal the
 * process and then its group: what comes at once is one request.
 */
static void on_stop_signal(struct recorder *r, const struct signalfd_siginfo *s)
{
	uint64_t now = clock_monotonic_ns();

	if (!r->child_runs || (r->stop_ns && now - r->stop_ns > SECOND_NS / 4)) {
		r->is_ended = true;
		r->result->end = END_SIGNAL;
		return;
	}
	if (r->stop_ns)
		return;
	r->stop_ns = now;
	if (s->ssi_code != SI_KERNEL)
		kill(r->child.pid, (int)s->ssi_signo);
}

static void handle_signals(struct recorder *r)
{
	struct signalfd_siginfo s;

	while (read(r->signal_fd, &s, sizeof(s)) == sizeof(s)) {
		if (s.ssi_signo == SIGCHLD)
			reap_child(r);
		else
			on_stop_signal(r, &s);
	}
}

static bool has_target_ended(const struct recorder *r)
{
	const struct recorder_config *c = r->config;
	bool is_alive = false;

	if (!has_pid_target(c))
		return false;
	for (size_t i = 0; i < r->tids.n && !is_alive; i++)
		is_alive = kill(r->tids.data[i], 0) == 0 || errno != ESRCH;
	/* What it has started may go on, but nobody asked for that alone. */
	return !is_alive;
}

static int wait_ms(const struct recorder *r)
{
	uint64_t now = clock_monotonic_ns(), until = pipeline_next_flush(r->pipeline);
	uint64_t settle = clock_monotonic_ns() - rings_safe_time();

	until += settle;
	if (r->in_kernel && in_kernel_is_behind(r->in_kernel))
		until = MIN(until, now + settle);
	if (r->config->duration_s > 0)
		until = MIN(until, r->start_ns + (uint64_t)(r->config->duration_s * SECOND_NS));
	if (r->config->drain_s > 0)
		until = MIN(until, now + (uint64_t)(r->config->drain_s * SECOND_NS));
	return until <= now ? 0 : (int)((until - now + 999999) / 1000000);
}

static int drain(struct recorder *r, uint64_t until_ns)
{
	int e = rings_drain(r->rings, until_ns, side_band_sink(r));

	rings_collect_losses(r->rings, until_ns == UINT64_MAX, pipeline_lose, r->pipeline);
	return e;
}

/*
 * What the in-kernel sampler counted up to now, as samples of `time_ns`. The side
 * band is read in between, so that every file and process is known.
 */
static int read_in_kernel(struct recorder *r, uint64_t time_ns, bool is_final, struct error *err)
{
	uint64_t turned_ns = clock_monotonic_ns();
	int e = 0;

	sampler_turn(r->sampler, turned_ns);
	while (!is_final && !e && rings_safe_time() < turned_ns) {
		poll(NULL, 0, 1);
		e = drain(r, rings_safe_time());
	}
	if (is_final)
		e = drain(r, UINT64_MAX);
	if (!e)
		e = in_kernel_poll(r->in_kernel, err);
	if (!e)
		e = in_kernel_catch_up(r->in_kernel, is_final ? UINT64_MAX : rings_safe_time(),
				       err);
	if (!e)
		e = in_kernel_read(r->in_kernel, time_ns, err);
	if (!e && is_final && r->config->off_cpu)
		e = in_kernel_read_waits(r->in_kernel, time_ns, err);
	sampler_collect_losses(r->sampler, pipeline_lose, r->pipeline);
	if (is_final)
		sampler_collect_missed(r->sampler, pipeline_lose, r->pipeline);
	return e;
}

/* At the end of a second, for samples of that second; else as often as was asked for. */
static bool is_read_due(struct recorder *r, uint64_t *time_ns)
{
	uint64_t now = clock_monotonic_ns(), flush = pipeline_next_flush(r->pipeline);
	uint64_t step = (uint64_t)(r->config->drain_s * SECOND_NS);

	if (now < flush && (!step || now - MIN(now, r->read_ns) < step))
		return false;
	r->read_ns = now;
	*time_ns = MIN(now, flush - 1);
	return true;
}

static int run(struct recorder *r, struct error *err)
{
	const struct recorder_config *c = r->config;
	int e = 0;

	while (!r->is_ended && e >= 0) {
		uint64_t safe, time_ns;

		rings_wait(r->rings, r->wake_fd, wait_ms(r));
		handle_signals(r);
		follow_cpus(r);
		if (r->in_kernel)
			e = in_kernel_poll(r->in_kernel, err);
		if (!e && r->sampler && is_read_due(r, &time_ns))
			e = read_in_kernel(r, time_ns, false, err);
		safe = rings_safe_time();
		if (!e)
			e = drain(r, safe);
		if (!e && r->in_kernel)
			e = in_kernel_catch_up(r->in_kernel, safe, err);
		if (!e && r->raw && safe >= pipeline_next_flush(r->pipeline))
			e = raw_advance(r->raw);
		pipeline_advance(r->pipeline, safe);
		if (!r->is_ended && c->duration_s > 0 &&
		    clock_monotonic_ns() - r->start_ns >= (uint64_t)(c->duration_s * SECOND_NS)) {
			r->is_ended = true;
			r->result->end = END_DURATION;
		}
		if (!r->is_ended && has_target_ended(r)) {
			r->is_ended = true;
			r->result->end = END_TARGET;
		}
	}
	return e;
}

/* The end. */

static uint64_t cpu_time_ns(const struct rusage *u)
{
	return ((uint64_t)u->ru_utime.tv_sec + (uint64_t)u->ru_stime.tv_sec) * SECOND_NS +
	       ((uint64_t)u->ru_utime.tv_usec + (uint64_t)u->ru_stime.tv_usec) * 1000;
}

/*
 * A thread's clock begins anew with each thread, so one that lives shorter than
 * a period gets no sample, however many of them there are. What the kernel
 * says the command used, less what was sampled, is their part. Whole-machine
 * clocks tick on regardless, and counters do not count time.
 */
static void count_unsampled(struct recorder *r)
{
	const struct counter *clock = &r->config->counters->data[0];
	uint64_t period =
		clock->attr.freq ? SECOND_NS / clock->attr.sample_freq : clock->attr.sample_period;
	struct pipeline_counts counts = pipeline_counts(r->pipeline);
	uint64_t sampled = (counts.samples + counts.lost) * period, used;
	struct rusage usage;

	if (!is_command_target(r->config) || strcmp(clock->unit, "ns") ||
	    r->config->counters->n > 1 || r->config->off_cpu || r->config->raw ||
	    r->result->end != END_COMMAND)
		return;
	getrusage(RUSAGE_CHILDREN, &usage);
	if (clock->attr.exclude_kernel)
		usage.ru_stime = (struct timeval){ 0 };
	used = cpu_time_ns(&usage);
	/* Tick-based accounting and the start of the command are worth a few samples. */
	if (used < sampled + sampled / 10 + UNSAMPLED_MIN_NS)
		return;
	r->result->unsampled_ns = used - sampled;
	r->result->command_cpu_ns = used;
	pipeline_lose(r->pipeline, LOSS_UNSAMPLED, 0, (used - sampled) / period);
}

/*
 * What a counter counted beyond its samples: none were taken while it was throttled, and the
 * period that a thread began and did not end has none either.
 */
static void count_missed(struct recorder *r)
{
	const struct counters *counters = r->config->counters;

	for (uint32_t i = 0; i < counters->n; i++) {
		const struct counter *c = &counters->data[i];
		const struct rings_tally *t = rings_tally(r->rings, i);
		uint64_t wanted = c->attr.freq ? 0 : c->attr.sample_period, missed;

		if (!t || !t->n_fds || !strcmp(c->unit, "ns"))
			continue;
		if (!t->counted && !t->samples && !t->lost && counter_is_hardware(c) && i < 64)
			r->result->silent |= 1ULL << i;
		if (r->config->raw)
			continue;
		missed = missed_samples(t->counted, t->samples, t->period, wanted, t->n_fds);
		missed -= MIN(missed, t->lost);
		if (t->was_throttled && missed)
			pipeline_lose(r->pipeline, LOSS_THROTTLED_SAMPLES, i, missed);
		else if (missed > t->samples / 10 + MISSED_MIN)
			pipeline_lose(r->pipeline, LOSS_UNSAMPLED, i, missed);
	}
}

static int finish(struct recorder *r, struct error *err)
{
	struct recorder_result *out = r->result;
	struct session_end end = { .exit_status = out->wait_status };
	struct rusage usage;
	int e, e_read = 0;

	rings_disable(r->rings);
	if (r->sampler)
		sampler_disable(r->sampler);
	end.end_ns = clock_monotonic_ns();
	if (!r->sampler)
		drain(r, UINT64_MAX);
	else
		e_read = read_in_kernel(r, end.end_ns, true, err);
	snprintf(out->note, sizeof(out->note), "%s", rings_note(r->rings));
	count_unsampled(r);
	if (!r->sampler)
		count_missed(r);
	getrusage(RUSAGE_SELF, &usage);
	end.own_cpu_ns = out->own_cpu_ns = cpu_time_ns(&usage);
	end.own_peak_bytes = out->own_peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
	out->duration_ns = end.end_ns - r->start_ns;
	/* What could not be read at the end is the error to tell; what was read is kept all the
	 * same. */
	e = pipeline_close(take_ptr(r->pipeline), &end, &out->counts, e_read < 0 ? NULL : err);
	out->size_bytes = file_tree_bytes(r->config->dir);
	if (r->raw)
		e = raw_close(take_ptr(r->raw), &out->counts.samples, &out->size_bytes,
			      e_read < 0 ? NULL : err);
	return e_read < 0 ? e_read : e;
}

static void recorder_fini(struct recorder *r)
{
	if (r->pipeline)
		pipeline_close(r->pipeline, NULL, NULL, NULL);
	if (r->has_child && !r->child_runs)
		child_abandon(&r->child);
	raw_abandon(r->raw);
	in_kernel_free(r->in_kernel);
	sampler_close(r->sampler);
	rings_close(r->rings);
	machine_free(r->machine);
	host_fini(&r->host);
	vec_fini(&r->cpus);
	vec_fini(&r->tids);
	close_at_exit(&r->cgroup_fd);
	close_at_exit(&r->signal_fd);
	close_at_exit(&r->cpu_fd);
	close_at_exit(&r->wake_fd);
	sigprocmask(SIG_SETMASK, &r->old_mask, NULL);
}

static int start(struct recorder *r, struct error *err)
{
	int e, was_renamed = 0;

	if ((e = block_signals(r, err)) < 0 || (e = choose_cpus(r, err)) < 0 ||
	    (e = open_cgroup(r, err)) < 0 || (e = start_child(r, err)) < 0 ||
	    (e = find_threads(r, err)) < 0 || (e = watch_cpus(r, err)) < 0 ||
	    (e = open_rings(r, err)) < 0)
		return e;
	if (!r->config->raw)
		was_renamed = session_dir_make_room(r->config->dir, err);
	if (was_renamed < 0)
		return was_renamed;
	e = open_pipeline(r, err);
	if (!e)
		e = open_raw(r, err);
	if (!e)
		e = scan_running(r, err);
	if (!e)
		e = let_child_go(r, err);
	if (e < 0) {
		if (r->pipeline)
			pipeline_close(take_ptr(r->pipeline), NULL, NULL, NULL);
		if (!r->config->raw)
			session_dir_put_back(r->config->dir, was_renamed);
	}
	return e;
}

int recorder_run(const struct recorder_config *config, struct recorder_result *out,
		 struct error *err)
{
	struct recorder r = { .config = config,
			      .result = out,
			      .cgroup_fd = -1,
			      .signal_fd = -1,
			      .cpu_fd = -1,
			      .wake_fd = -1 };
	int e, e_run;

	*out = (struct recorder_result){ .wait_status = -1, .stacks = config->stacks };
	r.machine = machine_new(NULL);
	host_init(&r.host, config->counters, config->off_cpu);
	sigprocmask(SIG_SETMASK, NULL, &r.old_mask);
	e = start(&r, err);
	if (!e) {
		e_run = run(&r, err);
		e = finish(&r, e_run < 0 ? NULL : err);
		e = e_run < 0 ? e_run : e;
	}
	recorder_fini(&r);
	return e;
}
