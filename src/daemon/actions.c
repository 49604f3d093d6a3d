/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/actions.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "daemon/closely.h"
#include "daemon/daemon_state.h"
#include "daemon/turnover.h"
#include "pipeline/host.h"
#include "store/history/history.h"
#include "store/history/retention.h"
#include "store/sharing.h"
#include "store/store.h"

/* The interval between two measurements of the written bytes. */
#define WRITTEN_NS NS_PER_SECOND

static int no_recorder(struct error *err)
{
	return error_set(err, -EAGAIN, "counting is just beginning anew: try again");
}

int daemon_start(struct daemon *d, struct error *err)
{
	int e = d->recorder ? recorder_enable(d->recorder, err) : 0;

	if (e < 0)
		return e;
	if (d->is_paused)
		log_info("counting goes on");
	d->is_paused = false;
	return 0;
}

int daemon_stop(struct daemon *d, struct error *err)
{
	if (!d->is_paused)
		log_info("counting is paused");
	d->is_paused = true;
	if (!d->recorder)
		return 0;
	recorder_disable(d->recorder);
	return recorder_flush(d->recorder, err);
}

int daemon_dump(struct daemon *d, struct error *err)
{
	return d->recorder ? recorder_flush(d->recorder, err) : no_recorder(err);
}

/* Visits each part except the one that is being written. */
static int each_old_part(struct daemon *d,
			 int (*visit)(void *context, const char *path, const char *name,
				      struct error *err),
			 void *context, struct error *err)
{
	const char *now = strrchr(recorder_dir(d->recorder), '/') + 1;
	struct history_names names = { 0 };
	int e = history_list(d->current, &names);

	if (e < 0)
		return error_errno(err, e, "cannot read %s", d->current);

	for (size_t i = 0; i < names.n && e >= 0; i++) {
		cleanup(free_at_exit) char *path = xasprintf("%s/%s", d->current, names.data[i]);

		if (strcmp(names.data[i], now) != 0)
			e = visit(context, path, names.data[i], err);
		keep_reading(d);
	}
	history_names_fini(&names);
	return MIN(e, 0);
}

/*
 * Takes the history's lock. Ends our own upkeep for it, which can begin again; does not wait for a
 * merge that a user started.
 */
static int take_history(struct daemon *d, struct error *err)
{
	stop_upkeep(d);
	return history_lock(d->current, false, err);
}

static int remove_part(void *context, const char *path, const char *name, struct error *err)
{
	(void)context, (void)name;
	return file_remove_tree(path, err);
}

/* Drops a session that goes on, or keeps it: `there` is where its folder moves first. */
static int leave_session(struct daemon *d, const char *there, struct error *err)
{
	struct error why = { 0 };

	stop_upkeep(d);
	if (!d->recorder)
		return no_recorder(err);
	if (recorder_leave(d->recorder, &why) < 0)
		log_warning("%s", why.text); /* as on a full disk: the rest moves */
	if (rename(d->current, there) < 0 && errno != ENOENT)
		return error_errno(err, -errno, "cannot rename %s to %s", d->current, there);
	return 0;
}

static int reset_session(struct daemon *d, struct error *err)
{
	cleanup(free_at_exit) char *dropped = xasprintf("%s/" DROPPED_NAME, d->samples);
	int e;

	file_remove_tree(dropped, NULL); /* of a daemon that was killed here */
	e = leave_session(d, dropped, err);
	if (e < 0)
		return e;
	log_info("reset: the samples so far are dropped");
	return access(dropped, F_OK) < 0 ? 0 : file_remove_tree(dropped, err);
}

int daemon_turn_over(struct daemon *d, struct error *err)
{
	cleanup(free_at_exit) char *dropped = xasprintf("%s/" DROPPED_NAME, d->samples);
	cleanup(free_at_exit) char *there = xasprintf("%s/" TURNOVER_NAME, d->samples);
	int e;

	if (rename(there, dropped) < 0 && errno != ENOENT)
		return error_errno(err, -errno, "cannot rename %s to %s", there, dropped);
	e = leave_session(d, there, err);
	if (!e)
		log_info("the samples have reached their size, and are in %s now", there);
	return e;
}

