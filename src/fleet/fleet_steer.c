/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/fleet_steer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "fleet/fleet_open.h"
#include "fleet/fleet_rates.h"
#include "fleet/fleet_store.h"
#include "fleet/host_facts.h"
#include "fleet/service_choice.h"
#include "store/row_reader.h"
#include "store/session_join.h"

#define GROWTH_MOST 4.0
#define HOUR_NS     (3600 * NS_PER_SECOND)

/* Samples of one service. */
struct steering {
	const char *fleet;
	const struct steer_config *config;
	const struct session *session;
	struct steer_hosts *hosts;
};

static struct steer_host *steer_host_of(struct steering *s, const char *name)
{
	struct steer_host new = { .name = xstrdup(name) };
	struct host_facts facts = { 0 };

	vec_foreach (s->hosts, h)
		if (!strcmp(h->name, name)) {
			free(new.name);
			return h;
		}
	if (host_facts_read(s->fleet, name, &facts, NULL) >= 0)
		new.had_hz = facts.rate_hz;
	vec_push(s->hosts, new);
	return &s->hosts->data[s->hosts->n - 1];
}

static const char *class_text(const struct segment *segment, string_id id)
{
	return id.n < segment->n_strings ? segment->strings[id.n] : "";
}

/* By class: whether its samples are of the event and the service. The caller frees. */
static bool *service_classes(const struct segment *segment, uint32_t event,
			     struct service_choice *service)
{
	bool *is_taken = xcalloc(segment->n_classes + 1, sizeof(*is_taken));

	for (uint32_t i = 0; i < segment->n_classes; i++) {
		const struct profile_class *c = &segment->classes[i];
		uint32_t app = c->app.n < segment->n_images ? c->app.n : 0;

		is_taken[i] = c->counter == event &&
			      service_choice_takes(service, segment->images[app].path,
						   class_text(segment, c->cgroup));
	}
	return is_taken;
}

/* Samples, and their events. */
struct steer_count {
	uint64_t samples, period;
};

static int count_segment(const struct segment *segment, uint32_t event,
			 struct service_choice *service, struct steer_count *out, struct error *err)
{
	cleanup(free_at_exit) bool *is_taken = service_classes(segment, event, service);
	struct count_rows rows = { 0 };
	int r = 0;

	for (uint32_t b = 0; b < segment->n_blocks && r >= 0; b++) {
		rows.n = 0;
		r = segment_read_rows(segment, b, &rows, err);
		rows.n = r < 0 ? 0 : rows.n;
		vec_foreach (&rows, row) {
			out->samples += is_taken[row->class] ? row->samples : 0;
			out->period += is_taken[row->class] ? row->period : 0;
		}
	}
	vec_fini(&rows);
	return r;
}

/* The samples of a host. */
struct steer_sum {
	uint64_t samples;
	double present; /* so many it would have had at its present rate */
};

/*
 * The samples that a host would have had at its present rate. The samples may be of another rate.
 * The events of a clock are nanoseconds, so they do not depend on the rate.
 */
static double at_present(const struct steer_host *h, const struct counter_info *event,
			 const struct steer_count *n)
{
	if (!h->had_hz || !n->period || strcmp(event->unit, "ns") != 0)
		return (double)n->samples;
	return (double)n->period / 1e9 * (double)h->had_hz;
}

/* A service, and its samples by host, in the order of s->hosts, which grows. */
struct service_count {
	const char *glob;
	struct steer_sum *sums;
	struct service_choice *service; /* with the names of containers of `host` */
	const char *host;               /* NULL: none yet */
};

/* The segments of a host follow each other, so its names are read once. */
static struct service_choice *service_of_host(const struct steering *s, struct service_count *c,
					      const char *host)
{
	cleanup(free_at_exit) char *names = NULL;

	if (c->host && !strcmp(c->host, host))
		return c->service;
	service_choice_free(c->service);
	names = fleet_containers_file(s->fleet, host);
	c->host = host;
	c->service = service_choice_new(c->glob);
	service_choice_name(c->service, names);
	return c->service;
}

