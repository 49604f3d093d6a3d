/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counter/uprobe_events.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "counter/pmu.h"
#include "counter/sources.h"
#include "counter/uprobe.h"

#define GROUP_PREFIX "assay_"
#define LIST_MAX     (4 << 20)

struct uprobe_events {
	char list[PATH_MAX]; /* the file */
	char group[64];
	size_t n;
};

/* When a process began, in the kernel's ticks; 0: it has ended. */
static uint64_t process_start(const struct counter_sources *sources, int32_t pid)
{
	char path[PATH_MAX], line[1024], *at;
	uint64_t start = 0;

	snprintf(path, sizeof(path), "%s/%d/stat", sources_proc(sources), pid);
	at = file_read_line(path, line, sizeof(line)) ? strrchr(line, ')') : NULL;
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (at)
		start = strtoull(at, NULL, 10);
	return start;
}

/* A line is one command. */
static int __attribute__((format(printf, 2, 3)))
write_list(const struct uprobe_events *e, const char *format, ...)
{
	cleanup(close_at_exit) int fd = open(e->list, O_WRONLY | O_APPEND | O_CLOEXEC);
	char line[PATH_MAX + 256];
	va_list ap;
	int n;

	if (fd < 0)
		return -errno;
	va_start(ap, format);
	n = vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(line))
		return -ENAMETOOLONG;
	return write(fd, line, (size_t)n) == n ? 0 : -errno;
}

/* "p:assay_12_345/p0 /path:0x…": whether the process of the group is there. */
static bool is_abandoned(const struct counter_sources *sources, const char *group)
{
	int32_t pid;
	uint64_t start;

	if (sscanf(group, GROUP_PREFIX "%" SCNd32 "_%" SCNu64 "/", &pid, &start) != 2)
		return false;
	return process_start(sources, pid) != start;
}

/*
 * A process in another pid namespace looks like one that has ended. The kernel refuses to remove
 * what it uses.
 */
static void remove_abandoned(const struct counter_sources *sources, const struct uprobe_events *e)
{
	char *text = NULL, *rest;
	size_t size;

	if (file_read_all(e->list, LIST_MAX, &text, &size) < 0)
		return;
	rest = text;
	for (char *line; (line = strsep(&rest, "\n"));) {
		char *name = strchr(line, ':');

		if (!name || !is_abandoned(sources, name + 1))
			continue;
		name[strcspn(name, " ")] = '\0';
		write_list(e, "-%s\n", name);
	}
	free(text);
}

static bool is_return(const struct counter_sources *sources, const struct counter *c)
{
	return c->attr.config & pmu_format_bits(sources, "uprobe", "retprobe");
}

static uint64_t semaphore_of(const struct counter_sources *sources, const struct counter *c)
{
	uint64_t bits = pmu_format_bits(sources, "uprobe", "ref_ctr_offset");

	return bits ? (c->attr.config & bits) >> __builtin_ctzll(bits) : 0;
}

/* The kernel cuts its lines at spaces, so such a path is given by a descriptor. */
static int add_probe(const struct counter_sources *sources, struct uprobe_events *e,
		     const struct counter *c)
{
	bool has_space = c->probed[strcspn(c->probed, " \t\n")];
	cleanup(close_at_exit) int fd = has_space ? open(c->probed, O_PATH | O_CLOEXEC) : -1;
	cleanup(free_at_exit) char *path =
		has_space ? xasprintf("/proc/self/fd/%d", fd) : xstrdup(c->probed);
	uint64_t semaphore = semaphore_of(sources, c);
	char counted[32] = "";
	int r;

	if (semaphore)
		snprintf(counted, sizeof(counted), "(0x%" PRIx64 ")", semaphore);
	r = write_list(e, "%c:%s/p%zu %s:0x%" PRIx64 "%s\n", is_return(sources, c) ? 'r' : 'p',
		       e->group, e->n, path, (uint64_t)c->attr.probe_offset, counted);
	e->n += r == 0;
	return r;
}

static int read_id(const struct uprobe_events *e, size_t at, uint64_t *out)
{
	char path[PATH_MAX + 128], line[32];

	snprintf(path, sizeof(path), "%.*s/events/%s/p%zu/id",
		 (int)(strlen(e->list) - strlen("/uprobe_events")), e->list, e->group, at);
	if (!file_read_line(path, line, sizeof(line)))
		return -ENOENT;
	*out = strtoull(line, NULL, 10);
	return 0;
}

static void make_tracepoint(struct counter *c, uint64_t id)
{
	c->attr.type = PERF_TYPE_TRACEPOINT;
	c->attr.config = id;
	c->attr.uprobe_path = 0;
	c->attr.probe_offset = 0;
}

static int add_probes(const struct counter_sources *sources, struct uprobe_events *e,
		      struct counters *counters)
{
	cleanup(free_at_exit) uint64_t *ids = xcalloc(counters->n + 1, sizeof(*ids));
	int r = 0;

	for (size_t i = 0; i < counters->n && r == 0; i++)
		if (counter_is_probe(&counters->data[i]) &&
		    (r = add_probe(sources, e, &counters->data[i])) == 0)
			r = read_id(e, e->n - 1, &ids[i]);
	for (size_t i = 0; i < counters->n && r == 0; i++)
		if (counter_is_probe(&counters->data[i]))
			make_tracepoint(&counters->data[i], ids[i]);
	return r;
}

static bool has_probes(const struct counters *counters)
{
	for (size_t i = 0; i < counters->n; i++)
		if (counter_is_probe(&counters->data[i]))
			return true;
	return false;
}

int uprobe_events_begin(const struct counter_sources *sources, struct counters *counters,
			struct uprobe_events **out, struct error *why)
{
	char folder[PATH_MAX];
	struct uprobe_events *e;
	int r;

	*out = NULL;
	if (!has_probes(counters))
		return 0;
	if (!sources_tracefs(sources, folder))
		return error_set(why, -ENOENT, "tracefs is not mounted");
	e = xcalloc(1, sizeof(*e));
	if (snprintf(e->list, sizeof(e->list), "%s/uprobe_events", folder) >=
	    (int)sizeof(e->list)) {
		free(e);
		return error_set(why, -ENAMETOOLONG, "the path of tracefs is too long");
	}
	snprintf(e->group, sizeof(e->group), GROUP_PREFIX "%d_%" PRIu64, (int)getpid(),
		 process_start(sources, getpid()));
	remove_abandoned(sources, e);
	r = add_probes(sources, e, counters);
	if (r < 0) {
		error_errno(why, r, "%s", e->list);
		uprobe_events_end(e);
		return r;
	}
	*out = e;
	return 0;
}

void uprobe_events_end(struct uprobe_events *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->n; i++)
		write_list(e, "-:%s/p%zu\n", e->group, i);
	free(e);
}
