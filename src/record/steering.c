/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/steering.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "counter/attr_text.h"
#include "record/control_channel.h"

struct steering {
	struct steering_config config;
	struct recorder_control control;
	struct control_channel *channel; /* NULL: none */
	int poll_fd;
	int timer_fd;   /* readable when counting begins; -1: no delay */
	bool has_begun; /* counting was on before */
};

static void steering_report(struct steering *s, bool is_warning, const char *sentence)
{
	s->config.report(s->config.context, is_warning, sentence);
}

static void steering_warn(void *context, const char *sentence)
{
	steering_report(context, true, sentence);
}

/* A failed request is reported, and the recording goes on: the sender can't see its messages. */
static void warn_of_failure(struct steering *s, const char *what, const struct error *err)
{
	char sentence[900];

	snprintf(sentence, sizeof(sentence), "%s: %s", what, err->text);
	steering_report(s, true, sentence);
}

static void take_snapshot(struct steering *s, struct recorder *r)
{
	struct error err = { 0 };

	s->has_begun |= recorder_is_enabled(r);
	if (!s->has_begun)
		steering_report(s, true, "snapshot before start: nothing has been recorded yet");
	else if (recorder_snapshot(r, &err) < 0)
		warn_of_failure(s, "snapshot", &err);
	else
		steering_report(s, false, "recording AUX area tracing snapshot");
}

/* Switches all, or the named one. */
static void switch_counting(struct steering *s, struct recorder *r, bool is_on, const char *event)
{
	struct error err = { 0 };
	int e;

	close_at_exit(&s->timer_fd);
	s->timer_fd = -1;
	s->has_begun |= recorder_is_enabled(r);
	if (*event)
		e = recorder_switch_event(r, event, is_on, &err);
	else
		e = is_on ? recorder_enable(r, &err) : (recorder_disable(r), 0);
	if (e < 0)
		warn_of_failure(s, is_on ? "enable" : "disable", &err);
	s->has_begun |= is_on && e >= 0;
}

/* evlist: the names of events, with the details that the letter selects. */
struct listing {
	char letter; /* v, g or F; else: only names */
	const struct counters *counters;
	struct buf text;
	uint32_t group;
};

static uint32_t steering_group_of(const struct listing *l, const char *name)
{
	for (size_t i = 0; l->letter == 'g' && i < l->counters->n; i++)
		if (!strcmp(l->counters->data[i].name, name))
			return l->counters->data[i].group;
	return 0;
}

static void list_event(void *context, const char *name, const struct perf_event_attr *attr,
		       const uint64_t *ids, size_t n_ids)
{
	struct listing *l = context;
	uint32_t group = steering_group_of(l, name);

	(void)ids, (void)n_ids;
	if (l->group && group != l->group)
		buf_str(&l->text, "}\n");
	buf_printf(&l->text, "%s%s", !group ? "" : group == l->group ? "," : "{", name);
	l->group = group;
	if (group)
		return;
	if (l->letter == 'F')
		buf_printf(&l->text, ": sample_%s=%" PRIu64, attr->freq ? "freq" : "period",
			   (uint64_t)attr->sample_freq);
	if (l->letter == 'v') {
		buf_str(&l->text, ": ");
		attr_text_line(attr, &l->text);
	}
	buf_str(&l->text, "\n");
}

static void steering_list_events(struct steering *s, struct recorder *r, const char *how)
{
	struct listing l = { .counters = recorder_counters(r) };

	if (*how && (how[0] != '-' || !how[1] || !strchr("vgF", how[1]) || how[2])) {
		steering_report(s, true, "evlist takes -v, -g or -F");
		return;
	}
	l.letter = *how ? how[1] : 0;
	recorder_each_event(r, list_event, &l);
	if (l.group)
		buf_str(&l.text, "}\n");
	s->config.show(s->config.context, buf_cstr(&l.text));
	buf_fini(&l.text);
}

static void run_message(struct steering *s, struct recorder *r, enum control_message message,
			const char *argument)
{
	switch (message) {
	case CONTROL_ENABLE:
	case CONTROL_DISABLE:
		switch_counting(s, r, message == CONTROL_ENABLE, argument);
		break;
	case CONTROL_SNAPSHOT:
		take_snapshot(s, r);
		break;
	case CONTROL_STOP:
		recorder_stop(r);
		break;
	case CONTROL_EVLIST:
		steering_list_events(s, r, argument);
		break;
	case CONTROL_PING:
	case N_CONTROL_MESSAGES:
		break;
	}
}

static int on_ready(void *context, struct recorder *r, struct error *err)
{
	struct steering *s = context;
	enum control_message message;
	const char *argument;
	uint64_t n;

	(void)err;
	if (s->config.snapshot_fd && read(s->config.snapshot_fd, &n, sizeof(n)) == sizeof(n))
		take_snapshot(s, r);
	if (s->timer_fd >= 0 && read(s->timer_fd, &n, sizeof(n)) == sizeof(n))
		switch_counting(s, r, true, "");
	while (s->channel &&
	       control_channel_next(s->channel, &message, &argument, steering_warn, s) > 0) {
		run_message(s, r, message, argument);
		control_channel_ack(s->channel);
	}
	return 0;
}

static int on_started(void *context, struct recorder *r, struct error *err)
{
	struct steering *s = context;
	double seconds = s->config.delay_s;
	struct itimerspec when = { .it_value = { .tv_sec = (time_t)seconds } };

	(void)r;
	if (seconds <= 0)
		return 0;
	when.it_value.tv_nsec =
		(long)((seconds - (double)when.it_value.tv_sec) * (double)NS_PER_SECOND);
	if (timerfd_settime(s->timer_fd, 0, &when, NULL) < 0)
		return error_errno(err, -errno, "timerfd_settime");
	return 0;
}

static int watch_descriptor(struct steering *s, int fd, struct error *err)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (epoll_ctl(s->poll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		return error_errno(err, -errno, "epoll_ctl");
	return 0;
}

static int make_timer(struct steering *s, struct error *err)
{
	s->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (s->timer_fd < 0)
		return error_errno(err, -errno, "timerfd_create");
	return watch_descriptor(s, s->timer_fd, err);
}

int steering_open(const struct steering_config *config, struct steering **out, struct error *err)
{
	cleanup(steering_close_at_exit) struct steering *s = xcalloc(1, sizeof(*s));
	int r;

	s->config = *config;
	s->poll_fd = s->timer_fd = -1;
	s->control = (struct recorder_control){
		.started = on_started, .ready = on_ready, .fd = -1, .context = s
	};
	s->control.fd = s->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->poll_fd < 0)
		return error_errno(err, -errno, "epoll_create1");
	if (config->control) {
		r = control_channel_open(config->control, &s->channel, err);
		if (!r)
			r = watch_descriptor(s, control_channel_fd(s->channel), err);
		if (r < 0)
			return r;
	}
	if (config->delay_s > 0 && (r = make_timer(s, err)) < 0)
		return r;
	if (config->snapshot_fd && (r = watch_descriptor(s, config->snapshot_fd, err)) < 0)
		return r;
	*out = take_ptr(s);
	return 0;
}

void steering_close(struct steering *s)
{
	if (!s)
		return;
	close_at_exit(&s->timer_fd);
	control_channel_close(s->channel);
	close_at_exit(&s->poll_fd);
	free(s);
}

const struct recorder_control *steering_control(const struct steering *s)
{
	return &s->control;
}

bool steering_starts_disabled(const struct steering *s)
{
	return s->config.starts_disabled || s->config.delay_s > 0;
}
