/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's recording: begins it, watches it once a second, and begins it anew if needed. */
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "collect/sampler.h"
#include "counter/sources.h"
#include "daemon/closely.h"
#include "daemon/daemon_state.h"
#include "daemon/fleet_rate.h"
#include "daemon/file_system.h"
#include "daemon/memory_limit.h"
#include "daemon/notify.h"
#include "daemon/turnover.h"
#include "daemon/upkeep.h"
#include "pipeline/host.h"
#include "record/collector.h"
#include "store/store.h"

/* Intervals: checks of part, budget and disk; status lines for systemd. */
#define TICK_NS (NS_PER_SECOND / 2)
#define TOLD_NS (10 * NS_PER_SECOND)

/*
 * Memory for classes and tree. Each new process is a class: with 10,000 a minute, the memory is
 * full after five minutes, and a new file begins. The files grow by a hundredth; packing joins
 * them.
 */
#define TABLE_BYTES (4u << 20)

/* The events. */

static int daemon_choose_counters(struct daemon *d, struct error *err)
{
	static const struct counter_sources sources;
	struct counter_rate rate = { .freq_hz = d->rate_hz };
	struct counters counters = { 0 };
	int e = 0;

	d->event_note[0] = '\0';
	if (!d->settings.events.n)
		e = counter_default(&sources, &rate, &counters, d->event_note,
				    sizeof(d->event_note), err);
	for (size_t i = 0; i < d->settings.events.n && !e; i++)
		e = counter_parse(&sources, d->settings.events.data[i], &rate, &counters, err);
	if (e < 0) {
		counters_fini(&counters);
		return e;
	}
	counters_fini(&d->counters);
	d->counters = counters;
	return 0;
}

static bool collect_choose_sampler(struct daemon *d)
{
	static const struct counter_sources sources;
	char why[256];

	if (d->config->collector == COLLECT_PERF || d->no_sampler)
		return false;
	if (!counters_fit_sampler(&d->counters)) {
		log_info("tracepoints and other events with raw samples need rings");
		return false;
	}
	if (sampler_is_available(&sources, why, sizeof(why)))
		return true;
	log_info("%s: collecting through rings instead", why);
	return false;
}

static enum stack_source daemon_choose_stacks(const struct daemon *d)
{
	char why[256];

	if (!d->config->with_stacks)
		return STACKS_NONE;
	if (d->in_kernel)
		return sampler_can_unwind(why, sizeof(why)) ? STACKS_IN_KERNEL
							    : STACKS_FRAME_POINTERS;
	return counters_fit_copies(&d->counters) ? STACKS_COPIED : STACKS_FRAME_POINTERS;
}

uint64_t permitted_rate(uint64_t wanted_hz)
{
	static const struct counter_sources sources;
	uint64_t most = sources_max_rate(&sources);

	return most ? MIN(wanted_hz, most) : wanted_hz;
}

/* Writes the part's note: why it has these events, and how the rate changes. */
static void write_note(struct daemon *d)
{
	size_t n = (size_t)snprintf(d->note, sizeof(d->note), "%s", d->event_note);

	if (d->rate_hz < d->settings.freq_hz)
		snprintf(d->note + n, sizeof(d->note) - n,
			 "%ssampling at %" PRIu64 " Hz instead of %" PRIu64 "%s", n ? "; " : "",
			 d->rate_hz, d->settings.freq_hz, fleet_rate_reason(d));
}

/*
 * The kernel lowers the maximum rate when interrupts take long. The daemon follows with a warning.
 */
static void obey_kernel(struct daemon *d)
{
	uint64_t rate = permitted_rate(d->rate_hz);

	if (!d->n_parts || rate == d->rate_hz)
		return;
	log_warning("kernel.perf_event_max_sample_rate is %" PRIu64 ": sampling at that rate, "
		    "instead of %" PRIu64 " Hz",
		    rate, d->rate_hz);
	d->rate_hz = rate;
}

/* Parts. */

