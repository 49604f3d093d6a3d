/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/session_join.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/intmap.h"
#include "base/reserve.h"
#include "store/format.h"
#include "store/segment_parse.h"

/* ---- several as one ---- */

struct joined {
	struct session *session;
	VEC(struct counter_info) counters;
	struct intmap by_key; /* of an event: index + 1 of counters */
	bool any_rate;
};

static bool is_same_counter(const struct counter_info *a, const struct counter_info *b,
			    bool any_rate)
{
	return !strcmp(a->name, b->name) && a->count == b->count &&
	       (a->freq_hz == b->freq_hz || (any_rate && a->freq_hz && b->freq_hz)) &&
	       a->unit_mask == b->unit_mask && a->in_user == b->in_user &&
	       a->in_kernel == b->in_kernel;
}

/* Equal for those that are the same. */
static uint64_t counter_key(const struct joined *j, const struct counter_info *c)
{
	const uint64_t values[] = { c->count,     j->any_rate ? c->freq_hz != 0 : c->freq_hz,
				    c->unit_mask, c->in_user,
				    c->in_kernel, XXH3_64bits(c->name, strlen(c->name)) };

	return XXH3_64bits(values, sizeof(values));
}

static uint32_t find_counter(struct joined *j, const struct counter_info *c)
{
	uint32_t *known = intmap_put(&j->by_key, counter_key(j, c), NULL);

	/* An event may have gone (session_join_fits()), or another one may have the key. */
	if (*known && *known <= j->counters.n &&
	    is_same_counter(&j->counters.data[*known - 1], c, j->any_rate))
		return *known - 1;
	for (uint32_t i = 0; *known && i < j->counters.n; i++)
		if (is_same_counter(&j->counters.data[i], c, j->any_rate))
			return i;
	vec_push(&j->counters, *c);
	*known = (uint32_t)j->counters.n;
	return *known - 1;
}

void session_join_fits(struct session *const *parts, uint32_t n, bool *fits)
{
	struct joined j = { .any_rate = true };

	for (uint32_t i = 0; i < n; i++) {
		size_t before = j.counters.n;

		for (uint32_t k = 0; k < parts[i]->info.n_counters; k++)
			find_counter(&j, &parts[i]->info.counters[k]);
		fits[i] = j.counters.n <= SESSION_JOINED_EVENTS_MAX;
		j.counters.n = fits[i] ? j.counters.n : before;
	}
	intmap_fini(&j.by_key);
	vec_fini(&j.counters);
}

uint32_t session_event_of_part(const struct session *joined, const struct counter_info *event)
{
	uint32_t i = 0;

	while (i < joined->info.n_counters &&
	       !is_same_counter(&joined->info.counters[i], event, true))
		i++;
	return i;
}

static void renumber(struct segment *segment, const uint32_t *counters, uint64_t shift_ns)
{
	for (uint32_t i = 0; i < segment->n_classes; i++)
		segment->classes[i].counter = counters[segment->classes[i].counter];
	segment_shift(segment, shift_ns);
}

static void joined_add_part(struct joined *j, struct session *part, bool is_only)
{
	struct session *s = j->session;
	/* Unsigned numbers wrap, so this is right for a clock that is behind, too. */
	uint64_t shift_ns = (part->info.start_wall_ns - s->info.start_wall_ns) -
			    (part->info.start_ns - s->info.start_ns);
	uint32_t *counters = xcalloc(part->info.n_counters + 1, sizeof(*counters));

	for (uint32_t i = 0; i < part->info.n_counters; i++)
		counters[i] = find_counter(j, &part->info.counters[i]);
	s->segments =
		xrealloc(s->segments, s->n_segments + part->n_segments + 1, sizeof(*s->segments));
	for (uint32_t i = 0; i < part->n_segments; i++) {
		renumber(part->segments[i], counters, shift_ns);
		s->segments[s->n_segments++] = part->segments[i];
	}
	free(counters);
	vec_foreach (&part->warnings, text)
		vec_push(&s->warnings,
			 is_only ? xstrdup(*text) : xasprintf("%s: %s", part->path, *text));
	s->size_bytes += part->size_bytes;
	s->has_end = s->has_end && part->has_end;
	s->end.end_ns = MAX(s->end.end_ns, part->end.end_ns + shift_ns);
	s->info.merged |= part->info.merged;
	s->block_ns = MAX(s->block_ns, part->block_ns);
}

