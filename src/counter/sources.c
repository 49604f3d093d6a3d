/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counter/sources.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif

const char *sources_sysfs(const struct counter_sources *s)
{
	const char *set = getenv("SYSFS_PATH"); /* perf's name for it */

	return s && s->sysfs ? s->sysfs : set && *set ? set : "/sys";
}

const char *sources_proc(const struct counter_sources *s)
{
	return s && s->proc ? s->proc : "/proc";
}

bool sources_tracefs(const struct counter_sources *s, char path[static PATH_MAX])
{
	static const char *const below_sysfs[] = { "kernel/tracing", "kernel/debug/tracing" };
	char events[PATH_MAX];

	if (s && s->tracefs) {
		snprintf(path, PATH_MAX, "%s", s->tracefs);
		snprintf(events, sizeof(events), "%s/events", s->tracefs);
		return access(events, F_OK) == 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(below_sysfs); i++) {
		snprintf(path, PATH_MAX, "%s/%s", sources_sysfs(s), below_sysfs[i]);
		snprintf(events, sizeof(events), "%s/%s/events", sources_sysfs(s), below_sysfs[i]);
		/* Closed to this user is there all the same: EACCES is for the reader to say. */
		if (access(events, F_OK) == 0 || errno == EACCES)
			return true;
	}
	snprintf(path, PATH_MAX, "%s/%s", sources_sysfs(s), below_sysfs[0]);
	return false;
}

bool sources_number(const struct counter_sources *s, const char *file, int64_t *out)
{
	char path[PATH_MAX], line[64], *end;
	long long v;

	snprintf(path, sizeof(path), "%s/%s", sources_proc(s), file);
	if (!file_read_line(path, line, sizeof(line)))
		return false;
	errno = 0;
	v = strtoll(line, &end, 10);
	if (errno || end == line || *end)
		return false;
	*out = v;
	return true;
}

int sources_paranoid(const struct counter_sources *s)
{
	int64_t level = 2;

	sources_number(s, "sys/kernel/perf_event_paranoid", &level);
	return (int)MAX(MIN(level, INT_MAX), INT_MIN);
}

uint64_t sources_max_rate(const struct counter_sources *s)
{
	int64_t rate = 0;

	sources_number(s, "sys/kernel/perf_event_max_sample_rate", &rate);
	return rate > 0 ? (uint64_t)rate : 0;
}

/* The number behind "FIELD:" in /proc/self/status. */
static bool status_number(const struct counter_sources *s, const char *field, int base,
			  uint64_t *out)
{
	char path[PATH_MAX], *text = NULL, *line, *key;
	size_t size;

	snprintf(path, sizeof(path), "%s/self/status", sources_proc(s));
	if (file_read_all(path, 1 << 16, &text, &size) < 0)
		return false;
	key = xasprintf("\n%s:", field);
	line = strstr(text, key);
	if (line)
		*out = strtoull(line + strlen(key), NULL, base);
	free(key);
	free(text);
	return line != NULL;
}

bool sources_capable(const struct counter_sources *s, int capability)
{
	uint64_t mask = 0;

	return status_number(s, "CapEff", 16, &mask) && (mask >> capability & 1);
}

bool sources_seccomp(const struct counter_sources *s, int64_t *mode)
{
	uint64_t v = 0;

	if (!status_number(s, "Seccomp", 10, &v))
		return false;
	*mode = (int64_t)v;
	return true;
}

bool sources_perfmon(const struct counter_sources *s)
{
	return sources_capable(s, CAP_PERFMON) || sources_capable(s, CAP_SYS_ADMIN);
}

/* "none [integrity] confidentiality": the level between brackets. */
bool sources_confidential(const struct counter_sources *s)
{
	char path[PATH_MAX], line[128];

	snprintf(path, sizeof(path), "%s/kernel/security/lockdown", sources_sysfs(s));
	return file_read_line(path, line, sizeof(line)) && strstr(line, "[confidentiality]");
}

bool sources_may_kernel(const struct counter_sources *s)
{
	return sources_paranoid(s) < 2 || sources_perfmon(s);
}

int sources_open_in_group(const struct counter_sources *s, const struct perf_event_attr *attr,
			  int pid, int cpu, int leader)
{
	struct perf_event_attr copy = *attr; /* the kernel writes its own size back on E2BIG */
	int fd;

	copy.size = sizeof(copy);
	errno = 0;
	if (s && s->perf_event_open)
		fd = s->perf_event_open(&copy, pid, cpu, leader, PERF_FLAG_FD_CLOEXEC);
	else
		fd = (int)syscall(SYS_perf_event_open, &copy, pid, cpu, leader,
				  PERF_FLAG_FD_CLOEXEC);
	return fd >= 0 ? fd : errno ? -errno : -EIO;
}

int sources_open(const struct counter_sources *s, const struct perf_event_attr *attr, int pid,
		 int cpu)
{
	return sources_open_in_group(s, attr, pid, cpu, -1);
}