static void start_part_clock(struct daemon *d)
{
	d->part = (struct part_clock){ clock_wall_ns(), clock_monotonic_ns() };
	d->missed_part = NULL;
	d->n_parts++;
}

int begin_part(struct daemon *d, struct error *err)
{
	cleanup(free_at_exit) char *path = part_path(d->current, clock_wall_ns());
	int e;

	if (!d->recorder)
		return error_set(err, -EAGAIN, "counting is just beginning anew: try again");
	if (daemon_keeps_one(d))
		return recorder_flush(d->recorder, err);
	write_note(d);
	d->part_tried_ns = clock_monotonic_ns();
	e = recorder_switch(d->recorder, path, err);
	if (e < 0) {
		file_remove_tree(path, NULL);
		return e;
	}
	start_part_clock(d);
	return 0;
}

/* Begins a new part, or lets watch_part() try again. Losses by a full disk are reported elsewhere.
 */
static void try_part(struct daemon *d, const char *why)
{
	struct error err = { 0 };

	if (begin_part(d, &err) < 0) {
		d->missed_part = why;
		log_verbose("no new part (%s): %s", why, err.text);
	} else
		log_verbose("a new part (%s): %s", why, recorder_dir(d->recorder));
}

static void watch_part(struct daemon *d, uint64_t now_ns)
{
	enum part_due due = part_due(&d->part, d->pace.part_ns, clock_wall_ns(), now_ns);
	const char *why = d->missed_part;

	if (d->is_clock_set || due == PART_CLOCK_SET)
		why = "the clock was set, or the machine slept";
	else if (due == PART_IS_OVER)
		why = "its hour is over";
	if (!why || now_ns - d->part_tried_ns < MIN(d->pace.retry_ns, d->pace.part_ns))
		return;
	d->is_clock_set = false;
	try_part(d, why);
}

/* Rates. */

void renew(struct daemon *d)
{
	d->is_renewing = true;
	if (d->recorder)
		recorder_stop(d->recorder);
}

bool has_a_rate(const struct daemon *d)
{
	for (size_t i = 0; i < d->counters.n; i++)
		if (d->counters.data[i].attr.freq)
			return true;
	return false;
}

int set_rate(struct daemon *d, uint64_t rate_hz, struct error *err)
{
	int e = 0;

	if (!d->recorder)
		return error_set(err, -EAGAIN, "counting is just beginning anew: try again");
	for (size_t i = 0; i < d->counters.n && !e; i++)
		if (d->counters.data[i].attr.freq)
			e = recorder_set_rate(d->recorder, (uint32_t)i, rate_hz, err);
	if (e < 0 && e != -E2BIG)
		return e;
	d->rate_hz = rate_hz;
	if (e == -E2BIG) {
		renew(d);
		return 0;
	}
	/* The rate changes even if a new part has no room. */
	try_part(d, "another rate");
	return 0;
}

void change_rate(struct daemon *d, uint64_t rate_hz, const char *why)
{
	struct error err = { 0 };
	bool is_lower = rate_hz < d->rate_hz;
	uint64_t before = d->rate_hz;

	if (set_rate(d, rate_hz, &err) < 0) {
		log_warning("cannot change the rate: %s", err.text);
		return;
	}
	d->n_rate_changes++;
	recorder_note(d->recorder, is_lower ? LOSS_RATE_LOWERED : LOSS_RATE_RAISED, UINT32_MAX, 1);
	log_warning("%s: sampling at %" PRIu64 " Hz instead of %" PRIu64 "%s", why, rate_hz, before,
		    rate_hz < d->settings.freq_hz ? "" : ", as requested");
}

