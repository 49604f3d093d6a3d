/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/fleet_open.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/strings.h"
#include "fleet/fleet_store.h"
#include "fleet/fleet_sums.h"
#include "profile/query.h"
#include "store/session_join.h"

struct opened_hosts {
	const char *dir;
	const struct history_request *request;
	VEC(struct session *) sessions;
	VEC(char *) warnings;
	uint32_t n_asked, n_with_samples;
	struct fleet_sums_list sums;
	VEC(struct sums_taken) taken; /* by sums; units 0: they are not used */
	bool is_stale;                /* parts of sums went away meanwhile */
	struct error last;            /* why a host was left out */
};

static void name_host(struct session *s, const char *name)
{
	s->host = xstrdup(name);
	for (uint32_t i = 0; i < s->n_segments; i++)
		s->segments[i]->host = s->host;
}

static bool session_has_blocks(const struct session *s)
{
	for (uint32_t i = 0; i < s->n_segments; i++)
		if (s->segments[i]->n_blocks)
			return true;
	return false;
}

/* ---- sums of hosts ---- */

static void open_sums(struct opened_hosts *h)
{
	if (!h->request->overview_ns)
		return;
	fleet_sums_find(h->dir, &h->request->window, &h->sums);
	vec_foreach (&h->sums, s) {
		struct sums_taken taken;

		fleet_sums_open(h->dir, s, h->request, &taken);
		vec_push(&h->taken, taken);
	}
}

/* What sums have of a host. */
struct host_in_sums {
	const char *name;
	struct history_covered covered;
	bool has_samples;
	const struct session *session; /* of sums, for the names of its events; NULL: of none */
	struct rate_range *rates;      /* by event of that session */
};

/* Adds the rates of a part, by event of the sums `of`, to those of the host. */
static void widen_rates(struct host_in_sums *in, const char *rates, const struct session *of)
{
	const char *end = ",";

	for (uint32_t i = 0; i < of->info.n_counters && *end == ','; i++, rates = end + 1) {
		uint64_t hz = strtoull(rates, (char **)&end, 10);
		uint32_t event = session_event_of_part(in->session, &of->info.counters[i]);

		if (!hz || event == in->session->info.n_counters)
			continue;
		in->rates[event].low_hz =
			in->rates[event].low_hz ? MIN(in->rates[event].low_hz, hz) : hz;
		in->rates[event].high_hz = MAX(in->rates[event].high_hz, hz);
	}
}

static void source_cover(struct host_in_sums *in, const struct fleet_sums *s,
			 const struct sums_source *x, const struct sums_taken *taken,
			 const struct time_window *w)
{
	bool is_outside = x->last_ns < w->from_ns || x->first_ns >= w->to_ns;
	struct history_covered_part part = { .name = x->part,
					     .unit_ns = s->unit_ns,
					     .first_unit = s->first_unit,
					     .read = is_outside ? 0 : x->units & ~taken->units };

	vec_push(&in->covered, part);
	if (!(x->units & taken->units))
		return;
	in->has_samples = true;
	if (!in->session) {
		in->session = taken->session;
		in->rates = xcalloc(in->session->info.n_counters + 1, sizeof(*in->rates));
	}
	widen_rates(in, x->rates, taken->session);
}

static int by_part(const void *a, const void *b)
{
	const struct history_covered_part *x = a, *y = b;

	return history_by_name(&x->name, &y->name);
}

static void find_in_sums(const struct opened_hosts *h, struct host_in_sums *in)
{
	for (size_t i = 0; i < h->taken.n; i++) {
		const struct fleet_sums *s = &h->sums.data[i];

		for (size_t k = fleet_sums_first_of(s, in->name);
		     h->taken.data[i].units && k < s->sources.n &&
		     !strcmp(s->sources.data[k].host, in->name);
		     k++)
			source_cover(in, s, &s->sources.data[k], &h->taken.data[i],
				     &h->request->window);
	}
	if (in->covered.n)
		qsort(in->covered.data, in->covered.n, sizeof(*in->covered.data), by_part);
}