static int reset_history(struct daemon *d, struct error *err)
{
	cleanup(close_at_exit) int lock = take_history(d, err);
	int e = lock < 0 ? lock : begin_part(d, err);

	if (e < 0)
		return e;
	log_info("reset: the samples so far are dropped");
	return each_old_part(d, remove_part, NULL, err);
}

int daemon_reset(struct daemon *d, struct error *err)
{
	return daemon_keeps_one(d) ? reset_session(d, err) : reset_history(d, err);
}

static int check_name(const struct daemon *d, const char *name, struct error *err)
{
	if (daemon_keeps_one(d) && !strcmp(name, TURNOVER_NAME))
		return error_set(err, -EINVAL,
				 "'" TURNOVER_NAME
				 "' is where the daemon moves large samples: use another name");
	if (!*name || *name == '.' || strchr(name, '/') || strlen(name) > 200 ||
	    !strcmp(name, "current"))
		return error_set(err, -EINVAL,
				 "'%s' cannot name a history: use a file name without a dot in "
				 "front, other than 'current'",
				 name);
	return 0;
}

static int move_part(void *context, const char *path, const char *name, struct error *err)
{
	cleanup(free_at_exit) char *there = xasprintf("%s/%s", (const char *)context, name);

	return rename(path, there) < 0
		       ? error_errno(err, -errno, "cannot rename %s to %s", path, there)
		       : 0;
}

/* Moves whole parts. So after a crash in between, each part is in one of the two histories. */
int daemon_save(struct daemon *d, const char *name, struct error *err)
{
	cleanup(free_at_exit) char *there = xasprintf("%s/%s", d->samples, name);
	cleanup(close_at_exit) int lock = -1;
	struct sharing sharing;
	int e = check_name(d, name, err);

	/* Check before anything is made: a slow disk may block us, too. */
	if (!e && access(there, F_OK) == 0)
		e = error_set(err, -EEXIST, "there is a history '%s' already", name);
	if (!e && daemon_keeps_one(d)) {
		e = leave_session(d, there, err);
		if (!e)
			log_info("save: the samples so far are in %s", there);
		return e;
	}
	if (!e)
		e = d->recorder ? recorder_check_switch(d->recorder, err) : no_recorder(err);
	if (e < 0)
		return e;
	lock = take_history(d, err);
	if (lock < 0)
		return lock;
	if (mkdir(there, 0700) < 0)
		return errno == EEXIST
			       ? error_set(err, -EEXIST, "there is a history '%s' already", name)
			       : error_errno(err, -errno, "cannot create %s", there);
	sharing = sharing_below(d->samples);
	sharing_give_dir(&sharing, there);
	e = begin_part(d, err);
	if (e < 0) {
		rmdir(there);
		return e;
	}
	log_info("save: the samples so far are in %s", there);
	return each_old_part(d, move_part, there, err);
}

/* Histories. */

static int history_compare_names(const void *a, const void *b)
{
	const struct daemon_history *x = a, *y = b;
	bool is_x = !strcmp(x->name, "current"), is_y = !strcmp(y->name, "current");

	return is_x || is_y ? is_y - is_x : strcmp(x->name, y->name);
}

/* By its files; a folder without any is of the daemon's own store. */
static const char *store_of(const struct daemon *d, const char *path, uint32_t n_parts)
{
	for (size_t i = 0; store_kinds[i] && !n_parts; i++)
		if (store_kinds[i]->is_at && store_kinds[i]->is_at(path))
			return store_kinds[i]->name;
	return n_parts ? "native" : d->config->store->name;
}

static uint32_t count_parts(const char *dir)
{
	struct history_names names = { 0 };
	uint32_t n;

	history_list(dir, &names);
	n = (uint32_t)names.n;
	history_names_fini(&names);
	return n;
}

