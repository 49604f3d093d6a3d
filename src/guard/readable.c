/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guard/readable.h"

#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define MAX_GROUPS 1024

struct reader {
	uint32_t user;
	int n_groups;
	gid_t groups[MAX_GROUPS];
};

static void file_reader_init(struct reader *r, uint32_t user)
{
	const struct passwd *p = user == GUARD_NOBODY ? NULL : getpwuid(user);

	r->user = user;
	r->n_groups = MAX_GROUPS;
	if (!p || getgrouplist(p->pw_name, p->pw_gid, r->groups, &r->n_groups) < 0)
		r->n_groups = 0;
}

static bool reader_is_in(const struct reader *r, gid_t group)
{
	for (int i = 0; i < r->n_groups; i++)
		if (r->groups[i] == group)
			return true;
	return false;
}

/* `bit`: 4 to read a file, 1 to pass a folder. The first class that fits decides alone. */
static bool reader_may(const struct reader *r, const struct stat *st, unsigned int bit)
{
	if (st->st_uid == r->user)
		return st->st_mode & (bit << 6);
	if (reader_is_in(r, st->st_gid))
		return st->st_mode & (bit << 3);
	return st->st_mode & bit;
}

/* Cuts the path at each '/' from its end on: the folders up to the root. */
static bool reader_may_pass(const struct reader *r, char *path)
{
	char *slash;
	struct stat st;

	while ((slash = strrchr(path, '/'))) {
		*slash = '\0';
		if (stat(*path ? path : "/", &st) < 0 || !reader_may(r, &st, 1))
			return false;
	}
	return true;
}

bool guard_is_readable_by(int fd, uint32_t user)
{
	char self[40], path[PATH_MAX];
	struct reader r;
	struct stat st;
	ssize_t n;

	if (!user)
		return true;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	n = readlink(self, path, sizeof(path) - 1);
	if (n <= 0 || path[0] != '/' || fstat(fd, &st) < 0)
		return false;
	path[n] = '\0';
	file_reader_init(&r, user);
	return reader_may(&r, &st, 4) && reader_may_pass(&r, path);
}
