/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/parts.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "store/session.h"

#define NS_PER_SECOND 1000000000ULL
#define NS_PER_MS     1000000ULL
#define SLEWED_NS     (NS_PER_SECOND / 2)

/* Names of which all are taken: nothing that a clock could do. */
#define TAKEN_MAX 10000

void part_name(uint64_t wall_ns, char name[static PART_NAME_SIZE])
{
	time_t seconds = (time_t)(wall_ns / NS_PER_SECOND);
	struct tm t;
	size_t n;

	gmtime_r(&seconds, &t);
	n = strftime(name, PART_NAME_SIZE, "%Y%m%dT%H%M%S", &t);
	snprintf(name + n, PART_NAME_SIZE - n, ".%03uZ",
		 (unsigned)(wall_ns % NS_PER_SECOND / NS_PER_MS));
}

uint64_t part_time(const char *name)
{
	struct tm t = { 0 };
	unsigned ms;
	int end = 0;

	if (strlen(name) < 20 ||
	    sscanf(name, "%4d%2d%2dT%2d%2d%2d.%3uZ%n", &t.tm_year, &t.tm_mon, &t.tm_mday,
		   &t.tm_hour, &t.tm_min, &t.tm_sec, &ms, &end) != 7 ||
	    end != 20 || (name[end] && name[end] != '-'))
		return 0;
	t.tm_year -= 1900;
	t.tm_mon--;
	return (uint64_t)timegm(&t) * NS_PER_SECOND + ms * NS_PER_MS;
}

char *part_path(const char *dir, uint64_t wall_ns)
{
	char name[PART_NAME_SIZE];
	char *path;

	part_name(wall_ns, name);
	path = xasprintf("%s/%s", dir, name);
	for (int i = 2; access(path, F_OK) == 0 && i < TAKEN_MAX; i++) {
		free(path);
		path = xasprintf("%s/%s-%d", dir, name, i);
	}
	return path;
}

enum part_due part_due(const struct part_clock *start, uint64_t most_ns, uint64_t wall_ns,
		       uint64_t mono_ns)
{
	int64_t off = (int64_t)(wall_ns - mono_ns) - (int64_t)(start->wall_ns - start->mono_ns);

	if ((uint64_t)llabs(off) > SLEWED_NS)
		return PART_CLOCK_SET;
	return mono_ns - start->mono_ns >= most_ns ? PART_IS_OVER : PART_GOES_ON;
}

static int is_part(const struct dirent *d)
{
	return part_time(d->d_name) != 0;
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

int part_names_list(const char *dir, struct part_names *out, struct error *err)
{
	DIR *d = opendir(dir);

	if (!d)
		return errno == ENOENT ? 0 : error_errno(err, -errno, "cannot read %s", dir);
	for (struct dirent *entry; (entry = readdir(d));)
		if (is_part(entry))
			vec_push(out, xstrdup(entry->d_name));
	closedir(d);
	if (out->n)
		qsort(out->data, out->n, sizeof(*out->data), by_name);
	return 0;
}

void part_names_fini(struct part_names *names)
{
	vec_foreach (names, name)
		free(*name);
	vec_fini(names);
}

static bool holds_something(const struct session *s)
{
	for (uint32_t i = 0; i < s->n_segments; i++)
		if (s->segments[i]->n_blocks)
			return true;
	return s->n_parts > 0;
}

/* 1: it had no end. */
static int tidy_part(const char *path, struct error *err)
{
	cleanup(free_at_exit) char *reserve = xasprintf("%s/samples/current/reserve", path);
	cleanup(session_close_at_exit) struct session *s = NULL;
	bool is_reserved = unlink(reserve) == 0;
	int r;

	if (!is_reserved)
		return 0;
	/* What can't be read now may be what a newer assay has written: it stays. */
	if (session_open(path, &s, NULL) < 0 || holds_something(s))
		return 1;
	r = file_remove_tree(path, err);
	return r < 0 ? r : 1;
}

int parts_tidy(const char *dir, struct error *err)
{
	struct part_names names = { 0 };
	int n = 0, r = part_names_list(dir, &names, err);

	for (size_t i = 0; i < names.n && r >= 0; i++) {
		cleanup(free_at_exit) char *path = xasprintf("%s/%s", dir, names.data[i]);

		r = tidy_part(path, err);
		n += r > 0;
	}
	part_names_fini(&names);
	return r < 0 ? r : n;
}