static void watch_cpu(struct daemon *d, const struct recorder_stats *stats, uint64_t now_ns)
{
	char why[128];
	uint64_t rate, wanted = fleet_rate_wanted(d);

	if (!d->is_budget_begun) {
		if (now_ns - d->started_ns < d->pace.settle_ns)
			return;
		budget_begin(&d->budget, d->settings.max_cpu_percent, now_ns, stats->own_cpu_ns);
		d->is_budget_begun = true;
	}
	if (wanted > d->rate_hz)
		wanted = MAX(permitted_rate(wanted), d->rate_hz);
	rate = budget_rate(&d->budget, now_ns, stats->own_cpu_ns, d->rate_hz, wanted);
	if (rate == d->rate_hz || !has_a_rate(d))
		return;
	if (d->rate_hz > wanted)
		snprintf(why, sizeof(why), "%s asks for it",
			 wanted < d->settings.freq_hz ? "the fleet" : "the daemon's setting");
	else if (rate > d->rate_hz)
		snprintf(why, sizeof(why), "there is room in the daemon's budget");
	else
		snprintf(why, sizeof(why), "the daemon used %.2f %% of a CPU, of %.2f %% at most",
			 d->budget.cpu_percent, d->settings.max_cpu_percent);
	change_rate(d, rate, why);
}

/* In months, or beside a program that makes files without end, the numbers of files are used up. */
static void watch_files(struct daemon *d, const struct recorder_stats *stats, uint64_t now_ns)
{
	if (!stats->is_full_of_files || now_ns - d->started_ns < d->pace.renew_ns)
		return;
	log_warning("the sampler has met too many files: counting begins anew");
	renew(d);
}

/* The disk. */

static void watch_disk(struct daemon *d, const struct recorder_stats *stats)
{
	uint64_t lost = stats->losses[LOSS_DISK_FULL];

	if (!stats->write_error && !d->is_write_failing)
		d->lost_before_failure = lost;
	if (stats->write_error && !d->is_write_failing) {
		log_error("%s: %s", stats->write_error->text,
			  daemon_keeps_one(d) ? "samples of new code are lost until this ends"
					      : "nothing is stored until this ends; samples "
						"are lost meanwhile");
	} else if (!stats->write_error && d->is_write_failing) {
		log_warning("writing again: %" PRIu64 " samples were lost",
			    lost - d->lost_before_failure);
		d->lost_before_failure = lost;
	}
	d->is_write_failing = stats->write_error != NULL;
}

/* The history. */

void keep_reading(struct daemon *d)
{
	if (d->recorder)
		recorder_keep_up(d->recorder);
}

static void read_meanwhile(void *context)
{
	keep_reading(context);
}

void stop_upkeep(struct daemon *d)
{
	upkeep_end(d->upkeep, read_meanwhile, d);
	d->upkeep = 0;
}

static void daemon_start_upkeep(struct daemon *d, uint64_t now_ns)
{
	const char *active = strrchr(recorder_dir(d->recorder), '/') + 1;
	struct error err = { 0 };

	d->upkept_ns = now_ns;
	d->upkept_parts = d->n_parts;
	d->upkeep = upkeep_start(d->current, active, &d->settings, d->is_upkeep_late, &err);
	if (d->upkeep < 0) {
		log_error("%s", err.text);
		d->upkeep = 0;
	}
}

/*
 * Starts one upkeep process at a time: soon after the end of a part, and in intervals. One that is
 * still there when the next one is due gets no time, because of its priority.
 */
static void watch_history(struct daemon *d, uint64_t now_ns)
{
	uint64_t since = now_ns - (d->upkept_ns ? d->upkept_ns : d->start_ns);
	bool is_due = since >= d->pace.upkeep_ns ||
		      (d->upkept_parts != d->n_parts && since >= d->pace.settle_ns);

	if (d->upkeep && upkeep_reap(d->upkeep)) {
		d->upkeep = 0;
		d->is_upkeep_late = false;
	}
	if (d->upkeep && !d->is_upkeep_late && since >= d->pace.upkeep_ns) {
		log_verbose("the upkeep of the history gets no time: it begins anew at an "
			    "ordinary priority");
		stop_upkeep(d);
		d->is_upkeep_late = true;
	}
	if (!d->upkeep && is_due)
		daemon_start_upkeep(d, now_ns);
}