static int by_start(const void *a, const void *b)
{
	const struct session *const *x = a, *const *y = b;
	uint64_t s = (*x)->info.start_wall_ns, t = (*y)->info.start_wall_ns;

	return (s > t) - (s < t);
}

static int join_sessions(struct session **parts, uint32_t n, bool any_rate, size_t most_events,
			 struct session **out, struct error *err)
{
	struct joined j = { .session = xcalloc(1, sizeof(*j.session)), .any_rate = any_rate };
	struct session *s = j.session;

	qsort(parts, n, sizeof(*parts), by_start);
	*s = (struct session){ .path = xstrdup(parts[0]->path),
			       .dir = xstrdup(parts[0]->dir),
			       .info = parts[0]->info,
			       .end = parts[0]->end,
			       .has_end = parts[0]->has_end,
			       .parts = xcalloc(n, sizeof(*s->parts)),
			       .n_parts = n };
	memcpy(s->parts, parts, n * sizeof(*parts));
	for (uint32_t i = 0; i < n && reserve_check() >= 0; i++)
		joined_add_part(&j, parts[i], n == 1);
	s->info.counters = j.counters.data;
	s->info.n_counters = (uint32_t)j.counters.n;
	intmap_fini(&j.by_key);
	if (j.counters.n > most_events) {
		session_close(s);
		return error_set(err, -E2BIG, "more than %zu different events in %u sessions",
				 most_events, n);
	}
	if (reserve_check() < 0) {
		session_close(s);
		return reserve_error(err);
	}
	*out = s;
	return 0;
}

int session_join(struct session **parts, uint32_t n, bool any_rate, struct session **out,
		 struct error *err)
{
	return join_sessions(parts, n, any_rate, SESSION_COUNTERS_MAX, out, err);
}

int session_join_to_read(struct session **parts, uint32_t n, bool any_rate, struct session **out,
			 struct error *err)
{
	return join_sessions(parts, n, any_rate, SESSION_JOINED_EVENTS_MAX, out, err);
}

static void range_widen(struct rate_range *range, const struct session *s,
			const struct counter_info *c)
{
	for (uint32_t i = 0; i < s->info.n_counters; i++) {
		const struct counter_info *other = &s->info.counters[i];

		if (is_same_counter(other, c, true)) {
			range->low_hz = MIN(range->low_hz, other->freq_hz);
			range->high_hz = MAX(range->high_hz, other->freq_hz);
		}
	}
	for (uint32_t i = 0; i < s->n_parts; i++) /* a fleet has hosts, and a host has parts */
		range_widen(range, s->parts[i], c);
}

struct rate_range session_rates(const struct session *s, const struct counter_info *c)
{
	struct rate_range range = { c->freq_hz, c->freq_hz };

	for (uint32_t i = 0; i < s->info.n_counters; i++) /* joined without any_rate */
		if (s->info.counters[i].freq_hz != c->freq_hz &&
		    is_same_counter(&s->info.counters[i], c, true))
			return range;
	range_widen(&range, s, c);
	return range;
}

/* ---- saved sessions ---- */

int session_save(const char *dir, const char *name, struct error *err)
{
	cleanup(free_at_exit) char *from = xasprintf("%s/samples/current", dir);
	cleanup(free_at_exit) char *to = xasprintf("%s/samples/%s", dir, name);
	struct stat st;

	if (!*name || *name == '.' || strchr(name, '/'))
		return error_set(err, -EINVAL,
				 "'%s' can't be the name of a saved session: no slash, and no dot "
				 "in front",
				 name);
	if (stat(from, &st) < 0)
		return error_errno(err, -errno, "no session to save: %s", from);
	if (lstat(to, &st) == 0)
		return error_set(err, -EEXIST, "there is a session '%s' already: %s", name, to);
	if (rename(from, to) < 0)
		return error_errno(err, -errno, "cannot save the session as %s", to);
	return 0;
}

void session_names_fini(struct session_names *names)
{
	vec_foreach (names, name)
		free(*name);
	vec_fini(names);
}

static int session_names_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void session_names_list(const char *dir, struct session_names *out)
{
	cleanup(free_at_exit) char *samples = xasprintf("%s/samples", dir);
	DIR *folder = opendir(samples);
	const struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		cleanup(free_at_exit) char *path = xasprintf("%s/%s", samples, entry->d_name);
		struct stat st;

		if (entry->d_name[0] != '.' && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
			vec_push(out, xstrdup(entry->d_name));
	}
	if (folder)
		closedir(folder);
	if (out->n)
		qsort(out->data, out->n, sizeof(*out->data), session_names_compare);
}
