/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"

/* The mount point of the perf_event controller's hierarchy: v1 if it is in use. */
static char *find_hierarchy(void)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	char *found = NULL;

	while (mounts && (m = getmntent(mounts))) {
		bool is_v1 = !strcmp(m->mnt_type, "cgroup") && hasmntopt(m, "perf_event");

		if (!is_v1 && (found || strcmp(m->mnt_type, "cgroup2")))
			continue;
		free(found);
		found = xstrdup(m->mnt_dir);
		if (is_v1)
			break;
	}
	if (mounts)
		endmntent(mounts);
	return found;
}

int cgroup_mount(char **out, struct error *err)
{
	*out = find_hierarchy();
	return *out ? 0
		    : error_set(err, -ENOENT,
				"there are no control groups: neither cgroup2 nor the perf_event "
				"hierarchy of cgroup v1 is mounted");
}

bool cgroup_has_v1(void)
{
	FILE *f = fopen("/proc/cgroups", "re");
	char line[256];
	bool has_v1 = false;
	unsigned int find_hierarchy;

	while (f && fgets(line, sizeof(line), f))
		has_v1 |= sscanf(line, "%*[^#\t] %u", &find_hierarchy) == 1 && find_hierarchy;
	if (f)
		fclose(f);
	return has_v1;
}

/* The first controller that can be enabled at the top of cgroup2; "": none. */
static void find_first_controller(const char *mount, char name[static 32])
{
	cleanup(free_at_exit) char *path = xasprintf("%s/cgroup.controllers", mount);
	char line[256] = "";

	file_read_line(path, line, sizeof(line));
	snprintf(name, 32, "%.*s", (int)strcspn(line, " "), line);
}

int cgroup_explain(int fd, int code, struct error *err)
{
	cleanup(free_at_exit) char *mount = find_hierarchy();
	char path[PATH_MAX] = "", link[64], controller[32];
	struct statfs fs = { 0 };
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[MAX(n, 0)] = '\0';
	fstatfs(fd, &fs);
	if (fs.f_type != CGROUP2_SUPER_MAGIC || !mount)
		return error_set(err, code,
				 "the control group %s has no perf_event controller: name a group "
				 "of the hierarchy that is mounted with -o perf_event",
				 path);
	find_first_controller(mount, controller);
	if (!*controller)
		return error_set(
			err, code,
			"the control group %s has no perf_event controller: all controllers "
			"belong to cgroup v1 here. As root, 'mount -t cgroup -o perf_event "
			"none DIRECTORY', and make the group there",
			path);
	return error_set(err, code,
			 "the control group %s has no perf_event controller: Linux gives it to the "
			 "groups of cgroup2 as soon as any controller is enabled. As root, 'echo "
			 "+%s >%s/cgroup.subtree_control'",
			 path, controller, mount);
}

static bool is_cgroup(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 &&
	       (fs.f_type == CGROUP_SUPER_MAGIC || fs.f_type == CGROUP2_SUPER_MAGIC);
}

int cgroup_open(const char *name, struct error *err)
{
	cleanup(free_at_exit) char *mount = find_hierarchy();
	cleanup(free_at_exit) char *path = NULL;
	int fd;

	if (!mount)
		return error_set(err, -ENOENT,
				 "no control groups for '%s': neither cgroup2 nor the perf_event "
				 "hierarchy of cgroup v1 is mounted",
				 name);
	path = strncmp(name, mount, strlen(mount)) ? xasprintf("%s/%s", mount, name)
						   : xstrdup(name);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_errno(err, -errno, "no control group '%s' (%s)", name, path);
	if (!is_cgroup(fd)) {
		close(fd);
		return error_set(err, -EINVAL, "%s is not a control group", path);
	}
	return fd;
}
