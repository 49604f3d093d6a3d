/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/files/cache_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

/*
 * True if the directory belongs to this user or, where it is not there yet, if this user
 * would make it: root only below what is root's.
 */
static bool is_ours(const char *dir)
{
	cleanup(free_at_exit) char *copy = xstrdup(dir);
	bool is_there = true;
	struct stat st;
	char *slash;

	if (dir[0] != '/')
		return false;
	while (stat(copy, &st) < 0) {
		slash = strrchr(copy, '/');
		if (errno != ENOENT || slash == copy)
			return false;
		*slash = '\0';
		is_there = false;
	}
	if (!S_ISDIR(st.st_mode))
		return false;
	return st.st_uid == geteuid() ||
	       (!is_there && geteuid() && faccessat(AT_FDCWD, copy, W_OK, AT_EACCESS) == 0);
}

static char *take_if_ours(char *dir)
{
	if (is_ours(dir))
		return dir;
	free(dir);
	return NULL;
}

char *cache_dir(const char *what)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	const struct passwd *user;
	char *dir = NULL;

	if (xdg && *xdg)
		dir = take_if_ours(xasprintf("%s/assay/%s", xdg, what));
	if (!dir && home && *home)
		dir = take_if_ours(xasprintf("%s/.cache/assay/%s", home, what));
	if (!dir && (user = getpwuid(geteuid())) && user->pw_dir)
		dir = take_if_ours(xasprintf("%s/.cache/assay/%s", user->pw_dir, what));
	return dir;
}