static int count_segment_of_host(struct steering *s, const struct segment *segment,
				 const struct counter_info *event, struct service_count *c,
				 struct error *err)
{
	struct steer_count n = { 0 };
	int r = count_segment(segment, session_event_of_part(s->session, event),
			      service_of_host(s, c, segment->host), &n, err);

	if (r >= 0 && n.samples) {
		const struct steer_host *host = steer_host_of(s, segment->host);
		struct steer_sum *sum = &c->sums[host - s->hosts->data];

		sum->samples += n.samples;
		sum->present += at_present(host, event, &n);
	}
	return r;
}

/* Each part has a first event of its own: hosts, and the times of a host, can have other events. */
static int count_part(struct steering *s, const struct session *part, struct service_count *c,
		      struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; i < part->n_parts && r >= 0; i++)
		r = count_part(s, part->parts[i], c, err);
	if (part->n_parts || !part->info.n_counters)
		return r;
	for (uint32_t i = 0; i < part->n_segments && r >= 0; i++)
		r = count_segment_of_host(s, part->segments[i], &part->info.counters[0], c, err);
	return r;
}

static int steer_service(struct steering *s, const char *glob, struct error *err)
{
	const struct time_window *w = &s->config->window;
	double hours = (double)(w->to_ns - w->from_ns) / (double)HOUR_NS, factor;
	cleanup(free_at_exit) struct steer_sum *sums =
		xcalloc(s->session->n_segments + s->hosts->n + 1, sizeof(*sums));
	struct service_count count = { .glob = glob, .sums = sums };
	double all = 0, fixed = 0;
	int r = count_part(s, s->session, &count, err);

	service_choice_free(count.service);
	if (r < 0)
		return r;
	for (size_t i = 0; i < s->hosts->n; i++)
		*(s->hosts->data[i].had_hz ? &all : &fixed) += sums[i].present;
	factor = ((double)s->config->target * hours - fixed) / MAX(all, 1.0);
	factor = MIN(MAX(factor, 0.0), GROWTH_MOST);
	for (size_t i = 0; i < s->hosts->n; i++) {
		struct steer_host *h = &s->hosts->data[i];
		double hz = (double)h->had_hz * factor + 0.5;

		if (!sums[i].samples)
			continue;
		h->samples += sums[i].samples;
		if (h->had_hz)
			h->hz = MAX(h->hz,
				    MAX((uint64_t)MIN(hz, (double)FLEET_RATE_MAX), UINT64_C(1)));
	}
	return 0;
}

/* Sums that are too low would give rates that are too high. */
static int check_whole(const struct session *session, struct error *err)
{
	bool is_whole = true;

	vec_foreach (&session->warnings, text) {
		log_warning("%s", *text);
		is_whole = is_whole && strstr(*text, HISTORY_RATES_WARNING);
	}
	return is_whole ? 0
			: error_set(err, -EBADMSG,
				    "samples of that time can't be read, so no rate changes");
}

static int by_host_name(const void *a, const void *b)
{
	const struct steer_host *x = a, *y = b;

	return strcmp(x->name, y->name);
}

int fleet_steer(const char *fleet, const struct steer_config *config, struct steer_hosts *out,
		struct error *err)
{
	const struct history_request request = { .window = config->window };
	cleanup(session_close_at_exit) struct session *session = NULL;
	struct steering s = { .fleet = fleet, .config = config, .hosts = out };
	int r = fleet_open(fleet, NULL, &request, &session, err);

	if (r < 0)
		return r;
	r = check_whole(session, err);
	s.session = session;
	for (size_t i = 0; i < config->n_services && r >= 0; i++)
		r = steer_service(&s, config->services[i], err);
	if (r < 0)
		return r;
	if (out->n)
		qsort(out->data, out->n, sizeof(*out->data), by_host_name);
	return out->n ? 0 : error_set(err, -ENODATA, "no service of that name has samples then");
}

void steer_hosts_fini(struct steer_hosts *hosts)
{
	vec_foreach (hosts, h)
		free(h->name);
	vec_fini(hosts);
}
