/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/thread.h"
#include "daemon/actions.h"
#include "daemon/closely.h"
#include "daemon/confine.h"
#include "daemon/daemon_state.h"
#include "daemon/file_system.h"
#include "daemon/keeper.h"
#include "daemon/notify.h"
#include "daemon/place.h"
#include "daemon/privilege.h"
#include "daemon/service.h"
#include "guard/parser_starter.h"
#include "machine/vdso32.h"
#include "open/lock.h"
#include "pipeline/host.h"

/* That a parser may use for a trusted file; one of others may use less (parser_be_modest()). */
#define DAEMON_PARSER_BYTES ((uint64_t)256 << 20)

/* With --max-memory, at most two thirds of it: the daemon needs the rest for itself. */
static uint64_t bytes_of_parser(const struct daemon *d)
{
	uint64_t limit = d->settings.max_bytes;

	return limit ? MIN(limit / 3 * 2, DAEMON_PARSER_BYTES) : DAEMON_PARSER_BYTES;
}

void daemon_settings_fini(struct daemon_settings *s)
{
	vec_foreach (&s->events, event)
		free(*event);
	vec_fini(&s->events);
}

/*
 * Arms a timer that never expires, on the wall clock. Reading it fails when the clock was set or
 * the machine slept, and that wakes us at once (timerfd_create(2), TFD_TIMER_CANCEL_ON_SET).
 */