int daemon_list(struct daemon *d, struct daemon_histories *out, struct error *err)
{
	DIR *dir = opendir(d->samples);

	if (!dir)
		return error_errno(err, -errno, "cannot read %s", d->samples);
	for (struct dirent *entry; (entry = readdir(dir));) {
		cleanup(free_at_exit) char *path = xasprintf("%s/%s", d->samples, entry->d_name);
		struct stat st;
		uint32_t n_parts;

		if (entry->d_name[0] == '.' || lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
			continue;
		n_parts = count_parts(path);
		vec_push(out, (struct daemon_history){
				      .name = xstrdup(entry->d_name),
				      .store = store_of(d, path, n_parts),
				      .n_parts = n_parts,
				      .size_bytes = n_parts ? file_tree_bytes(path)
							    : file_tree_disk_bytes(path) });
		keep_reading(d);
	}
	closedir(dir);
	if (out->n)
		qsort(out->data, out->n, sizeof(*out->data), history_compare_names);
	return 0;
}

void daemon_histories_fini(struct daemon_histories *l)
{
	vec_foreach (l, history)
		free(history->name);
	vec_fini(l);
}

/* Settings. */

int change_frequency(struct daemon *d, uint64_t freq_hz, struct error *err)
{
	uint64_t before = d->settings.freq_hz;
	int e;

	if (!freq_hz || freq_hz > 100000)
		return error_set(err, -EINVAL, "a rate of %" PRIu64 " Hz: use 1 to 100000",
				 freq_hz);
	d->settings.freq_hz = freq_hz;
	e = set_rate(d, permitted_rate(freq_hz), err);
	if (e < 0)
		d->settings.freq_hz = before;
	else
		log_info("sampling at %" PRIu64 " Hz, before at %" PRIu64, d->rate_hz, before);
	return e;
}

int daemon_set_rate(struct daemon *d, uint64_t freq_hz, struct error *err)
{
	int e = change_frequency(d, freq_hz, err);

	if (e >= 0)
		d->closely_until_ns = 0;
	return e;
}

static void keep_before(struct daemon *d)
{
	if (d->has_before) /* the old events did not start either */
		return;
	d->before = d->settings;
	d->before.events.data = NULL;
	d->before.events.n = d->before.events.cap = 0;
	vec_foreach (&d->settings.events, event)
		vec_push(&d->before.events, xstrdup(*event));
	d->has_before = true;
}

int daemon_set_events(struct daemon *d, const char *const *events, size_t n, struct error *err)
{
	static const struct counter_sources sources;
	struct counter_rate rate = { .freq_hz = permitted_rate(d->settings.freq_hz) };
	struct counters counters = { 0 };
	int e = 0;

	for (size_t i = 0; i < n && !e; i++)
		e = counter_parse(&sources, events[i], &rate, &counters, err);
	counters_fini(&counters);
	if (e < 0)
		return e;
	closely_end(d);
	keep_before(d);
	daemon_settings_fini(&d->settings);
	for (size_t i = 0; i < n; i++)
		vec_push(&d->settings.events, xstrdup(events[i]));
	d->rate_hz = d->settings.freq_hz;
	log_info("other events: counting begins anew");
	renew(d);
	return 0;
}

void daemon_shutdown(struct daemon *d)
{
	d->is_ending = true;
	if (d->recorder)
		recorder_stop(d->recorder);
}

/* Status. */

/*
 * Measuring the session's files took a third of the time of a status request, so the result is
 * cached.
 */
static uint64_t written_now(struct daemon *d)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (d->recorder && now_ns - d->written_ns >= WRITTEN_NS) {
		d->written_ns = now_ns;
		d->written_bytes = recorder_written_bytes(d->recorder);
	}
	return d->written_bytes;
}

