/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording's beginning: targets, counters, the command, running processes. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "collect/cgroup.h"
#include "collect/cpu_watch.h"
#include "collect/ring_room.h"
#include "collect/sampler.h"
#include "counter/reason.h"
#include "counter/sources.h"
#include "heap/heap_samples.h"
#include "pipeline/ext.h"
#include "pipeline/off_cpu.h"
#include "pipeline/session_dir.h"
#include "pipeline/user_stacks.h"
#include "record/collector.h"
#include "record/in_kernel.h"
#include "record/labels.h"
#include "record/interpreter.h"
#include "record/pid_namespace.h"
#include "record/program_files.h"
#include "record/raw.h"
#include "record/raw_trace.h"
#include "record/recorder_state.h"
#include "record/target_names.h"

/* All of a page fault's stack mostly, and not 16 KB of each: a program begins with hundreds. */
#define RARE_STACK_BYTES 2048

/* Targets. */

bool has_pid_target(const struct recorder_config *c)
{
	return c->pids->n || c->tids->n;
}

bool is_command_target(const struct recorder_config *c)
{
	return c->argv && !c->whole_machine && !c->cgroup && !has_pid_target(c);
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

	if (c->target)
		return xstrdup(c->target);
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

static const char *collector_text(const struct recorder *r)
{
	const struct recorder_config *c = r->config;
	bool has_probes = r->heap && heap_has_probes(r->heap);

	if (r->heap && c->in_kernel)
		return has_probes ? "uprobes on the functions for memory, and BPF"
				  : "preloaded library, and BPF";
	if (r->heap)
		return has_probes ? "uprobes on the functions for memory" : "preloaded library";
	if (c->in_kernel && !r->for_rings)
		return "BPF";
	return c->in_kernel || recorder_n_waits(c) ? "perf rings and BPF" : "perf rings";
}

int recorder_open_session(struct recorder *r, const char *dir, struct error *err)
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
		.collector = collector_text(r),
		.stacks = stack_source_texts[r->result->stacks],
		.note = c->note,
		.n_cpus = r->n_online,
		.start_wall_ns = clock_wall_ns(),
		.start_ns = clock_monotonic_ns(),
		.counters = r->host.counters,
		.n_counters = r->host.n_counters,
		.merged = c->merged,
		.segment_bytes = c->segment_bytes,
		.table_bytes = c->table_bytes,
		.exact_times = c->exact_times,
		.writes_behind = c->writes_behind,
	};
	struct pipeline_config pipeline = {
		.ops = c->raw ? &no_store : c->ops,
		.dir = dir,
		.info = &info,
		.names_dir = c->names_dir,
		.machine = r->machine,
		.ext = r->ext,
	};
	struct session_end end = recorder_session_end(r, info.start_ns);
	struct error why = { 0 };
	int e = 0;

	if (r->pipeline)
		e = pipeline_switch(r->pipeline, &pipeline, &end, &why);
	else if (!(r->pipeline = pipeline_open(&pipeline, &why)))
		e = why.code;
	if (e < 0) {
		if (err)
			*err = why;
		return e;
	}
	if (r->dir)
		r->written_bytes += file_tree_bytes(r->dir);
	else
		r->start_ns = info.start_ns;
	free(r->dir);
	r->dir = xstrdup(dir);
	return r->ext && !c->raw ? ext_open_files(r->ext, dir, err) : 0;
}

static int open_raw(struct recorder *r, struct error *err)
{
	struct raw_trace trace;
	struct raw_config raw = {
		.path = r->config->raw,
		.version = r->config->version,
		.cpu_model = r->host.cpu_model,
		.argv = r->config->raw_argv,
		.rings = r->rings,
		.counters = &r->counters,
		.n_cpus = r->n_online,
		.next = pipeline_sink(r->pipeline),
		.trace = recorder_describe_trace(r, &trace),
		.keep_ns = r->config->keep_ns,
		.keep_bytes = r->config->keep_bytes,
	};
	int e;

	if (!r->config->raw)
		return 0;
	e = raw_open(&raw, &r->raw, err);
	r->start_ns = clock_monotonic_ns(); /* reading the kernel's symbols takes time */
	return e;
}

