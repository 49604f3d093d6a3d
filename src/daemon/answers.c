/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/answers.h"

#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "daemon/closely.h"
#include "store/history/history.h"

#define DISK_NS (10 * NS_PER_SECOND)

/* ---- read-only answers ---- */

static uint64_t oldest_part(const char *current)
{
	struct history_names names = { 0 };
	uint64_t wall_ns = 0;

	if (history_list(current, &names) >= 0 && names.n)
		history_part_time(names.data[0], &wall_ns);
	history_names_fini(&names);
	return wall_ns;
}

/*
 * Walking through thousands of files for each of a thousand requests a second would cost too much.
 */
static void look_at_disk(struct answers *a)
{
	struct daemon_histories list = { 0 };
	uint64_t now = clock_monotonic_ns();

	if (a->disk_looked_ns && now < a->disk_looked_ns + DISK_NS)
		return;
	a->disk_looked_ns = now;
	a->statistics.disk_bytes = 0;
	if (daemon_list(a->daemon, &list, NULL) >= 0)
		vec_foreach (&list, history)
			a->statistics.disk_bytes += history->size_bytes;
	daemon_histories_fini(&list);
	ship_status_read(&a->statistics.ship);
	a->statistics.oldest_wall_ns = oldest_part(daemon_history_dir(a->daemon));
}

const struct statistics *answers_statistics(struct answers *a)
{
	daemon_status(a->daemon, &a->statistics.status);
	look_at_disk(a);
	return &a->statistics;
}

static int answer_status(void *context, json_t *request, json_t *reply, struct error *err)
{
	(void)request, (void)err;
	statistics_json(answers_statistics(context), reply);
	return 0;
}

static int answer_metrics(void *context, json_t *request, json_t *reply, struct error *err)
{
	struct buf text = { 0 };

	(void)request, (void)err;
	statistics_metrics(answers_statistics(context), &text);
	request_put_text(reply, "text", buf_cstr(&text));
	buf_fini(&text);
	return 0;
}

static int answer_list(void *context, json_t *request, json_t *reply, struct error *err)
{
	struct answers *a = context;
	struct daemon_histories list = { 0 };
	json_t *sessions = json_array();
	int r = daemon_list(a->daemon, &list, err);

	(void)request;
	vec_foreach (&list, history) {
		json_t *one = json_object();

		request_put_text(one, "name", history->name);
		request_put_text(one, "store", history->store);
		json_object_set_new(one, "parts", json_integer(history->n_parts));
		json_object_set_new(one, "size_bytes",
				    json_integer((json_int_t)history->size_bytes));
		json_array_append_new(sessions, one);
	}
	daemon_histories_fini(&list);
	json_object_set_new(reply, "sessions", sessions);
	return r;
}

/* ---- actions ---- */

static int answer_start(void *context, json_t *request, json_t *reply, struct error *err)
{
	(void)request, (void)reply;
	return daemon_start(((struct answers *)context)->daemon, err);
}

static int answer_stop(void *context, json_t *request, json_t *reply, struct error *err)
{
	(void)request, (void)reply;
	return daemon_stop(((struct answers *)context)->daemon, err);
}

static int answer_dump(void *context, json_t *request, json_t *reply, struct error *err)
{
	(void)request, (void)reply;
	return daemon_dump(((struct answers *)context)->daemon, err);
}

/* The action changes the disk use, so it is measured again. */
static int answer_reset(void *context, json_t *request, json_t *reply, struct error *err)
{
	struct answers *a = context;

	(void)request, (void)reply;
	a->disk_looked_ns = 0;
	return daemon_reset(a->daemon, err);
}

static int answer_save(void *context, json_t *request, json_t *reply, struct error *err)
{
	struct answers *a = context;

	(void)reply;
	a->disk_looked_ns = 0;
	return daemon_save(a->daemon, json_string_value(json_object_get(request, "name")), err);
}

/* "default" stands for the daemon's own choice. */
static int set_events(struct daemon *d, const char *events, struct error *err)
{
	return daemon_set_events(d, &events, strcmp(events, "default") != 0, err);
}

static int answer_set(void *context, json_t *request, json_t *reply, struct error *err)
{
	struct daemon *d = ((struct answers *)context)->daemon;
	const char *events = json_string_value(json_object_get(request, "events"));
	json_int_t rate = json_integer_value(json_object_get(request, "rate"));
	int r = events ? set_events(d, events, err) : 0;

	(void)reply;
	return r >= 0 && rate ? daemon_set_rate(d, (uint64_t)rate, err) : r;
}

/* Where the samples will be: a window of the history, and the filter of the target. */
static int answer_record(void *context, json_t *request, json_t *reply, struct error *err)
{
	struct daemon *d = ((struct answers *)context)->daemon;
	const char *target = json_string_value(json_object_get(request, "target"));
	json_int_t seconds = json_integer_value(json_object_get(request, "seconds"));
	json_int_t rate = json_integer_value(json_object_get(request, "rate"));
	uint64_t now_s = clock_wall_ns() / NS_PER_SECOND;
	int r = closely_begin(d, target, (uint64_t)seconds, (uint64_t)rate, err);

	if (r < 0)
		return r;
	json_object_set_new(reply, "since_seconds", json_integer((json_int_t)now_s));
	json_object_set_new(reply, "until_seconds", json_integer((json_int_t)now_s + seconds + 1));
	request_put_text(reply, "filter", strcmp(target, "machine") ? target : "");
	return 0;
}

static int answer_shutdown(void *context, json_t *request, json_t *reply, struct error *err)
{
	(void)request, (void)reply, (void)err;
	daemon_shutdown(((struct answers *)context)->daemon);
	return 0;
}

/* One object for each feature; the numbers of a feature come one after the other. */
static void add_statistic(void *context, const char *feature, const char *key, uint64_t value)
{
	json_t *list = context, *last = json_array_get(list, json_array_size(list) - 1);
	const char *name = json_string_value(json_object_get(last, "name"));

	if (!name || strcmp(name, feature) != 0) {
		last = json_pack("{s:s}", "name", feature);
		json_array_append_new(list, last);
	}
	json_object_set_new(last, key, json_integer((json_int_t)value));
}

static int answer_features(void *context, json_t *request, json_t *reply, struct error *err)
{
	json_t *list = json_array();

	(void)request, (void)err;
	daemon_features(((struct answers *)context)->daemon, add_statistic, list);
	json_object_set_new(reply, "features", list);
	return 0;
}

const struct control_handlers answer_handlers = {
	.status = answer_status,
	.start = answer_start,
	.stop = answer_stop,
	.dump = answer_dump,
	.reset = answer_reset,
	.save = answer_save,
	.list = answer_list,
	.set = answer_set,
	.record = answer_record,
	.metrics = answer_metrics,
	.shutdown = answer_shutdown,
	.features = answer_features,
};