/* The opener. */

static void watch_opener(struct daemon *d)
{
	struct opener_state now = opener_state();

	if (now.n_died != d->opener.n_died)
		log_warning("the opener of files died (%u times so far) and starts again: names "
			    "may be missing",
			    now.n_died);
	d->opener = now;
	if (d->keeper > 0 && waitpid(d->keeper, NULL, WNOHANG) == d->keeper) {
		log_error("the process that keeps the daemon's rights died: from now on, names "
			  "come only from files that the daemon's user can read; a restart of the "
			  "daemon mends this");
		d->keeper = 0;
	}
}

/* Callbacks of the recorder. */

static void tell_parent(struct daemon *d, const char *text)
{
	if (d->parent_fd < 0)
		return;
	(void)!write(d->parent_fd, text, strlen(text) + 1);
	close(d->parent_fd);
	d->parent_fd = -1;
}

static int daemon_on_started(void *context, struct recorder *r, struct error *err)
{
	struct daemon *d = context;

	(void)err;
	d->recorder = r;
	d->started_ns = clock_monotonic_ns();
	d->is_budget_begun = false;
	d->is_write_failing = false;
	d->lost_before_failure = 0;
	if (d->mounted)
		daemon_file_system->set_machine(d->mounted, recorder_machine(r));
	if (d->n_parts) /* not the first part */
		recorder_note(r, LOSS_RENEWED, UINT32_MAX, 1);
	start_part_clock(d);
	if (d->has_before) {
		daemon_settings_fini(&d->before);
		d->has_before = false;
	}
	log_info("collecting %s, stacks by %s%s, into %s",
		 d->in_kernel ? "in the kernel" : "through rings", stack_source_texts[d->stacks],
		 d->settings.has_exact_times ? ", with exact times" : "", daemon_show_part(d));
	if (d->note[0])
		log_info("%s", d->note);
	tell_parent(d, "");
	notify_service("READY=1\nSTATUS=collecting into %s", daemon_show_part(d));
	return 0;
}

static int serve_sources(struct daemon *d, int wait_ms, struct error *err)
{
	struct epoll_event events[DAEMON_SOURCES];
	int n = epoll_wait(d->epoll_fd, events, DAEMON_SOURCES, wait_ms), e = 0;

	for (int i = 0; i < n && e >= 0; i++) {
		/* An earlier callback may have dropped it. */
		const struct daemon_source *s = &d->sources[events[i].data.u32];

		if (s->fd >= 0)
			e = s->ready(s->context, err);
	}
	return MIN(e, 0);
}

static int daemon_on_ready(void *context, struct recorder *r, struct error *err)
{
	(void)r;
	return serve_sources(context, 0, err);
}

static void tell_service(struct daemon *d, const struct recorder_stats *stats, uint64_t now_ns)
{
	uint64_t watchdog = notify_watchdog_ns();

	if (watchdog && now_ns - d->watchdog_ns >= watchdog / 2) {
		d->watchdog_ns = now_ns;
		notify_service("WATCHDOG=1");
	}
	if (now_ns - d->told_ns < TOLD_NS)
		return;
	d->told_ns = now_ns;
	notify_service("STATUS=%s%" PRIu64 " samples at %" PRIu64 " Hz, %.2f %% of a CPU, %.1f MiB",
		       d->is_write_failing ? "cannot write: "
		       : d->is_paused      ? "paused: "
					   : "",
		       d->before_totals.samples + stats->counts.samples, d->rate_hz,
		       d->budget.cpu_percent, (double)stats->own_bytes / 1048576);
}