static void arm_clock(const struct daemon *d)
{
	struct itimerspec never = { .it_value.tv_sec = INT32_MAX };
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (now.tv_sec >= INT32_MAX / 2)
		never.it_value.tv_sec = now.tv_sec + INT32_MAX;
	timerfd_settime(d->clock_fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
}

static int clock_was_set(void *context, struct error *err)
{
	struct daemon *d = context;
	uint64_t n;

	(void)err;
	if (read(d->clock_fd, &n, sizeof(n)) < 0 && errno == ECANCELED)
		d->is_clock_set = true;
	arm_clock(d);
	return 0;
}

static int daemon_open_sources(struct daemon *d, struct error *err)
{
	d->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	d->clock_fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (d->epoll_fd < 0 || d->clock_fd < 0)
		return error_errno(err, -errno, "cannot watch the clock");
	arm_clock(d);
	return daemon_add_source(d, d->clock_fd, clock_was_set, d, err);
}

/* Reloading. */

static bool has_same_events(const struct daemon_settings *a, const struct daemon_settings *b)
{
	if (a->events.n != b->events.n)
		return false;
	for (size_t i = 0; i < a->events.n; i++)
		if (strcmp(a->events.data[i], b->events.data[i]) != 0)
			return false;
	return true;
}

static int take_settings(struct daemon *d, struct daemon_settings *next, struct error *err)
{
	bool has_new_events = !has_same_events(next, &d->settings);
	bool has_new_rate = next->freq_hz != closely_freq_before(d);
	/* The sampler in the kernel is loaded with times or without, and with the share of waits.
	 */
	bool has_new_sampler =
		next->has_exact_times != d->settings.has_exact_times ||
		(d->config->off_cpu && next->max_cpu_percent != d->settings.max_cpu_percent);
	int e = 0;

	d->settings.max_cpu_percent = next->max_cpu_percent;
	d->settings.max_bytes = next->max_bytes;
	d->settings.keep_age_s = next->keep_age_s;
	d->settings.keep_bytes = next->keep_bytes;
	d->settings.has_exact_times = next->has_exact_times;
	d->settings.exact_age_s = next->exact_age_s;
	d->settings.allows_record = next->allows_record;
	d->settings.follows_fleet = next->follows_fleet;
	d->is_budget_begun = false;
	if (has_new_events) {
		uint64_t before;

		closely_end(d);
		before = d->settings.freq_hz;
		d->settings.freq_hz = next->freq_hz;
		e = daemon_set_events(d, (const char *const *)next->events.data, next->events.n,
				      err);
		if (e < 0)
			d->settings.freq_hz = before;
		return e;
	}
	if (has_new_rate)
		e = daemon_set_rate(d, next->freq_hz, err);
	else if (d->recorder && !has_new_sampler)
		e = begin_part(d, err);
	if (has_new_sampler)
		renew(d);
	return e;
}

static void reopen_log(const struct daemon *d)
{
	int e = d->config->detach ? log_to_file(d->log) : 0;

	if (e < 0)
		log_error("%s: %s: the log stays in its old file", d->log, strerror(-e));
}

void begin_reload(struct daemon *d)
{
	notify_reloading(clock_monotonic_ns());
	reopen_log(d);
	d->is_reload_due = true;
	go_on_reloading(d);
	if (d->is_reload_due)
		log_info("the settings are read as soon as the disk has stored the earlier data");
}

void go_on_reloading(struct daemon *d)
{
	struct daemon_settings next = { 0 };
	struct error err = { 0 };
	int e;

	if (!d->is_reload_due)
		return;
	if (d->config->load(d->config->context, &next, &err) < 0) {
		log_error("%s: the settings stay as they are", err.text);
		e = 0;
	} else {
		e = take_settings(d, &next, &err);
		if (!e)
			log_info("the settings were read again");
		else if (e != -EAGAIN)
			log_error("%s", err.text);
	}
	daemon_settings_fini(&next);
	d->is_reload_due = e == -EAGAIN;
	if (!d->is_reload_due)
		notify_service("READY=1");
}

/* ---- into the background ---- */

/* In the parent: waits until the daemon counts or reports an error. */
static int await_child(int fd, struct error *err)
{
	char text[sizeof(err->text)] = "";
	size_t n = 0;
	ssize_t got;

	while (n < sizeof(text) - 1 && (got = read(fd, text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	close(fd);
	if (!n)
		return error_set(err, -ECHILD, "the daemon ended before it began to collect");
	return text[0] ? error_set(err, -EIO, "%s", text) : 0;
}

/* Returns 1 in the calling process, with the daemon's result in *err, and 0 in the daemon. */
static int detach(struct daemon *d, struct error *err)
{
	int ends[2], null;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_errno(err, -errno, "pipe");
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return error_errno(err, -errno, "fork");
	if (pid) {
		int e;

		close(ends[1]);
		e = await_child(ends[0], err);
		return e < 0 ? e : 1;
	}
	close(ends[0]);
	d->parent_fd = ends[1];
	setsid();
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		close(null);
	}
	return 0;
}

static void daemon_report_failure(struct daemon *d, const struct error *err)
{
	if (d->parent_fd < 0)
		return;
	(void)!write(d->parent_fd, err->text, strlen(err->text) + 1);
}

static void daemon_tidy_parts(const struct daemon *d)
{
	struct error err = { 0 };
	int n = parts_tidy(d->current, &err);

	if (n < 0)
		log_warning("%s", err.text);
	else if (n)
		log_info("the previous daemon was killed: its samples are here up to its last "
			 "second");
}

static void daemon_block_signals(sigset_t *old)
{
	sigset_t mask;

	/* Between two recordings, these signals wait for the next one. */
	sigemptyset(&mask);
	sigaddset(&mask, SIGHUP);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigprocmask(SIG_BLOCK, &mask, old);
}

void daemon_end_keeper(struct daemon *d)
{
	keeper_end(d->keeper);
	d->keeper = 0;
}

static void unmount(struct daemon *d)
{
	if (d->mounted)
		daemon_file_system->close(take_ptr(d->mounted));
}

static void daemon_fini(struct daemon *d)
{
	service_close(d->service);
	unmount(d);
	parser_end_children();
	parser_starter_finish(d->starter);
	daemon_end_keeper(d);
	daemon_settings_fini(&d->settings);
	if (d->has_before)
		daemon_settings_fini(&d->before);
	counters_fini(&d->counters);
	vec_fini(&d->before_totals.cpu_samples);
	vec_fini(&d->shown.cpu_samples);
	vec_fini(&d->before_totals.cpu_losses);
	vec_fini(&d->shown.cpu_losses);
	vec_fini(&d->event_names);
	close_at_exit(&d->clock_fd);
	close_at_exit(&d->epoll_fd);
	close_at_exit(&d->lock_fd);
	close_at_exit(&d->parent_fd);
	free(d->samples);
	free(d->current);
	free(d->names);
	free(d->log);
	free(d->shown_part);
}

static void report_user(const struct daemon *d)
{
	struct daemon_settings settings = { 0 };
	struct error err = { 0 };

	if (d->user.why_not)
		log_warning("the daemon stays root, because %s", d->user.why_not);
	if (d->user.is_other && d->config->load(d->config->context, &settings, &err) < 0)
		log_warning("%s: the daemon runs as user '" DAEMON_USER "' and can't read its "
			    "settings again",
			    err.text);
	daemon_settings_fini(&settings);
}

/* A daemon with more rights than an ordinary user's has processes without rights, which parse. */
static int start_parsers(struct daemon *d, struct error *err)
{
	if (!privilege_check_opener())
		return 0;
	parser_use_children(bytes_of_parser(d));
	parser_be_modest();
	d->starter = parser_starter_begin(err);
	return MIN(d->starter, 0);
}

static int serve(struct daemon *d, struct error *err)
{
	int e;

	if ((e = lock_write_pid(d->lock_fd, getpid(), err)) < 0 ||
	    (e = daemon_open_sources(d, err)) < 0 ||
	    (e = service_open(d, d->dir, d->config->metrics_listen, &d->service, err)) < 0)
		return e;
	e = user_step_up(&d->user, err);
	if (e < 0)
		return e;
	if (d->config->oprofilefs && daemon_file_system)
		d->mounted = daemon_file_system->open(d, d->config->oprofilefs);
	privilege_go_first();
	e = start_parsers(d, err);
	if (e < 0)
		return e;
	e = d->keeper = keeper_start(&d->user, d->mounted ? d->config->oprofilefs : NULL, err);
	real_time_guard_begin(&d->real_time);
	if (e >= 0)
		e = privilege_drop(ROLE_DAEMON, &d->user, false, err);
	vdso32_build_id(); /* a confined daemon may not ask for it */
	if (e >= 0)
		e = d->fence_version = confine_daemon(d->dir, d->keeper > 0, err);
	if (e < 0)
		return e;
	report_user(d);
	daemon_tidy_parts(d);
	e = daemon_collect(d, err);
	stop_upkeep(d);
	service_close(take_ptr(d->service));
	unmount(d);
	daemon_end_keeper(d);
	notify_service("STOPPING=1");
	if (!e)
		log_info("the daemon ends");
	return e;
}

/*
 * Large tables are mapped, so that growing returns the old memory to the system. Without this, 11
 * of 48 MB were holes after half an hour. The recording thread has a heap of its own: a lock of
 * malloc has no priority inheritance (thread_init_lock()).
 */
enum { HEAPS = 8 };

static void keep_heap_small(void)
{
	mallopt(M_MMAP_THRESHOLD, 256 << 10);
	mallopt(M_ARENA_MAX, HEAPS);
}

int daemon_run(const struct daemon_config *config, struct error *err)
{
	struct daemon d = {
		.config = config,
		.lock_fd = -1,
		.clock_fd = -1,
		.epoll_fd = -1,
		.parent_fd = -1,
		.user = daemon_user_find(),
		.start_wall_ns = clock_wall_ns(),
		.start_ns = clock_monotonic_ns(),
		.is_paused = config->starts_disabled,
		.pace = daemon_pace(getenv("ASSAY_DAEMON_PACE")),
	};
	sigset_t old;
	int e;

	for (int i = 0; i < DAEMON_SOURCES; i++)
		d.sources[i].fd = -1;
	keep_heap_small();
	e = config->load(config->context, &d.settings, err);
	d.rate_hz = d.settings.freq_hz;
	if (!e)
		e = place_make(&d, err);
	if (!e && config->detach)
		e = detach(&d, err);
	if (!e) {
		daemon_block_signals(&old);
		if (config->detach)
			e = log_to_file(d.log);
		if (e < 0)
			error_errno(err, e, "cannot write %s", d.log);
		else
			e = serve(&d, err);
		sigprocmask(SIG_SETMASK, &old, NULL);
		if (e < 0)
			daemon_report_failure(&d, err);
	}
	daemon_fini(&d);
	return MIN(e, 0);
}