static void host_in_sums_fini(struct host_in_sums *in)
{
	vec_fini(&in->covered);
	free(in->rates);
}

/* The folder of the host, as a session without samples: its names of containers count. */
static struct session *session_of_folder(const char *path)
{
	struct session *s = xcalloc(1, sizeof(*s));

	*s = (struct session){ .path = xstrdup(path),
			       .dir = xstrdup(path),
			       .has_end = true,
			       .parts = xcalloc(1, sizeof(*s->parts)) };
	return s;
}

/* As history_open() warns of a host whose parts have different rates. */
static void warn_of_host_rates(struct opened_hosts *h, const struct host_in_sums *in,
			       const char *path, const struct session *others)
{
	for (uint32_t i = 0; in->session && i < in->session->info.n_counters; i++) {
		const struct counter_info *event = &in->session->info.counters[i];
		struct rate_range range = in->rates[i];

		if (!range.low_hz)
			continue;
		for (uint32_t k = 0; others && k < others->info.n_counters; k++)
			if (session_event_of_part(in->session, &others->info.counters[k]) == i) {
				struct rate_range r =
					session_rates(others, &others->info.counters[k]);

				if (r.low_hz != r.high_hz) /* it has the warning itself */
					return;
				range.low_hz = MIN(range.low_hz, r.low_hz);
				range.high_hz = MAX(range.high_hz, r.high_hz);
			}
		if (range.low_hz != range.high_hz) {
			cleanup(free_at_exit) char *text = history_rates_text(event->name, &range);

			vec_push(&h->warnings, xasprintf("%s: %s", path, text));
		}
	}
}

/* ---- hosts ---- */

/* The blocks of a host that are not in sums. NULL: there are none, and h->last says why. */
static struct session *open_blocks_of(struct opened_hosts *h, const struct host_in_sums *in,
				      const char *path, int *result)
{
	struct history_request request = *h->request;
	struct session *s;
	int r;

	request.covered = in->covered.n ? &in->covered : NULL;
	r = history_open(path, &request, &s, &h->last);
	if (r >= 0 && !session_has_blocks(s)) { /* the window cuts parts, and no block is in it */
		vec_foreach (&s->warnings, text)
			vec_push(&h->warnings, xasprintf("host %s: %s", in->name, *text));
		session_close(s);
		r = error_set(&h->last, -ENODATA, "%s: no samples in the requested time", path);
	}
	*result = r;
	return r >= 0 ? s : NULL;
}

static void open_host(struct opened_hosts *h, const char *name)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", h->dir, name);
	cleanup(free_at_exit) char *parts = history_dir(path);
	struct host_in_sums in = { .name = name };
	struct session *s;
	int r;

	h->n_asked++;
	if (!parts) { /* it was enrolled, and sent nothing yet */
		error_set(&h->last, -ENODATA, "%s: no samples", path);
		return;
	}
	find_in_sums(h, &in);
	s = open_blocks_of(h, &in, path, &r);
	h->is_stale |= r == -ESTALE;
	if (r < 0 && r != -ENODATA)
		vec_push(&h->warnings, xasprintf("host %s is left out: %s", name, h->last.text));
	else
		h->n_with_samples += s || in.has_samples;
	warn_of_host_rates(h, &in, path, s);
	if (s)
		name_host(s, name);
	else if (in.has_samples)
		s = session_of_folder(path);
	if (s)
		vec_push(&h->sessions, s);
	host_in_sums_fini(&in);
}

static int by_events(const void *a, const void *b)
{
	const struct session *const *x = a, *const *y = b;
	uint32_t n = (*x)->info.n_counters, m = (*y)->info.n_counters;

	return (n > m) - (n < m);
}

/*
 * A session has so many events at most. The hosts with the most events are left out, so a host that
 * names too many harms itself alone.
 */
