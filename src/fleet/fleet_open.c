/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/fleet_open.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "fleet/fleet_store.h"
#include "profile/query.h"
#include "store/session_join.h"

struct opened_hosts {
	VEC(struct session *) sessions;
	VEC(char *) warnings;
	uint32_t n_asked;
	struct error last; /* why a host was left out */
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

static void open_host(struct opened_hosts *h, const char *dir, const char *name,
		      const struct history_request *request)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", dir, name);
	cleanup(free_at_exit) char *parts = history_dir(path);
	struct session *s;
	int r;

	h->n_asked++;
	if (!parts) { /* it was enrolled, and sent nothing yet */
		error_set(&h->last, -ENODATA, "%s: no samples", path);
		return;
	}
	r = history_open(path, request, &s, &h->last);
	if (r >= 0 && !session_has_blocks(s)) { /* the window cuts parts, and no block is in it */
		vec_foreach (&s->warnings, text)
			vec_push(&h->warnings, xasprintf("host %s: %s", name, *text));
		session_close(s);
		r = error_set(&h->last, -ENODATA, "%s: no samples in the requested time", path);
	}
	if (r >= 0) {
		name_host(s, name);
		vec_push(&h->sessions, s);
	} else if (r != -ENODATA) {
		vec_push(&h->warnings, xasprintf("host %s is left out: %s", name, h->last.text));
	}
}

static int join_hosts(struct opened_hosts *h, const char *dir, struct session **out,
		      struct error *err)
{
	uint32_t n = (uint32_t)h->sessions.n;
	struct session *s;
	int r;

	if (!n)
		return h->n_asked ? error_set(err, -ENODATA, "no host of %s has samples here: %s",
					      dir, h->last.text)
				  : error_set(err, -ENODATA, "%s has no such host", dir);
	r = session_join(h->sessions.data, n, true, &s, err);
	h->sessions.n = 0;
	if (r < 0)
		return r;
	free(s->path);
	free(s->dir);
	s->path = xstrdup(dir);
	s->dir = xstrdup(dir);
	s->n_hosts = n;
	s->n_hosts_asked = h->n_asked;
	vec_foreach (&h->warnings, text)
		vec_push(&s->warnings, take_ptr(*text));
	*out = s;
	return 0;
}

int fleet_open(const char *dir, const struct query *query, const struct history_request *request,
	       struct session **out, struct error *err)
{
	struct opened_hosts h = { 0 };
	struct history_names names = { 0 };
	int r = fleet_hosts(dir, &names, err);

	vec_foreach (&names, name)
		if (!query || query_takes_name(query, FILTER_HOST, *name))
			open_host(&h, dir, *name, request);
	r = r < 0 ? r : join_hosts(&h, dir, out, err);
	vec_foreach (&h.sessions, s)
		session_close(*s);
	vec_foreach (&h.warnings, text)
		free(*text);
	vec_fini(&h.sessions);
	vec_fini(&h.warnings);
	history_names_fini(&names);
	return r;
}