static int daemon_on_tick(void *context, struct recorder *r, uint64_t now_ns, struct error *err)
{
	struct daemon *d = context;
	struct recorder_stats stats;

	(void)err;
	real_time_guard_look(&d->real_time);
	if (d->mounted)
		daemon_file_system->turn(d->mounted);
	if (d->is_ending)
		recorder_stop(r);
	if (!d->is_clock_set && now_ns - d->ticked_ns < TICK_NS)
		return 0;
	d->ticked_ns = now_ns;
	go_on_reloading(d);
	recorder_stats(r, &stats);
	if (daemon_keeps_one(d)) {
		watch_size(d, stats.grown_bytes, now_ns);
	} else {
		watch_part(d, now_ns);
		watch_history(d, now_ns);
	}
	watch_disk(d, &stats);
	if (!closely_goes_on(d, now_ns)) {
		fleet_rate_watch(d, now_ns);
		watch_cpu(d, &stats, now_ns);
	}
	memory_limit_watch(d, stats.own_bytes, now_ns);
	watch_files(d, &stats, now_ns);
	watch_opener(d);
	tell_service(d, &stats, now_ns);
	return 0;
}

static int on_hangup(void *context, struct recorder *r, struct error *err)
{
	(void)r, (void)err;
	begin_reload(context);
	return 0;
}

/* One recording. */

/* Only a full disk loses samples at the end of a session, which comes after keep_tallies(). */
static void add_totals(struct daemon *d, const struct recorder_result *result)
{
	uint64_t lost = result->counts.lost;

	d->before_totals.losses[LOSS_DISK_FULL] += lost - MIN(d->lost_until_end, lost);
	d->before_totals.samples += result->counts.samples;
	d->before_totals.lost += result->counts.lost;
	d->before_totals.unattributed += result->counts.unattributed;
}

/* Adds a recorder's counts by reason and by CPU to the totals before it ends. */
static void keep_tallies(struct daemon *d, struct recorder *r)
{
	struct recorder_stats stats;

	recorder_stats(r, &stats);
	d->lost_until_end = stats.counts.lost;
	d->before_totals.written_bytes += recorder_written_bytes(r);
	d->written_ns = d->written_bytes = 0;
	d->before_totals.own_cpu_ns = stats.own_cpu_ns;
	d->before_totals.own_bytes = stats.own_bytes;
	for (int i = 0; i < N_LOSS_REASONS; i++)
		d->before_totals.losses[i] += stats.losses[i];
	while (d->before_totals.cpu_samples.n < stats.n_cpus)
		vec_push(&d->before_totals.cpu_samples, 0);
	while (d->before_totals.cpu_losses.n < d->before_totals.cpu_samples.n)
		vec_push(&d->before_totals.cpu_losses, 0);
	recorder_add_cpu_losses(r, d->before_totals.cpu_losses.data, d->before_totals.cpu_losses.n);
	for (size_t i = 0; i < stats.n_cpus; i++)
		d->before_totals.cpu_samples.data[i] += stats.cpu_samples[i];
}

static void on_ended(void *context, struct recorder *r)
{
	struct daemon *d = context;

	keep_tallies(d, r);
	if (d->mounted)
		daemon_file_system->set_machine(d->mounted, NULL);
	d->recorder = NULL;
}

static int daemon_record(struct daemon *d, struct recorder_result *result, struct error *err)
{
	static const struct counter_sources sources;
	static const struct pid_list none;
	static const struct cpu_list all;
	cleanup(free_at_exit) char *path = part_path(d->current, clock_wall_ns());
	struct recorder_control control = {
		.started = daemon_on_started,
		.ready = daemon_on_ready,
		.tick = daemon_on_tick,
		.hangup = on_hangup,
		.ended = on_ended,
		.fd = d->epoll_fd,
		.context = d,
	};
	struct recorder_config config = {
		.ops = d->config->store,
		.continues = daemon_keeps_one(d),
		.merged = d->config->merged,
		.table_bytes = TABLE_BYTES,
		.writes_behind = true,
		.exact_times = d->settings.has_exact_times,
		.dir = daemon_keeps_one(d) ? d->dir : path,
		.names_dir = d->names,
		.version = d->config->version,
		.counters = &d->counters,
		.sources = &sources,
		.note = d->note,
		.in_kernel = d->in_kernel,
		.stacks = d->stacks,
		.off_cpu = d->config->off_cpu,
		.off_cpu_min_ns = d->config->off_cpu_min_ns,
		.off_cpu_percent = d->settings.max_cpu_percent / 2,
		.is_stacks_wish = true,
		.pids = &none,
		.tids = &none,
		.whole_machine = true,
		.cpus = &all,
		.control = &control,
		.starts_disabled = d->is_paused,
	};
	int e;

	d->is_renewing = false;
	d->lost_until_end = 0;
	e = recorder_run(&config, result, err);
	add_totals(d, result);
	if (*result->features)
		log_info("%s", result->features);
	return e;
}