static void leave_out_events(struct opened_hosts *h, struct session **all, size_t *n)
{
	cleanup(free_at_exit) bool *fits = xcalloc(*n + 1, sizeof(*fits));
	size_t kept = 0;

	if (*n)
		qsort(all, *n, sizeof(*all), by_events);
	session_join_fits(all, (uint32_t)*n, fits);
	for (size_t i = 0; i < *n; i++) {
		if (fits[i]) {
			all[kept++] = all[i];
			continue;
		}
		vec_push(&h->warnings, xasprintf("%s is left out: it has %" PRIu32
						 " events, and all hosts together have too many",
						 all[i]->path, all[i]->info.n_counters));
		session_close(all[i]);
	}
	*n = kept;
}

/* ---- the fleet ---- */

static int join_hosts(struct opened_hosts *h, struct session **out, struct error *err)
{
	VEC(struct session *) all = { 0 }, folders = { 0 };
	struct session *s;
	int r;

	vec_foreach (&h->taken, taken)
		if (taken->session)
			vec_push(&all, take_ptr(taken->session));
	vec_foreach (&h->sessions, of_host)
		if ((*of_host)->n_segments)
			vec_push(&all, take_ptr(*of_host));
		else
			vec_push(&folders, take_ptr(*of_host));
	h->sessions.n = 0;
	if (!all.n)
		return h->n_asked ? error_set(err, -ENODATA, "no host of %s has samples here: %s",
					      h->dir, h->last.text)
				  : error_set(err, -ENODATA, "%s has no such host", h->dir);
	leave_out_events(h, all.data, &all.n);
	r = session_join_to_read(all.data, (uint32_t)all.n, true, &s, err);
	vec_fini(&all);
	if (r < 0) {
		vec_foreach (&folders, folder)
			session_close(*folder);
		vec_fini(&folders);
		return r;
	}
	free(s->path);
	free(s->dir);
	s->path = xstrdup(h->dir);
	s->dir = xstrdup(h->dir);
	s->n_hosts = h->n_with_samples;
	s->n_hosts_asked = h->n_asked;
	s->parts = xrealloc(s->parts, s->n_parts + folders.n + 1, sizeof(struct session *));
	vec_foreach (&folders, folder)
		s->parts[s->n_parts++] = *folder;
	vec_fini(&folders);
	vec_foreach (&h->warnings, text)
		vec_push(&s->warnings, take_ptr(*text));
	*out = s;
	return 0;
}

static void opened_hosts_fini(struct opened_hosts *h)
{
	vec_foreach (&h->sessions, s)
		session_close(*s);
	vec_foreach (&h->taken, taken)
		session_close(taken->session);
	vec_foreach (&h->warnings, text)
		free(*text);
	vec_fini(&h->sessions);
	vec_fini(&h->taken);
	vec_fini(&h->warnings);
	fleet_sums_list_fini(&h->sums);
}

/* -ESTALE: the sums were of parts that went away meanwhile. */
static int open_hosts(const char *dir, const struct query *query,
		      const struct history_request *request, bool with_sums, struct session **out,
		      struct error *err)
{
	struct opened_hosts h = { .dir = dir, .request = request };
	struct history_names names = { 0 };
	int r = fleet_hosts(dir, &names, err);

	if (r >= 0 && with_sums)
		open_sums(&h);
	vec_foreach (&names, name)
		if (!query || query_takes_name(query, FILTER_HOST, *name))
			open_host(&h, *name);
	r = r < 0 ? r : h.is_stale ? -ESTALE : join_hosts(&h, out, err);
	opened_hosts_fini(&h);
	history_names_fini(&names);
	return r;
}

int fleet_open(const char *dir, const struct query *query, const struct history_request *request,
	       bool hosts_together, struct session **out, struct error *err)
{
	bool with_sums = hosts_together && !(query && query_has(query, FILTER_HOST));
	int r = open_hosts(dir, query, request, with_sums, out, err);

	return r == -ESTALE ? open_hosts(dir, query, request, false, out, err) : r;
}