/* Beside the in-kernel sampler, the samples of the rings have the stacks that they have alone. */
static bool recorder_copies_stacks(const struct recorder *r)
{
	const struct recorder_config *c = r->config;

	if (!c->in_kernel)
		return c->stacks == STACKS_COPIED;
	return c->stacks == STACKS_IN_KERNEL && r->for_rings && counters_fit_copies(&r->counters);
}

static int open_rings(struct recorder *r, struct error *err)
{
	const struct recorder_config *c = r->config;
	static const struct counters none;
	struct rings_config rings = {
		.backend = c->backend,
		.counters = c->in_kernel && !r->for_rings ? &none : &r->counters,
		.with_inodes = !c->raw, /* a build id is a claim of the file */
		/* perf's own tools would also need records of all existing cgroups */
		.with_cgroup = !c->raw && !(c->merged & SEPARATE_CGROUP),
		.for_file = c->raw,
		.sources = c->sources,
		.cpus = &r->cpus,
		.tids = r->tids.data,
		.n_tids = r->tids.n,
		.cgroup_fd = r->cgroup_fd,
		.inherit = !c->by_thread && (is_command_target(c) || c->pids->n),
		.by_thread = c->by_thread,
		.with_task_times = recorder_has_account(r) && !c->whole_machine,
		.for_trace = recorder_has_trace(r),
		.enable_on_exec = is_command_target(c),
		.starts_paused = c->starts_disabled,
		.with_callchain = c->stacks != STACKS_NONE,
		.stack_bytes = c->stack_bytes,
		.rare_stack_bytes = c->stack_bytes ? c->stack_bytes : RARE_STACK_BYTES,
		.ring_bytes = recorder_has_trace(r) ? r->aux_sizes.ring_bytes : c->ring_bytes,
	};
	int e;

	if (!recorder_copies_stacks(r))
		rings.stack_bytes = 0;
	else if (!c->stack_bytes)
		rings.stack_bytes = ring_room_stack_bytes(&rings);
	e = rings_open(&rings, &r->rings, err);
	/* Some processors have no registers in perf_event, and some events give none. */
	if (c->is_stacks_wish && rings.stack_bytes &&
	    (e == -EOPNOTSUPP || e == -ENOSYS || e == -EINVAL)) {
		rings.stack_bytes = 0;
		if (!c->in_kernel)
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

static int watch_control(struct recorder *r, struct error *err)
{
	const struct recorder_control *c = r->config->control;

	if (!c || c->fd < 0)
		return 0;
	r->control = (struct pollfd){ .fd = c->fd, .events = POLLIN };
	return wake_by(r, c->fd, err);
}

/* The kernel follows threads to every CPU; counters of a CPU end when it goes. */
static int watch_cpus(struct recorder *r, struct error *err)
{
	if (r->tids.n)
		return 0;
	r->cpu_fd = cpu_watch_open();
	return r->cpu_fd < 0 ? 0 : wake_by(r, r->cpu_fd, err);
}

/* Before the command, which inherits the library's variables. */
static int open_heap(struct recorder *r, struct error *err)
{
	const struct recorder_config *c = r->config;

	if (!c->alloc_mean_bytes)
		return 0;
	return c->alloc_by_probes ? heap_open_probes(c->alloc_mean_bytes, &r->heap, err)
				  : heap_open(c->alloc_mean_bytes, &r->heap, err);
}

static int attach_command(struct recorder *r, struct error *err)
{
	cleanup(free_at_exit) char *path = child_find(r->config->argv[0]);
	struct program_files files = { 0 };
	int e;

	if (path)
		program_files_find(path, &files);
	e = heap_attach_later(r->heap, r->child.pid, files.data, files.n, err);
	program_files_fini(&files);
	return e;
}

/* The command waits for its exec; running processes are seen from here on. */
static int attach_heap(struct recorder *r, struct error *err)
{
	const struct pid_list *pids = r->config->pids;
	int e = 0;

	if (!r->heap || !heap_has_probes(r->heap))
		return 0;
	if (is_command_target(r->config))
		return attach_command(r, err);
	for (size_t i = 0; i < pids->n && e == 0; i++)
		e = heap_attach(r->heap, pids->data[i], err);
	return e;
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
	e = child_prepare(c->argv, r->heap ? heap_variables(r->heap) : NULL, &r->old_mask,
			  !c->raw || strcmp(c->raw, "-") != 0, &r->child, err);
	r->has_child = e == 0;
	r->result->command_pid = e == 0 ? r->child.pid : 0;
	return e;
}

static int release_child(struct recorder *r, struct error *err)
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

/*
 * Loading takes long on some machines. The verifier's seconds are no part of the recording, and no
 * counting ring stays unread during them.
 */
static int load_sampler(struct recorder *r, struct error *err)
{
	static const struct counters none;
	const struct recorder_config *config = r->config;
	enum stack_source stacks = r->result->stacks;
	char why[256];
	bool with_tables = stacks == STACKS_IN_KERNEL ||
			   (stacks == STACKS_COPIED && sampler_can_unwind(why, sizeof(why)));
	struct sampler_waits waits = {
		.off_cpu = config->off_cpu,
		.kernel_locks = config->kernel_locks,
		.most_percent = config->off_cpu_percent,
		.min_ns = config->off_cpu_min_ns,
		.first_counter = (uint32_t)config->counters->n,
		.targets = config->pids->n ? config->pids->data : r->tids.data,
		.n_targets = config->pids->n ? config->pids->n : r->tids.n,
		.targets_are_threads = config->tids->n > 0,
	};
	struct sampler_config c = {
		.counters = config->in_kernel ? &r->counters : &none,
		.sources = config->sources,
		.cpus = &r->cpus,
		.with_stacks = stacks != STACKS_NONE,
		.by_frame_pointer = !with_tables,
		.waits = recorder_n_waits(config) ? &waits : NULL,
		.with_times = config->exact_times,
		.labels = config->labels ? config->labels->in_program.data : NULL,
		.n_labels = config->labels ? config->labels->in_program.n : 0,
		.filter = config->filter,
		.is_of_cgroup = config->cgroup != NULL,
		.cgroup_fd = r->cgroup_fd,
		.pid_namespace = sources_pid_namespace(NULL),
		.tids = config->in_kernel ? r->tids.data : NULL,
		.n_tids = config->in_kernel ? r->tids.n : 0,
		.processes = config->pids,
		.inherit = !config->by_thread && (is_command_target(config) || config->pids->n),
		.tids_on_cpus = config->cpus->n > 0,
		.enable_on_exec = is_command_target(config),
		.starts_paused = r->is_paused,
	};
	int e;

	if (!config->in_kernel && !recorder_n_waits(config))
		return 0;
	e = sampler_open(&c, &r->sampler, err);
	r->result->has_sampler_failed = e < 0;
	r->samples_by_tables = with_tables;
	return e;
}

/* Interpreters that run already. */
static void expect_running(struct recorder *r)
{
	const struct recorder_config *c = r->config;
	const struct pid_list *ids = c->pids->n ? c->pids : c->tids;

	if (!c->interpreters || !(c->interpreters->runs.language || c->interpreters->runs.is_go))
		return;
	if (ids->n)
		in_kernel_expect_interpreters(r->in_kernel, ids->data, ids->n);
}

/*
 * What an interpreter does first would else lack the frames of its language, and first samples of a
 * Go program would lack their labels.
 */
static void expect_command(struct recorder *r)
{
	const struct interpreters *found = r->config->interpreters;

	if (found) {
		vec_foreach (&found->files, path)
			in_kernel_expect_program(r->in_kernel, r->child.pid, *path);
	}
	if ((!found || !found->files.n) && r->config->labels) {
		cleanup(free_at_exit) char *path = child_find(r->config->argv[0]);

		if (path)
			in_kernel_expect_program(r->in_kernel, r->child.pid, path);
	}
}

static int follow_sampler(struct recorder *r, struct error *err)
{
	const struct recorder_config *c = r->config;

	if (c->python_trampoline)
		pipeline_expect_trampolines(r->pipeline);
	if (!r->sampler)
		return 0;
	r->in_kernel = in_kernel_new(r->sampler, r->pipeline, r->machine,
				     r->heap ? heap_sink(r->heap) : pipeline_sink(r->pipeline),
				     r->samples_by_tables);
	if (c->in_kernel && r->samples_by_tables) {
		pipeline_expect_languages(r->pipeline);
		if (is_command_target(c))
			expect_command(r);
		else if (c->whole_machine || c->cgroup)
			in_kernel_expect_interpreters(r->in_kernel, NULL, 0);
		else
			expect_running(r);
	}
	if (c->labels)
		in_kernel_expect_labels(r->in_kernel, c->labels->in_session.data,
					c->labels->in_program.data, c->labels->in_session.n);
	if (recorder_n_waits(c))
		in_kernel_expect_waits(r->in_kernel, (uint32_t)c->counters->n,
				       !(c->merged & SEPARATE_THREAD));
	return wake_by(r, sampler_fd(r->sampler), err);
}

/*
 * Threads that wait since before the sampler's start. A thread that came back during the look does
 * not wait any more.
 */
static void put_wait(void *context, int32_t pid, int32_t tid)
{
	struct recorder *r = context;
	struct blocked_thread t, again;

	if (tid == gettid() || !sampler_follows_waits(r->sampler, pid, tid) ||
	    !off_cpu_look("/proc", pid, tid, &t))
		return;
	if (in_kernel_put_wait(r->in_kernel, &t, r->sampling_ns) &&
	    !off_cpu_look("/proc", pid, tid, &again))
		sampler_drop_wait(r->sampler, tid);
}

static void put_waits(struct recorder *r)
{
	const struct recorder_config *c = r->config;
	struct pid_list named = { 0 }, everybody = { 0 }; /* children of a pause, too */
	char group[64];

	if (!c->off_cpu || (is_command_target(c) && !r->child_runs))
		return;
	if (c->filter)
		target_processes("/proc", c->filter, &named);
	snprintf(group, sizeof(group), "/proc/self/fd/%d/.", r->cgroup_fd);
	if (c->cgroup)
		target_cgroup_processes(group, &named);
	if (named.n)
		off_cpu_each("/proc", &named, c->tids, put_wait, r);
	else if (!c->filter && !c->cgroup)
		off_cpu_each("/proc", r->was_steered ? &everybody : c->pids, c->tids, put_wait, r);
	vec_fini(&named);
}

void recorder_begin_waits(struct recorder *r)
{
	r->sampling_ns = clock_monotonic_ns();
	put_waits(r);
}

/* A pause is no reason to open the counters later: children that start meanwhile have them, too. */
static int start_sampler(struct recorder *r, struct error *err)
{
	int e = sampler_start(r->sampler, err);

	r->result->has_sampler_failed = e < 0;
	if (e >= 0 && !r->is_paused)
		recorder_begin_waits(r);
	return e;
}

struct event_sink *side_band_sink(struct recorder *r)
{
	struct event_sink *sink;

	if (r->raw)
		return raw_sink(r->raw);
	sink = r->in_kernel ? in_kernel_sink(r->in_kernel)
	       : r->heap    ? heap_sink(r->heap)
			    : pipeline_sink(r->pipeline);
	if (!r->has_pid_namespace)
		return sink;
	if (!r->pid_namespace)
		r->pid_namespace = pid_namespace_new("/proc", sink);
	return pid_namespace_sink(r->pid_namespace);
}

static int read_running(struct recorder *r, struct error *err)
{
	const struct recorder_config *c = r->config;
	struct event_sink *sink = side_band_sink(r);
	int e = 0;

	if (c->whole_machine || c->cgroup)
		e = proc_scan_all("/proc", 0, sink);
	else if (!is_command_target(c))
		e = proc_scan_threads("/proc", &r->tids, 0, sink);
	return e < 0 ? error_errno(err, e, "cannot read the processes in /proc") : 0;
}

/* Nothing counts before this moment, so the session begins here, and not when it was opened. */
static int begin_session(struct recorder *r, struct error *err)
{
	r->start_ns = clock_monotonic_ns();
	return pipeline_begin(r->pipeline, clock_wall_ns(), r->start_ns, err);
}

/*
 * Running processes are read from /proc after the side band has begun, so that no process is
 * missed. Samples begin after that: a busy machine may need seconds for it, and nothing reads the
 * rings.
 */
static int start_counting(struct recorder *r, struct error *err)
{
	const struct recorder_config *c = r->config;
	bool is_command = is_command_target(c);
	bool is_listed = c->pids->n || c->tids->n;
	int e = 0;

	if (r->n_begun)
		pipeline_lose(r->pipeline, LOSS_THREADS_BEGUN, UINT32_MAX, r->n_begun);
	if (is_command && !c->in_kernel)
		recorder_begin_account(r);
	if (r->heap)
		heap_begin(r->heap, r->pipeline, r->machine,
			   (uint32_t)c->counters->n + recorder_n_waits(c));
	/*
	 * The sampler's part reads files, and nothing reads the rings meanwhile. Side bands of the
	 * whole machine would fill them up; those of chosen processes fit, and have their children.
	 */
	if (is_listed)
		e = rings_enable_side_band(r->rings, err);
	if (!e)
		e = follow_sampler(r, err);
	if (!e && !is_command && !is_listed)
		e = rings_enable_side_band(r->rings, err);
	if (!e && r->heap)
		e = begin_session(r, err);
	if (!e)
		e = attach_heap(r, err);
	if (!e)
		e = read_running(r, err);
	if (!e && !r->heap)
		e = begin_session(r, err);
	if (e < 0)
		return e;
	if (!is_command || c->in_kernel)
		recorder_begin_account(r);
	/* from the first sample on, or a busy machine lets rings fill up before they are read */
	if (c->whole_machine)
		real_time_guard_begin(&r->real_time);
	if (!is_command)
		e = rings_enable(r->rings, err);
	/* last, because its raw stacks need a reader */
	if (r->sampler && e >= 0)
		e = start_sampler(r, err);
	r->counting_ns = clock_monotonic_ns();
	if (r->raw)
		raw_set_scanning(r->raw, false);
	return MIN(e, 0);
}

/* Walks of stacks wait for tables, but no sample is lost for that. */
static void limit_waits(struct recorder *r)
{
	struct user_stacks *stacks = pipeline_user_stacks(r->pipeline);
	struct table_waits *waits = stacks ? user_stacks_waits(stacks) : NULL;

	if (!waits)
		return;
	waits->may_wait = rings_have_room;
	waits->context = r->rings;
}

int recorder_start(struct recorder *r, struct error *err)
{
	int e, was_renamed = 0;

	if ((e = reason_refuse_proc(NULL, err)) < 0 || (e = block_signals(r, err)) < 0 ||
	    (e = choose_cpus(r, err)) < 0 || (e = open_cgroup(r, err)) < 0 ||
	    (e = open_heap(r, err)) < 0 || (e = start_child(r, err)) < 0 ||
	    (e = recorder_find_threads(r, err)) < 0 || (e = watch_cpus(r, err)) < 0 ||
	    (e = watch_control(r, err)) < 0 || (e = recorder_plan_trace(r, err)) < 0 ||
	    (e = open_rings(r, err)) < 0 || (e = recorder_settle_threads(r, err)) < 0 ||
	    (e = recorder_open_trace(r, err)) < 0 || (e = load_sampler(r, err)) < 0)
		return e;
	if (!r->config->raw && !r->config->continues)
		was_renamed = session_dir_make_room(r->config->dir, err);
	if (was_renamed < 0)
		return was_renamed;
	e = recorder_open_session(r, r->config->dir, err);
	if (!e)
		limit_waits(r);
	if (!e)
		e = open_raw(r, err);
	if (!e)
		e = recorder_start_trace(r, err);
	if (!e)
		e = start_counting(r, err);
	if (!e)
		e = release_child(r, err);
	if (e < 0) {
		real_time_guard_end(&r->real_time);
		if (r->pipeline)
			pipeline_close(take_ptr(r->pipeline), NULL, NULL, NULL);
		if (!r->config->raw && !r->config->continues)
			session_dir_put_back(r->config->dir, was_renamed);
	}
	return e;
}
