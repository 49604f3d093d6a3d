/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/diff_baseline.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "store/session.h"

struct dated {
	char *path;
	uint64_t start_ns;
};

static int newer_first(const void *a, const void *b)
{
	const struct dated *x = a, *y = b;

	return (x->start_ns < y->start_ns) - (x->start_ns > y->start_ns);
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Whether the path is a session that has ended. */
static bool is_whole_session(const char *path, uint64_t *start_ns)
{
	struct session_info info;
	struct session_end end;

	if (session_extent(path, &info, &end, NULL) < 0)
		return false;
	*start_ns = info.start_wall_ns;
	return true;
}

int diff_baseline_find(const char *dir, const char *except, uint64_t most,
		       struct diff_baseline *out, struct error *err)
{
	VEC(struct dated) found = { 0 };
	const struct dirent *entry;
	DIR *d = opendir(dir);

	*out = (struct diff_baseline){ 0 };
	if (!d)
		return error_errno(err, -errno, "cannot read %s", dir);
	while ((entry = readdir(d))) {
		struct dated s = { 0 };

		if (entry->d_name[0] == '.')
			continue;
		s.path = xasprintf("%s/%s", dir, entry->d_name);
		if (is_whole_session(s.path, &s.start_ns) && !is_same_file(s.path, except))
			vec_push(&found, s);
		else
			free(s.path);
	}
	closedir(d);
	if (found.n)
		qsort(found.data, found.n, sizeof(*found.data), newer_first);
	vec_foreach (&found, s)
		if (out->paths.n < most)
			vec_push(&out->paths, s->path);
		else
			free(s->path);
	vec_fini(&found);
	if (out->paths.n < 2)
		return error_set(err, -ENOENT,
				 "%s has %zu sessions besides the new one; a spread needs two at "
				 "least",
				 dir, out->paths.n);
	return 0;
}

void diff_baseline_fini(struct diff_baseline *b)
{
	vec_foreach (&b->paths, path)
		free(*path);
	vec_fini(&b->paths);
}
