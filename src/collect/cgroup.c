/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

/* The mount point of the hierarchy that the perf_event controller is in: v1 wins where it is used.
 */
static char *hierarchy(void)
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

static bool is_cgroup(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 &&
	       (fs.f_type == CGROUP_SUPER_MAGIC || fs.f_type == CGROUP2_SUPER_MAGIC);
}

int cgroup_open(const char *name, struct error *err)
{
	cleanup(free_at_exit) char *mount = hierarchy();
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