static int daemon_begin(struct daemon *d, struct recorder_result *result, struct error *err)
{
	int e = d->config->off_cpu ? collector_check_waits(d->no_sampler, err) : 0;

	obey_kernel(d);
	if (e < 0 || (e = daemon_choose_counters(d, err)) < 0)
		return e;
	write_note(d);
	d->in_kernel = collect_choose_sampler(d);
	if (!d->in_kernel && d->config->collector == COLLECT_BPF)
		return error_set(err, -EPERM,
				 "--collector=bpf: the in-kernel sampler is not possible");
	d->stacks = daemon_choose_stacks(d);
	return daemon_record(d, result, err);
}

/*
 * Waits before the next attempt. Requests are answered; signals other than the end wait for the
 * next recording.
 */
static void wait_for_retry(struct daemon *d)
{
	uint64_t until = clock_monotonic_ns() + d->pace.retry_ns, now;
	sigset_t pending;

	while (!d->is_ending && (now = clock_monotonic_ns()) < until) {
		serve_sources(d, (int)MIN((until - now) / 1000000 + 1, 1000u), NULL);
		sigpending(&pending);
		if (sigismember(&pending, SIGTERM) || sigismember(&pending, SIGINT))
			d->is_ending = true;
		if (notify_watchdog_ns())
			notify_service("WATCHDOG=1");
	}
}

static void go_back_to_old_events(struct daemon *d, const struct error *err)
{
	log_error("%s: the old events continue", err->text);
	daemon_settings_fini(&d->settings);
	d->settings = d->before;
	d->before = (struct daemon_settings){ 0 };
	d->has_before = false;
}

/* True: try again. False: the daemon ends; *err is set if that was not requested. */
static bool daemon_goes_on(struct daemon *d, int e, const struct recorder_result *result,
			   struct error *err)
{
	bool has_collected = result->duration_ns > 0;

	if (d->is_ending || (has_collected && result->end == END_SIGNAL) ||
	    (e >= 0 && !d->is_renewing))
		return false;
	if (has_collected && d->is_renewing)
		return true;
	if (!has_collected && d->in_kernel && result->has_sampler_failed &&
	    d->config->collector == COLLECT_BEST && !d->config->off_cpu) {
		log_warning("%s: collecting through rings instead", err->text);
		d->no_sampler = true;
		return true;
	}
	if (!has_collected && d->has_before) {
		go_back_to_old_events(d, err);
		return true;
	}
	if (!d->n_parts) /* it never counted: report the error to the caller */
		return false;
	log_error("%s: the next attempt is in %d s", err->text,
		  (int)(d->pace.retry_ns / NS_PER_SECOND));
	wait_for_retry(d);
	return !d->is_ending;
}

int daemon_collect(struct daemon *d, struct error *err)
{
	struct recorder_result result;
	struct error why;
	int e;

	do {
		result = (struct recorder_result){ 0 };
		why = (struct error){ 0 };
		e = daemon_begin(d, &result, &why);
		malloc_trim(0);
	} while (daemon_goes_on(d, e, &result, &why));
	/* Write errors were reported when they happened. */
	if (e < 0 && d->n_parts)
		e = 0;
	if (e < 0)
		*err = why;
	return e;
}
