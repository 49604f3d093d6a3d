/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tracepoints: tracefs has a directory events/SYSTEM/NAME for each, whose file
 * `id` is the config of a PERF_TYPE_TRACEPOINT event (perf_event_open(2)).
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/files/file.h"
#include "counter/catalog/catalog.h"
#include "counter/draft.h"
#include "counter/sources.h"

/* A word of the user's becomes part of a path: one component, and not a hidden one. */
static bool tracepoint_is_component(const char *word)
{
	return *word && *word != '.' && !strchr(word, '/') && strlen(word) <= NAME_MAX;
}

static int tracepoint_read_id(const char *tracefs, const char *system, const char *name,
			      uint64_t *id)
{
	char *path = xasprintf("%s/events/%s/%s/id", tracefs, system, name);
	char *text = NULL, *end;
	size_t size;
	int r = file_read_all(path, 64, &text, &size);

	free(path);
	if (r < 0)
		return r;
	errno = 0;
	*id = strtoull(text, &end, 10);
	r = errno || end == text ? -EINVAL : 0;
	free(text);
	return r;
}

int tracepoint_find(const struct counter_sources *sources, const char *system, const char *name,
		    struct draft *out, struct error *err)
{
	char tracefs[PATH_MAX];
	uint64_t id;
	int r;

	if (!tracepoint_is_component(system) || !tracepoint_is_component(name))
		return 0;
	if (!sources_tracefs(sources, tracefs))
		return 0;
	r = tracepoint_read_id(tracefs, system, name, &id);
	if (r == -EACCES || r == -EPERM)
		return error_set(err, r,
				 "tracepoint %s:%s: %s can't be read by this user; run as root, or "
				 "'mount -o remount,mode=755 %s'",
				 system, name, tracefs, tracefs);
	if (r < 0)
		return 0;
	memset(out, 0, sizeof(*out));
	out->attr.type = PERF_TYPE_TRACEPOINT;
	out->attr.config = id;
	return 1;
}

static void each_of_system(const char *events, const char *system, event_visitor visit, void *ctx)
{
	char *path = xasprintf("%s/%s", events, system);
	DIR *dir = opendir(path);
	const struct dirent *d;

	while (dir && (d = readdir(dir))) {
		char *name;

		if (d->d_name[0] == '.' || d->d_type == DT_REG)
			continue;
		name = xasprintf("%s:%s", system, d->d_name);
		visit(ctx,
		      &(struct event_name){ .kind = EVENT_TRACEPOINT, .name = name, .help = "" });
		free(name);
	}
	if (dir)
		closedir(dir);
	free(path);
}

void tracepoint_each(const struct counter_sources *sources, event_visitor visit, void *ctx)
{
	char tracefs[PATH_MAX], *events;
	const struct dirent *d;
	DIR *dir;

	if (!sources_tracefs(sources, tracefs))
		return;
	events = xasprintf("%s/events", tracefs);
	dir = opendir(events);
	while (dir && (d = readdir(dir)))
		if (d->d_name[0] != '.' && d->d_type != DT_REG)
			each_of_system(events, d->d_name, visit, ctx);
	if (dir)
		closedir(dir);
	free(events);
}
