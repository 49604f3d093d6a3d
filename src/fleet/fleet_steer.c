/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/fleet_steer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/intmap.h"
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

/* Samples, and their events. */
struct steer_count {
	uint64_t samples, period;
};

/* The samples of a host in a service. */
struct steer_sum {
	uint64_t samples;
	double present; /* so many it would have had at its present rate */
};

struct steering {
	const char *fleet;
	const struct steer_config *config;
	const struct session *session;
	struct steer_hosts *hosts;
	struct intmap places;       /* hash of a host's name to its index in `hosts` */
	VEC(struct steer_sum) sums; /* by host, and then by service */
	/* Of the host at hand. The segments of a host follow each other. */
	const char *host;                 /* NULL: none yet */
	struct service_choice **services; /* by service, with the names of its containers */
};

/* The index of the host, which is added if it is new. */
static size_t steer_host_of(struct steering *s, const char *name)
{
	const struct steer_sum none = { 0 };
	struct host_facts facts = { 0 };
	bool is_new;
	uint32_t *place = intmap_put(&s->places, XXH3_64bits(name, strlen(name)), &is_new);

	if (!is_new)
		return *place;
	*place = (uint32_t)s->hosts->n;
	if (host_facts_read(s->fleet, name, &facts, NULL) < 0)
		facts.rate_hz = 0;
	vec_push(s->hosts, (struct steer_host){ .name = xstrdup(name), .had_hz = facts.rate_hz });
	for (size_t i = 0; i < s->config->n_services; i++)
		vec_push(&s->sums, none);
	return s->hosts->n - 1;
}

static struct steer_sum *sum_of(const struct steering *s, size_t host, size_t service)
{
	return &s->sums.data[host * s->config->n_services + service];
}

static const char *class_text(const struct segment *segment, string_id id)
{
	return id.n < segment->n_strings ? segment->strings[id.n] : "";
}

/* Adds up the samples of each class. */
static int count_classes(const struct segment *segment, struct steer_count *by_class,
			 struct error *err)
{
	struct count_rows rows = { 0 };
	int r = 0;

	for (uint32_t b = 0; b < segment->n_blocks && r >= 0; b++) {
		rows.n = 0;
		r = segment_read_rows(segment, b, &rows, err);
		rows.n = r < 0 ? 0 : rows.n;
		vec_foreach (&rows, row) {
			by_class[row->class].samples += row->samples;
			by_class[row->class].period += row->period;
		}
	}
	vec_fini(&rows);
	return r;
}

/* The sum of the classes of the event and the service. */
static struct steer_count count_service(const struct segment *segment, uint32_t event,
					struct service_choice *service,
					const struct steer_count *by_class)
{
	struct steer_count sum = { 0 };

	for (uint32_t i = 0; i < segment->n_classes; i++) {
		const struct profile_class *c = &segment->classes[i];
		uint32_t app = c->app.n < segment->n_images ? c->app.n : 0;

		if (!by_class[i].samples || c->counter != event ||
		    !service_choice_takes(service, segment->images[app].path,
					  class_text(segment, c->cgroup)))
			continue;
		sum.samples += by_class[i].samples;
		sum.period += by_class[i].period;
	}
	return sum;
}

/*
 * The samples that a host would have had at its present rate. The samples may be of another rate,
 * which their part says. The events of a clock are nanoseconds, so they do not depend on the rate.
 */
static double at_present(const struct steer_host *h, const struct counter_info *event,
			 const struct steer_count *n)
{
	if (!h->had_hz)
		return (double)n->samples;
	if (n->period && !strcmp(event->unit, "ns"))
		return (double)n->period / 1e9 * (double)h->had_hz;
	if (event->freq_hz)
		return (double)n->samples / (double)event->freq_hz * (double)h->had_hz;
	return (double)n->samples;
}

static void begin_host(struct steering *s, const char *host)
{
	cleanup(free_at_exit) char *names = NULL;

	if (s->host && !strcmp(s->host, host))
		return;
	s->host = host;
	names = fleet_containers_file(s->fleet, host);
	for (size_t i = 0; i < s->config->n_services; i++) {
		service_choice_free(s->services[i]);
		s->services[i] = service_choice_new(s->config->services[i]);
		service_choice_name(s->services[i], names);
	}
}

static int count_segment(struct steering *s, const struct segment *segment,
			 const struct counter_info *event, struct error *err)
{
	cleanup(free_at_exit) struct steer_count *by_class =
		xcalloc(segment->n_classes + 1, sizeof(*by_class));
	uint32_t number = session_event_of_part(s->session, event);
	int r = count_classes(segment, by_class, err);

	begin_host(s, segment->host);
	for (size_t i = 0; i < s->config->n_services && r >= 0; i++) {
		struct steer_count n = count_service(segment, number, s->services[i], by_class);
		struct steer_sum *sum;
		size_t host;

		if (!n.samples)
			continue;
		host = steer_host_of(s, segment->host);
		sum = sum_of(s, host, i);
		sum->samples += n.samples;
		sum->present += at_present(&s->hosts->data[host], event, &n);
	}
	return r;
}

/* Each part has a first event of its own: hosts, and the times of a host, can have other events. */
static int count_part(struct steering *s, const struct session *part, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; i < part->n_parts && r >= 0; i++)
		r = count_part(s, part->parts[i], err);
	if (part->n_parts || !part->info.n_counters)
		return r;
	for (uint32_t i = 0; i < part->n_segments && r >= 0; i++)
		r = count_segment(s, part->segments[i], &part->info.counters[0], err);
	return r;
}

static void steer_service(const struct steering *s, size_t service)
{
	const struct time_window *w = &s->config->window;
	double hours = (double)(w->to_ns - w->from_ns) / (double)HOUR_NS, factor;
	double all = 0, fixed = 0;

	for (size_t i = 0; i < s->hosts->n; i++)
		*(s->hosts->data[i].had_hz ? &all : &fixed) += sum_of(s, i, service)->present;
	factor = ((double)s->config->target * hours - fixed) / MAX(all, 1.0);
	factor = MIN(MAX(factor, 0.0), GROWTH_MOST);
	for (size_t i = 0; i < s->hosts->n; i++) {
		const struct steer_sum *sum = sum_of(s, i, service);
		struct steer_host *h = &s->hosts->data[i];
		double hz = (double)h->had_hz * factor + 0.5;

		if (!sum->samples)
			continue;
		h->samples += sum->samples;
		if (h->had_hz)
			h->hz = MAX(h->hz,
				    MAX((uint64_t)MIN(hz, (double)FLEET_RATE_MAX), UINT64_C(1)));
	}
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
	int r = fleet_open(fleet, NULL, &request, false, &session, err);

	if (r < 0)
		return r;
	r = check_whole(session, err);
	s.session = session;
	s.services = xcalloc(config->n_services + 1, sizeof(*s.services));
	r = r < 0 ? r : count_part(&s, session, err);
	for (size_t i = 0; i < config->n_services; i++) {
		service_choice_free(s.services[i]);
		if (r >= 0)
			steer_service(&s, i);
	}
	free(s.services);
	intmap_fini(&s.places);
	vec_fini(&s.sums);
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
