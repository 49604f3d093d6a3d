/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of parts that were merged, or removed. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/files/file.h"
#include "fleet/fleet_sums.h"
#include "fleet/fleet_sums_make.h"
#include "store/session.h"

int fleet_sums_remove(const char *fleet, const char *name, struct error *err)
{
	cleanup(free_at_exit) char *path = fleet_sums_path(fleet, name);

	return file_remove_tree(path, err);
}

char *fleet_sums_replaced(const char *fleet, const char *host, const char *part)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s/%s", fleet, host, part);
	struct session_info info;
	struct session_end end;
	char *names = NULL;

	if (session_extent(path, &info, &end, &names) >= 0 && *names)
		return names;
	free(names);
	return NULL;
}

bool fleet_sums_names_have(const struct history_names *sorted, char *const *name)
{
	return sorted->n && bsearch(name, sorted->data, sorted->n, sizeof(*name), history_by_name);
}

static struct sums_source *find_source(struct fleet_sums *s, const char *host, const char *part)
{
	for (size_t i = fleet_sums_first_of(s, host);
	     i < s->sources.n && !strcmp(s->sources.data[i].host, host); i++)
		if (!strcmp(s->sources.data[i].part, part))
			return &s->sources.data[i];
	return NULL;
}

/* Puts a merged part in the place of the parts that it replaces, if the sums have all of them. */
static bool follow_part(const char *fleet, struct fleet_sums *s, const char *host, const char *part,
			char *replaced)
{
	struct sums_source x = { .first_ns = UINT64_MAX };
	cleanup(free_at_exit) char *path = xasprintf("%s/%s/%s", fleet, host, part);
	cleanup(free_at_exit) char *copy = xstrdup(replaced);
	struct part_extent extent;
	char *rest = copy, *name;
	size_t n = 0;

	while ((name = strsep(&rest, " "))) {
		const struct sums_source *old = find_source(s, host, name);

		if (!old)
			return false;
		x.units |= old->units;
		x.samples += old->samples;
		if (old->first_ns < x.first_ns)
			x.rates = old->rates;
		x.first_ns = MIN(x.first_ns, old->first_ns);
		x.last_ns = MAX(x.last_ns, old->last_ns);
	}
	if (!x.rates || !history_extent(path, &extent) || extent.block_ns > s->unit_ns ||
	    !fleet_sums_look(fleet, host, part, &x.bytes, &x.changed_ns))
		return false;
	x.block_ns = extent.block_ns;
	x.host = xstrdup(host);
	x.rates = xstrdup(x.rates);
	snprintf(x.part, sizeof(x.part), "%s", part);
	for (rest = replaced; (name = strsep(&rest, " "));) {
		struct sums_source *old = find_source(s, host, name);

		if (!old)
			continue;
		free(old->host);
		free(old->rates);
		n = (size_t)(old - s->sources.data);
		memmove(old, old + 1, (s->sources.n - n - 1) * sizeof(*old));
		s->sources.n--;
	}
	vec_push(&s->sources, x);
	return true;
}

static void write_sources(const char *fleet, struct fleet_sums *s)
{
	cleanup(free_at_exit) char *dir = fleet_sums_path(fleet, s->name);
	cleanup(free_at_exit) char *path = xasprintf("%s/" FLEET_SUMS_SOURCES, dir);
	struct buf text = { 0 };

	fleet_sums_print(s, &text);
	/* If it fails, the sums have parts that are gone, so they do not count. */
	file_replace(path, text.data, text.len, NULL);
	buf_fini(&text);
}

void fleet_sums_follow(const char *fleet, const char *host, const struct history_names *before,
		       const struct history_names *after)
{
	cleanup(free_at_exit) char *dir = xasprintf("%s/" FLEET_SUMS_DIR, fleet);
	struct history_names names = { 0 };

	if (history_list(dir, &names) < 0)
		return;
	vec_foreach (&names, name) {
		struct fleet_sums s;
		bool is_new = false;

		if (!fleet_sums_read(fleet, *name, &s))
			continue;
		vec_foreach (after, part) {
			cleanup(free_at_exit) char *replaced =
				fleet_sums_names_have(before, part)
					? NULL
					: fleet_sums_replaced(fleet, host, *part);

			if (replaced && follow_part(fleet, &s, host, *part, replaced)) {
				is_new = true;
				qsort(s.sources.data, s.sources.n, sizeof(*s.sources.data),
				      sums_source_compare);
			}
		}
		if (is_new)
			write_sources(fleet, &s);
		fleet_sums_fini(&s);
	}
	history_names_fini(&names);
}

/* Removes sums that were being made when their process ended. */
static int remove_unfinished(const char *fleet, const char *dir, struct error *err)
{
	const struct dirent *entry;
	DIR *d = opendir(dir);
	int r = 0;

	while (d && r >= 0 && (entry = readdir(d)))
		if (!strncmp(entry->d_name, FLEET_SUMS_MAKE_PREFIX, strlen(FLEET_SUMS_MAKE_PREFIX)))
			r = fleet_sums_remove(fleet, entry->d_name, err);
	if (d)
		closedir(d);
	return r;
}

int fleet_sums_forget(const char *fleet, const char *host, struct error *err)
{
	cleanup(free_at_exit) char *dir = xasprintf("%s/" FLEET_SUMS_DIR, fleet);
	struct history_names names = { 0 };
	int r = history_list(dir, &names);

	r = r < 0 ? r : remove_unfinished(fleet, dir, err);
	for (size_t i = 0; r >= 0 && i < names.n; i++) {
		struct fleet_sums s;
		size_t at;

		/* Whose list is damaged, may have the host. */
		if (!host || !fleet_sums_read(fleet, names.data[i], &s)) {
			r = fleet_sums_remove(fleet, names.data[i], err);
			continue;
		}
		at = fleet_sums_first_of(&s, host);
		if (at < s.sources.n && !strcmp(s.sources.data[at].host, host))
			r = fleet_sums_remove(fleet, names.data[i], err);
		fleet_sums_fini(&s);
	}
	history_names_fini(&names);
	return r == -ENOENT ? 0 : r;
}
