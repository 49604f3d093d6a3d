/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/service.h"

#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "daemon/answers.h"
#include "daemon/control.h"
#include "daemon/metrics_http.h"
#include "daemon/sources.h"

struct service {
	struct answers answers;
	struct control *control;
	struct metrics_http *http;
	int timer; /* for the statistics in the log */
	int asked; /* eventfd of SIGUSR1, for the same */
	bool is_open;
};

static volatile sig_atomic_t asked_fd = -1;

/* Only eventfd_write(), which is a write(2). Any thread may get the signal. */
static void service_on_signal(int number)
{
	int saved = errno;

	(void)number;
	if (asked_fd >= 0)
		eventfd_write(asked_fd, 1);
	errno = saved;
}

static void log_line(const char *text)
{
	log_info("%s", text);
}

static void log_statistics(struct service *s)
{
	statistics_lines(answers_statistics(&s->answers), log_line);
}

static int on_statistics(void *context, struct error *err)
{
	struct service *s = context;
	uint64_t n;

	(void)err;
	/* One of the two is readable; reading the other has no effect. */
	if (read(s->timer, &n, sizeof(n)) > 0 || read(s->asked, &n, sizeof(n)) > 0)
		log_statistics(s);
	return 0;
}

static int on_control(void *context, struct error *err)
{
	struct service *s = context;

	(void)err;
	control_serve(s->control, clock_monotonic_ns());
	return 0;
}

static int on_http(void *context, struct error *err)
{
	(void)err;
	metrics_http_serve(((struct service *)context)->http);
	return 0;
}

static void print_metrics(void *context, struct buf *out)
{
	statistics_metrics(answers_statistics(context), out);
}

static int add_statistics(struct service *s, struct error *err)
{
	static const struct itimerspec every = { .it_value.tv_sec = SERVICE_STATISTICS_S,
						 .it_interval.tv_sec = SERVICE_STATISTICS_S };
	struct sigaction action = { .sa_handler = service_on_signal, .sa_flags = SA_RESTART };
	struct daemon *d = s->answers.daemon;
	int r;

	s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	s->asked = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->timer < 0 || s->asked < 0)
		return error_errno(err, -errno, "cannot make a timer");
	timerfd_settime(s->timer, 0, &every, NULL);
	asked_fd = s->asked;
	sigaction(SIGUSR1, &action, NULL);
	r = daemon_add_source(d, s->timer, on_statistics, s, err);
	return r < 0 ? r : daemon_add_source(d, s->asked, on_statistics, s, err);
}

static int add_http(struct service *s, const char *address, struct error *err)
{
	int r = metrics_http_open(address, print_metrics, &s->answers, &s->http, err);

	if (r < 0)
		return r;
	log_info("metrics at http://%s/metrics", metrics_http_address(s->http));
	return daemon_add_source(s->answers.daemon, metrics_http_fd(s->http), on_http, s, err);
}

int service_open(struct daemon *d, const char *dir, const char *metrics_listen,
		 struct service **out, struct error *err)
{
	cleanup(service_close_at_exit) struct service *s = xcalloc(1, sizeof(*s));
	cleanup(free_at_exit) char *path = xasprintf("%s/control", dir);
	int r;

	s->answers.daemon = d;
	s->timer = s->asked = -1;
	r = control_open(path, &answer_handlers, &s->answers, &s->control, err);
	r = r < 0 ? r : daemon_add_source(d, control_fd(s->control), on_control, s, err);
	r = r < 0 ? r : add_statistics(s, err);
	r = r < 0 || !metrics_listen ? r : add_http(s, metrics_listen, err);
	if (r < 0)
		return r;
	s->is_open = true;
	*out = take_ptr(s);
	return 0;
}

static void drop_source(struct service *s, int fd)
{
	if (fd >= 0)
		daemon_drop_source(s->answers.daemon, fd);
}

void service_close(struct service *s)
{
	if (!s)
		return;
	/* A daemon that never counted has no statistics. */
	if (s->is_open && answers_statistics(&s->answers)->status.n_parts)
		log_statistics(s);
	asked_fd = -1;
	drop_source(s, s->timer);
	drop_source(s, s->asked);
	drop_source(s, s->control ? control_fd(s->control) : -1);
	drop_source(s, s->http ? metrics_http_fd(s->http) : -1);
	metrics_http_close(s->http);
	control_close(s->control);
	close_at_exit(&s->timer);
	close_at_exit(&s->asked);
	free(s);
}
