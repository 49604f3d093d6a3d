/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/fleet_steer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "fleet/fleet_open.h"
#include "fleet/fleet_rates.h"
#include "fleet/fleet_store.h"
#include "fleet/host_facts.h"
#include "fleet/ship_leaves.h"
#include "store/row_reader.h"
#include "store/session.h"

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

/* By class: whether its samples are of the service. The caller frees. */
static bool *service_classes(const struct segment *segment, struct ship_leaves *service)
{
	bool *is_taken = xcalloc(segment->n_classes + 1, sizeof(*is_taken));

	for (uint32_t i = 0; i < segment->n_classes; i++) {
		const struct profile_class *c = &segment->classes[i];
		uint32_t app = c->app.n < segment->n_images ? c->app.n : 0;

		is_taken[i] = !c->counter && ship_leaves_take(service, segment->images[app].path,
							      class_text(segment, c->cgroup));
	}
	return is_taken;
}

struct steer_sum {
	uint64_t samples, period;
};

static struct steer_sum count_segment(const struct segment *segment, struct ship_leaves *service)
{
	cleanup(free_at_exit) bool *is_taken = service_classes(segment, service);
	struct count_rows rows = { 0 };
	struct steer_sum sum = { 0 };

	for (uint32_t b = 0; b < segment->n_blocks; b++) {
		rows.n = 0;
		if (segment_read_rows(segment, b, &rows, NULL) < 0)
			continue;
		vec_foreach (&rows, row) {
			sum.samples += is_taken[row->class] ? row->samples : 0;
			sum.period += is_taken[row->class] ? row->period : 0;
		}
	}
	vec_fini(&rows);
	return sum;
}

/* The samples of a service by host, in the order of s->hosts, which grows. The caller frees. */
static struct steer_sum *count_service(struct steering *s, const char *glob)
{
	const struct session *session = s->session;
	struct steer_sum *sums = xcalloc(session->n_segments + s->hosts->n + 1, sizeof(*sums));

	for (uint32_t i = 0; i < session->n_segments; i++) {
		const struct segment *segment = session->segments[i];
		cleanup(free_at_exit) char *names = fleet_containers_file(s->fleet, segment->host);
		struct ship_leaves *service = ship_leaves_new(glob);
		struct steer_sum n, *sum;

		ship_leaves_name(service, names);
		n = count_segment(segment, service);
		ship_leaves_free(service);
		if (!n.samples)
			continue;
		sum = &sums[steer_host_of(s, segment->host) - s->hosts->data];
		sum->samples += n.samples;
		sum->period += n.period;
	}
	return sums;
}

/*
 * The samples that a host would have had at its present rate, which may be another one than that of
 * the samples: the events of a clock tell it.
 */
static double at_present(const struct steering *s, const struct steer_host *h,
			 const struct steer_sum *sum)
{
	const struct session_info *info = &s->session->info;

	if (!h->had_hz || !sum->period || !info->n_counters ||
	    strcmp(info->counters[0].unit, "ns") != 0)
		return (double)sum->samples;
	return (double)sum->period / 1e9 * (double)h->had_hz;
}

static void steer_service(struct steering *s, const char *glob)
{
	const struct time_window *w = &s->config->window;
	double hours = (double)(w->to_ns - w->from_ns) / (double)HOUR_NS, factor;
	cleanup(free_at_exit) struct steer_sum *sums = count_service(s, glob);
	double all = 0, fixed = 0;

	for (size_t i = 0; i < s->hosts->n; i++)
		*(s->hosts->data[i].had_hz ? &all : &fixed) +=
			at_present(s, &s->hosts->data[i], &sums[i]);
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
	s.session = session;
	for (size_t i = 0; i < config->n_services; i++)
		steer_service(&s, config->services[i]);
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
