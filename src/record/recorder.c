/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/recorder.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "base/thread.h"
#include "collect/cpu_watch.h"
#include "collect/missed.h"
#include "collect/sampler.h"
#include "counter/pace.h"
#include "counter/sources.h"
#include "guard/parser.h"
#include "heap/heap_samples.h"
#include "machine/proc.h"
#include "pipeline/ext.h"
#include "record/collector.h"
#include "record/cpu_account.h"
#include "record/in_kernel.h"
#include "record/pid_namespace.h"
#include "record/raw.h"
#include "record/recorder_state.h"

#define UNSAMPLED_MIN_NS 50000000ULL
#define ASKED_NS         5000000ULL
/*
 * Messages of the in-kernel sampler that one turn reads. Programs without an unwind table send
 * whole stacks meanwhile. If reading is slow, they come as fast as they are read, and the turn must
 * get on to the tables.
 */
#define TURN_BYTES ((size_t)1 << 20)
#define MISSED_MIN 50 /* samples; threads' unfinished periods are worth a few */

const char *const stack_source_texts[N_STACK_SOURCES] = {
#define X(id, text) text,
	STACK_SOURCES(X)
#undef X
};

/* The recording in progress. */

static void reap_child(struct recorder *r)
{
	siginfo_t ended = { 0 };
	struct rusage usage;
	int status;

	if (!r->child_runs)
		return;
	/* it is not taken yet: its clock can still be read */
	if (r->cpu_account &&
	    waitid(P_PID, (id_t)r->child.pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    ended.si_pid == r->child.pid)
		cpu_account_reap(r->cpu_account, r->child.pid);
	if (wait4(r->child.pid, &status, WNOHANG, &usage) != r->child.pid)
		return;
	if (r->cpu_account)
		cpu_account_children(r->cpu_account, r->child.pid, usage_cpu_ns(&usage));
	r->child_runs = r->has_child = false;
	r->is_ended = true;
	r->result->wait_status = status;
	r->result->end = END_COMMAND;
}

/*
 * Ctrl-C reaches the command through the terminal, so it is not sent again. The command handles it,
 * and a second one ends the recording anyway. A signal to us alone is passed on. timeout(1) and
 * service managers signal the process and then its group: signals at the same moment are one
 * request.
 */
static void on_stop_signal(struct recorder *r, const struct signalfd_siginfo *s)
{
	uint64_t now = clock_monotonic_ns();

	if (!r->child_runs || (r->stop_ns && now - r->stop_ns > NS_PER_SECOND / 4)) {
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

static int handle_signals(struct recorder *r, struct error *err)
{
	const struct recorder_control *control = r->config->control;
	struct signalfd_siginfo s;
	int e = 0;

	while (!e && read(r->signal_fd, &s, sizeof(s)) == sizeof(s)) {
		if (s.ssi_signo == SIGCHLD)
			reap_child(r);
		else if (s.ssi_signo == SIGHUP && control && control->hangup)
			e = control->hangup(control->context, r, err);
		else
			on_stop_signal(r, &s);
	}
	return MIN(e, 0);
}

/* The command's children may go on, but the user named other targets only. */
static bool has_target_ended(const struct recorder *r)
{
	return has_pid_target(r->config) && !proc_any_runs(&r->tids);
}

static int wait_ms(const struct recorder *r)
{
	uint64_t now = clock_monotonic_ns(), until = pipeline_next_flush(r->pipeline);
	uint64_t settle = clock_monotonic_ns() - rings_safe_time();

	until += settle;
	if (r->in_kernel && in_kernel_is_behind(r->in_kernel))
		until = MIN(until, now + settle);
	if (r->config->duration_s > 0)
		until = MIN(until,
			    r->counting_ns + (uint64_t)(r->config->duration_s * NS_PER_SECOND));
	if (r->config->drain_s > 0)
		until = MIN(until, now + (uint64_t)(r->config->drain_s * NS_PER_SECOND));
	if (r->heap)
		until = MIN(until, now + heap_patience_ns(r->heap));
	return until <= now ? 0 : (int)((until - now + 999999) / 1000000);
}

/* A trace's records have times of the kernel's own clock: they are delivered as they come. */
uint64_t recorder_safe_time(const struct recorder *r)
{
	return recorder_has_trace(r) ? UINT64_MAX - 1 : rings_safe_time();
}

int recorder_drain(struct recorder *r, uint64_t until_ns)
{
	int e;

	if (r->heap)
		heap_collect(r->heap);
	e = rings_drain(r->rings, until_ns, side_band_sink(r));
	if (r->heap)
		heap_deliver(r->heap, until_ns);
	if (!e)
		e = recorder_drain_trace(r);
	rings_collect_losses(r->rings, until_ns == UINT64_MAX, pipeline_lose, r->pipeline);
	return e;
}

/* Waits until all records up to `time_ns` are in the rings, with one nap: each waking costs. */
static void wait_until_safe(uint64_t time_ns)
{
	struct timespec nap = { .tv_nsec = (long)(time_ns - MIN(time_ns, rings_safe_time())) };

	if (nap.tv_nsec < (long)NS_PER_SECOND)
		nanosleep(&nap, NULL);
}

/* A timer whose interrupt comes late makes one sample instead of several. */
static void report_late(struct recorder *r, uint32_t counter, uint64_t n)
{
	if (n > r->result->n_late) {
		r->result->n_late = n;
		r->result->late_counter = counter;
	}
	if (n)
		pipeline_lose(r->pipeline, LOSS_THROTTLED_SAMPLES, counter, n);
}

static void report_missed(void *context, enum loss_reason reason, uint32_t counter, uint64_t n)
{
	struct recorder *r = context;

	if (strcmp(r->counters.data[counter].unit, "ns"))
		pipeline_lose(r->pipeline, reason, counter, n);
	else
		report_late(r, counter, n);
}

/*
 * Adds the in-kernel sampler's counts up to now, as samples of `time_ns`. The side band is read in
 * between, so that every file and process is known. Stacks younger than that reading wait: it may
 * have missed the process's exec.
 */
static int read_in_kernel(struct recorder *r, uint64_t time_ns, bool is_final, struct error *err)
{
	uint64_t turned_ns = clock_monotonic_ns(), known_ns = is_final ? UINT64_MAX : 0;
	int e = 0;

	sampler_turn(r->sampler, turned_ns);
	while (!is_final && !e && known_ns < turned_ns) {
		wait_until_safe(turned_ns);
		known_ns = rings_safe_time();
		e = recorder_drain(r, known_ns);
	}
	if (is_final)
		e = recorder_drain(r, UINT64_MAX);
	if (!e)
		e = in_kernel_poll(r->in_kernel, SIZE_MAX, err);
	if (!e)
		in_kernel_catch_up(r->in_kernel, known_ns);
	if (!e)
		e = in_kernel_read(r->in_kernel, time_ns, err);
	if (!e && is_final && r->config->off_cpu)
		e = in_kernel_read_waits(r->in_kernel, time_ns, err);
	sampler_collect_losses(r->sampler, pipeline_lose, r->pipeline);
	if (is_final && !r->tids.n)
		sampler_collect_missed(r->sampler, report_missed, r);
	return e;
}

/* Begins a reading at the end of a second, for that second, or at the configured interval. */
static bool begin_due_read(struct recorder *r, uint64_t *time_ns)
{
	uint64_t now = clock_monotonic_ns(), flush = pipeline_next_flush(r->pipeline);
	uint64_t step = (uint64_t)(r->config->drain_s * NS_PER_SECOND);

	if (now < flush && (!step || now - MIN(now, r->read_ns) < step))
		return false;
	r->read_ns = now;
	*time_ns = MIN(now, flush - 1);
	return true;
}

/* Up to now, also within a second. */
int recorder_gather(struct recorder *r, struct error *err)
{
	uint64_t now = clock_monotonic_ns(), flush = pipeline_next_flush(r->pipeline);
	int e = 0;

	if (r->sampler) {
		r->read_ns = now;
		return read_in_kernel(r, MIN(now, flush - 1), false, err);
	}
	if (r->aux)
		return recorder_drain(r, recorder_safe_time(r));
	while (!e && rings_safe_time() < now) {
		wait_until_safe(now);
		e = recorder_drain(r, rings_safe_time());
	}
	return e;
}

/*
 * Finds what processes did on a CPU before it had a side band, where execs and mappings are
 * missing. After the side band up to now, which would otherwise undo the data of /proc.
 */
static int scan_again(struct recorder *r, struct error *err)
{
	int e = recorder_gather(r, err);

	if (e < 0)
		return e;
	if (r->raw)
		raw_set_scanning(r->raw, true);
	e = machine_scan_again(r->machine, clock_monotonic_ns(), side_band_sink(r));
	if (r->raw)
		raw_set_scanning(r->raw, false);
	return e < 0 ? error_errno(err, e, "cannot read the processes in /proc") : e;
}

static int follow_cpus(struct recorder *r, struct error *err)
{
	struct error why = { 0 };
	bool is_online, is_new = false;
	uint32_t cpu;
	int e;

	while (r->cpu_fd >= 0 && cpu_watch_next(r->cpu_fd, &cpu, &is_online)) {
		if (!is_online)
			continue;
		e = recorder_cpu_online(r, cpu, &why);
		if (!e && r->sampler)
			e = sampler_cpu_online(r->sampler, cpu, &why);
		if (e == -ENOENT && r->config->cpus->n)
			continue; /* not a requested CPU */
		pipeline_lose(r->pipeline, e ? LOSS_CPU_UNWATCHED : LOSS_CPU_ONLINE, UINT32_MAX, 1);
		is_new = is_new || !e;
	}
	return is_new && (r->config->whole_machine || r->config->cgroup) ? scan_again(r, err) : 0;
}

/* Each turn serves the steering. */
static int serve_control(struct recorder *r, struct error *err)
{
	const struct recorder_control *c = r->config->control;
	int e = 0;

	if (!c || r->is_ended)
		return 0;
	if (c->ready && r->control.fd >= 0 && poll(&r->control, 1, 0) > 0)
		e = c->ready(c->context, r, err);
	if (e >= 0 && c->tick && !r->is_ended)
		e = c->tick(c->context, r, clock_monotonic_ns(), err);
	return MIN(e, 0);
}

/*
 * True if this turn only serves a request of the steering: then the rings can wait. Reading all
 * rings for each of a thousand requests a second would be half of their cost.
 */
static bool begin_control_turn(struct recorder *r)
{
	const struct recorder_control *c = r->config->control;
	uint64_t now = clock_monotonic_ns();

	if (c && c->ready && r->control.fd >= 0 && now - r->turned_ns < ASKED_NS &&
	    poll(&r->control, 1, 0) > 0)
		return true;
	r->turned_ns = now;
	return false;
}

/* Before the end, where the reason comes again: somebody may make room meanwhile. */
static void log_of_disk(struct recorder *r)
{
	const struct error *failure = pipeline_write_failure(r->pipeline);

	if (!r->config->logs_disk || r->is_write_failing == !!failure)
		return;
	r->is_write_failing = !!failure;
	if (failure)
		log_warning("%s: samples are lost until this ends", failure->text);
	else
		log_warning("the session is written again");
}

static int record_loop(struct recorder *r, struct error *err)
{
	const struct recorder_config *c = r->config;
	int e = 0;

	while (!r->is_ended && e >= 0) {
		uint64_t safe, time_ns;

		rings_wait(r->rings, r->wake_fd, wait_ms(r));
		real_time_guard_look(&r->real_time);
		if (begin_control_turn(r)) {
			e = serve_control(r, err);
			continue;
		}
		e = handle_signals(r, err);
		if (!e)
			e = follow_cpus(r, err);
		if (!e && r->in_kernel)
			e = in_kernel_poll(r->in_kernel, TURN_BYTES, err);
		if (!e && r->sampler && begin_due_read(r, &time_ns))
			e = read_in_kernel(r, time_ns, false, err);
		safe = rings_safe_time();
		if (!e)
			e = recorder_drain(r, r->aux ? recorder_safe_time(r) : safe);
		if (!e && r->in_kernel)
			in_kernel_catch_up(r->in_kernel, safe);
		if (!e && r->raw && safe >= pipeline_next_flush(r->pipeline)) {
			e = raw_advance(r->raw);
			if (e < 0)
				error_errno(err, e, "cannot write %s",
					    strcmp(c->raw, "-") ? c->raw : "standard output");
		}
		pipeline_advance(r->pipeline, safe);
		log_of_disk(r);
		if (r->cpu_account)
			cpu_account_turn(r->cpu_account, safe);
		if (!e)
			e = serve_control(r, err);
		if (!r->is_ended && c->duration_s > 0 &&
		    clock_monotonic_ns() - r->counting_ns >=
			    (uint64_t)(c->duration_s * NS_PER_SECOND)) {
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

/*
 * A clock begins anew with each thread. So a thread that lives shorter than a period gets no
 * sample, even if there are many such threads. Below a tenth, unfinished periods of ended threads
 * explain the gap.
 */
static void report_short_lived(struct recorder *r, uint32_t counter, uint64_t used_ns, uint64_t n)
{
	uint64_t ns = n * pace_period(&r->counters.data[counter]);

	if (ns < used_ns / 11 + UNSAMPLED_MIN_NS)
		return;
	if (r->counters.n == 1) {
		r->result->unsampled_ns = ns;
		r->result->command_cpu_ns = used_ns;
	}
	pipeline_lose(r->pipeline, LOSS_UNSAMPLED, counter, n);
}

static void count_missed_ticks(struct recorder *r, uint32_t counter, const struct rings_tally *t,
			       uint64_t used_ns)
{
	struct clock_gap gap = clock_gap(used_ns, pace_period(&r->counters.data[counter]),
					 t->samples + t->lost, t->n_begun);

	report_late(r, counter, gap.late);
	if (is_command_target(r->config))
		report_short_lived(r, counter, used_ns, gap.unfinished);
}

/*
 * The clock itself counts the time in which samples were due. If it samples user mode alone,
 * wait(2) gives that time of a command, in ticks: a gap of less than a tenth is not reported.
 */
static void count_missed_time(struct recorder *r, uint32_t counter, const struct rings_tally *t)
{
	const struct perf_event_attr *a = &r->counters.data[counter].attr;
	uint64_t period = pace_period(&r->counters.data[counter]), used;
	uint64_t sampled = (t->samples + t->lost) * period;
	struct rusage usage;

	if (clock_shows_missed(a)) {
		count_missed_ticks(r, counter, t, t->counted);
		return;
	}
	if (a->exclude_user || a->exclude_idle || !is_command_target(r->config) ||
	    recorder_n_waits(r->config) || r->result->end != END_COMMAND)
		return;
	/* their time is included, and the reason for their missing samples is known */
	if (r->result->n_protected)
		return;
	getrusage(RUSAGE_CHILDREN, &usage);
	usage.ru_stime = (struct timeval){ 0 };
	used = usage_cpu_ns(&usage);
	if (used >= sampled + sampled / 10 + UNSAMPLED_MIN_NS)
		count_missed_ticks(r, counter, t, used);
}

/* If the kernel searches the period, the number depends on the length of that search. */
static void report_unsampled(struct recorder *r, uint32_t counter, uint64_t n)
{
	if (pace_period(&r->counters.data[counter]) && n > r->result->n_unsampled) {
		r->result->n_unsampled = n;
		r->result->unsampled_counter = counter;
	}
	pipeline_lose(r->pipeline, LOSS_UNSAMPLED, counter, n);
}

/* Of threads. They have a counter on all CPUs together, or with -C one on each of these. */
static struct rings_tally tally_in_kernel(struct recorder *r, uint32_t counter)
{
	struct rings_tally t = sampler_tally(r->sampler, counter);
	uint64_t n_places = r->config->cpus->n ? r->cpus.n : 1;

	t.n_begun = t.n_fds + (r->config->by_thread ? 0 : rings_n_started(r->rings) * n_places);
	return t;
}

/*
 * Events of a counter without samples: no sample is taken while the counter is throttled, or for a
 * thread's unfinished period.
 */
static void count_missed(struct recorder *r)
{
	const struct counters *counters = &r->counters;
	struct rings_tally own = { 0 };

	for (uint32_t i = 0; i < counters->n; i++) {
		const struct counter *c = &counters->data[i];
		const struct rings_tally *t = &own;
		uint64_t missed;

		if (c->in_kernel && !r->tids.n) /* of CPUs: sampler_collect_missed() has them */
			continue;
		if (c->in_kernel)
			own = tally_in_kernel(r, i);
		else
			t = rings_tally(r->rings, i);

		if (!t || !t->n_fds)
			continue;
		if (!strcmp(c->unit, "ns")) {
			if (!r->config->raw)
				count_missed_time(r, i, t);
			continue;
		}
		if (!t->counted && !t->samples && !t->lost && counter_is_hardware(c) && i < 64)
			r->result->silent |= 1ULL << i;
		if (r->config->raw)
			continue;
		missed =
			missed_samples(t->counted, t->samples, t->period, pace_period(c), t->n_fds);
		missed -= MIN(missed, t->lost);
		if (t->was_throttled && missed)
			pipeline_lose(r->pipeline, LOSS_THROTTLED_SAMPLES, i, missed);
		else if (missed > t->samples / 10 + MISSED_MIN)
			report_unsampled(r, i, missed);
	}
}

static void put_statistic(void *context, const char *feature, const char *key, uint64_t value)
{
	buf_printf(context, "%s%s: %s %" PRIu64, ((struct buf *)context)->len ? ", " : "", feature,
		   key, value);
}

static void report_features(struct recorder *r)
{
	struct buf text = { 0 };

	recorder_features(r, put_statistic, &text);
	snprintf(r->result->features, sizeof(r->result->features), "%s", buf_cstr(&text));
	buf_fini(&text);
}

static void count_protected(struct recorder *r)
{
	const char *comm;

	r->result->n_protected = machine_protected(r->machine, &comm);
	snprintf(r->result->protected_comm, sizeof(r->result->protected_comm), "%s", comm);
	if (r->result->n_protected)
		pipeline_lose(r->pipeline, LOSS_PROTECTED, 0, r->result->n_protected);
}

static int recorder_finish(struct recorder *r, struct error *err)
{
	struct recorder_result *out = r->result;
	struct parser_cost cost;
	struct session_end end;
	uint64_t end_ns;
	int e, e_read = 0;

	if (r->aux && r->config->snapshot_at_end)
		recorder_snapshot(r, NULL);
	/* the side band last: it names every process with samples */
	if (r->sampler)
		sampler_disable(r->sampler);
	rings_disable(r->rings);
	if (r->heap)
		heap_stop(r->heap);
	if (r->cpu_account)
		cpu_account_end(r->cpu_account);
	real_time_guard_end(&r->real_time);
	recorder_stop_trace(r);
	end_ns = clock_monotonic_ns();
	if (!r->sampler)
		recorder_drain(r, UINT64_MAX);
	else
		e_read = read_in_kernel(r, end_ns, true, err);
	if (r->heap)
		heap_finish(r->heap, end_ns);
	snprintf(out->note, sizeof(out->note), "%s", rings_note(r->rings));
	report_features(r);
	if (!r->config->whole_machine && !r->config->cgroup)
		count_protected(r);
	if (!r->was_steered)
		count_missed(r);
	if (r->config->control && r->config->control->ended)
		r->config->control->ended(r->config->control->context, r);
	end = recorder_session_end(r, end_ns);
	cost = parser_cost();
	end.own_cpu_ns += cost.cpu_ns;
	end.own_peak_bytes += cost.peak_bytes;
	out->own_cpu_ns = end.own_cpu_ns;
	out->own_peak_bytes = end.own_peak_bytes;
	out->duration_ns = end_ns - r->start_ns;
	/* a failed reading at the end is the error to report; all that was read is kept */
	e = pipeline_close(take_ptr(r->pipeline), &end, &out->counts, e_read < 0 ? NULL : err);
	if (r->cpu_account && !r->was_steered && e >= 0)
		e = cpu_account_write(r->cpu_account, r->dir, e_read < 0 ? NULL : err);
	out->size_bytes = r->written_bytes + file_tree_bytes(r->dir);
	out->aux_bytes = r->aux ? aux_bytes(r->aux) : 0;
	out->n_truncated = r->raw ? raw_truncated(r->raw) : 0;
	out->disk_waited_ns = r->raw ? raw_waited_ns(r->raw) : 0;
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
	recorder_close_trace(r);
	raw_abandon(r->raw);
	cpu_account_free(r->cpu_account);
	in_kernel_free(r->in_kernel);
	pid_namespace_free(r->pid_namespace);
	sampler_close(r->sampler);
	rings_close(r->rings);
	machine_free(r->machine);
	host_fini(&r->host);
	ext_close(r->ext);
	heap_free(r->heap);
	vec_fini(&r->cpus);
	vec_fini(&r->tids);
	free(r->counters.data);
	free(r->trace_cpus);
	free(r->dir);
	close_at_exit(&r->cgroup_fd);
	close_at_exit(&r->signal_fd);
	close_at_exit(&r->cpu_fd);
	close_at_exit(&r->wake_fd);
	sigprocmask(SIG_SETMASK, &r->old_mask, NULL);
}

int recorder_run(const struct recorder_config *config, struct recorder_result *out,
		 struct error *err)
{
	struct recorder r = { .config = config,
			      .result = out,
			      .cgroup_fd = -1,
			      .signal_fd = -1,
			      .cpu_fd = -1,
			      .wake_fd = -1,
			      .aux_wake_fd = -1,
			      .control = { .fd = -1 },
			      .has_pid_namespace = sources_pid_namespace(NULL),
			      .is_paused = config->starts_disabled,
			      .was_steered = config->starts_disabled };
	int e, e_run;

	assert(!config->filter || (config->whole_machine && config->in_kernel));
	assert(config->raw || (!config->keep_ns && !config->keep_bytes));
	*out = (struct recorder_result){ .wait_status = -1, .stacks = config->stacks };
	vec_reserve(&r.counters, config->counters->n);
	for (size_t i = 0; i < config->counters->n; i++)
		vec_push(&r.counters, config->counters->data[i]);
	pace_find(config->sources, &r.counters);
	if (config->in_kernel)
		counters_choose_in_kernel(&r.counters);
	r.for_rings = config->in_kernel ? counters_find_for_rings(&r.counters) : NULL;
	r.machine = machine_new(NULL);
	if (is_command_target(config))
		machine_trust_parents(r.machine);
	host_init(&r.host, config->counters, recorder_n_waits(config), config->alloc_mean_bytes);
	sigprocmask(SIG_SETMASK, NULL, &r.old_mask);
	e = ext_open(config->counters, config->sources, &r.ext, err);
	if (!e)
		e = recorder_start(&r, err);
	if (!e) {
		if (config->control && config->control->started)
			e_run = config->control->started(config->control->context, &r, err);
		else
			e_run = 0;
		if (e_run >= 0)
			e_run = record_loop(&r, err);
		e = recorder_finish(&r, e_run < 0 ? NULL : err);
		e = e_run < 0 ? e_run : e;
	}
	recorder_fini(&r);
	return e;
}