static void add_tallies(struct daemon *d, const struct recorder_stats *s)
{
	struct daemon_totals *shown = &d->shown;
	const struct daemon_totals *before = &d->before_totals;

	shown->samples = before->samples + s->counts.samples;
	shown->lost = before->lost + s->counts.lost;
	shown->unattributed = before->unattributed + s->counts.unattributed;
	shown->written_bytes = before->written_bytes;
	shown->written_bytes += written_now(d);
	for (int i = 0; i < N_LOSS_REASONS; i++)
		shown->losses[i] = before->losses[i] + s->losses[i];
	shown->cpu_samples.n = 0;
	for (size_t i = 0; i < MAX(s->n_cpus, before->cpu_samples.n); i++)
		vec_push(&shown->cpu_samples,
			 (i < before->cpu_samples.n ? before->cpu_samples.data[i] : 0) +
				 (i < s->n_cpus ? s->cpu_samples[i] : 0));
	shown->cpu_losses.n = 0;
	for (size_t i = 0; i < shown->cpu_samples.n; i++)
		vec_push(&shown->cpu_losses,
			 i < before->cpu_losses.n ? before->cpu_losses.data[i] : 0);
	if (d->recorder)
		recorder_add_cpu_losses(d->recorder, shown->cpu_losses.data, shown->cpu_losses.n);
}

static void name_events(struct daemon *d)
{
	d->event_names.n = 0;
	vec_foreach (&d->counters, counter)
		vec_push(&d->event_names, counter->name);
}

/* Recent use, or the mean since the start if nothing was measured yet. */
static double cpu_percent(const struct daemon *d, const struct daemon_status *s)
{
	if (d->budget.n > 1)
		return d->budget.cpu_percent;
	return 100.0 * (double)s->own_cpu_ns / (double)MAX(s->uptime_ns, 1u);
}

const char *daemon_show_part(struct daemon *d)
{
	free(d->shown_part);
	d->shown_part = d->recorder ? xasprintf("%s%s", d->config->dir,
						recorder_dir(d->recorder) + strlen(d->dir))
				    : xstrdup("");
	return d->shown_part;
}

void daemon_status(struct daemon *d, struct daemon_status *out)
{
	struct recorder_stats s = { 0 };

	if (d->recorder)
		recorder_stats(d->recorder, &s);
	add_tallies(d, &s);
	name_events(d);
	*out = (struct daemon_status){
		.version = d->config->version,
		.session_dir = d->config->dir,
		.part = daemon_show_part(d),
		.user = d->user.user,
		.user_name = d->user.name,
		.is_filtered = prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER,
		.fence_version = (uint32_t)d->fence_version,
		.collector = d->in_kernel ? "BPF" : "perf rings",
		.stacks = stack_source_texts[d->stacks],
		.note = d->note,
		.write_error = s.write_error ? s.write_error->text : "",
		.pid = getpid(),
		.is_counting = d->recorder && !d->is_paused,
		.start_wall_ns = d->start_wall_ns,
		.uptime_ns = clock_monotonic_ns() - d->start_ns,
		.wanted_hz = d->settings.freq_hz,
		.rate_hz = d->rate_hz,
		.events = d->event_names.data,
		.n_events = d->event_names.n,
		.samples = d->shown.samples,
		.lost = d->shown.lost,
		.unattributed = d->shown.unattributed,
		.cpu_samples = d->shown.cpu_samples.data,
		.cpu_losses = d->shown.cpu_losses.data,
		.n_cpus = d->shown.cpu_samples.n,
		.own_cpu_ns = MAX(s.own_cpu_ns, d->before_totals.own_cpu_ns),
		.own_bytes = d->recorder ? s.own_bytes : d->before_totals.own_bytes,
		.max_cpu_percent = d->settings.max_cpu_percent,
		.max_bytes = d->settings.max_bytes,
		.written_bytes = d->shown.written_bytes,
		.keep_age_s = daemon_keeps_one(d) ? 0 : d->settings.keep_age_s,
		.keep_bytes = daemon_keeps_one(d) ? 0 : d->settings.keep_bytes,
		.n_processes = s.n_processes,
		.n_parts = d->n_parts,
		.n_rate_changes = d->n_rate_changes,
	};
	daemon_helpers_look(d, &out->helpers);
	out->cpu_percent = cpu_percent(d, out);
	memcpy(out->losses, d->shown.losses, sizeof(out->losses));
}

const char *daemon_history_dir(const struct daemon *d)
{
	return d->current;
}

void daemon_features(struct daemon *d, ext_visitor visit, void *context)
{
	if (d->recorder)
		recorder_features(d->recorder, visit, context);
}
