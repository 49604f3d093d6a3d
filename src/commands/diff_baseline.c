/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/diff_baseline.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "store/session.h"

static int newer_first(const void *a, const void *b)
{
	const struct dated_session *x = a, *y = b;

	return (x->start_ns < y->start_ns) - (x->start_ns > y->start_ns);
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Whether the path is a session that has ended. A newer assay's is refused when it is opened. */
static bool is_whole_session(const char *path, uint64_t *start_ns)
{
	struct session_info info;
	struct session_end end;
	int r = session_extent(path, &info, &end, NULL);

	*start_ns = r < 0 ? UINT64_MAX : info.start_wall_ns;
	return r >= 0 || r == -EPROTONOSUPPORT;
}

int diff_baseline_find(const char *dir, const char *except, uint64_t most,
		       struct diff_baseline *out, struct error *err)
{
	const struct dirent *entry;
	DIR *d = opendir(dir);

	*out = (struct diff_baseline){ 0 };
	if (!d)
		return error_errno(err, -errno, "cannot read %s", dir);
	while ((entry = readdir(d))) {
		struct dated_session s = { 0 };

		if (entry->d_name[0] == '.')
			continue;
		s.path = xasprintf("%s/%s", dir, entry->d_name);
		if (is_whole_session(s.path, &s.start_ns) &&
		    !(except && is_same_file(s.path, except)))
			vec_push(&out->sessions, s);
		else
			free(s.path);
	}
	closedir(d);
	if (out->sessions.n)
		qsort(out->sessions.data, out->sessions.n, sizeof(*out->sessions.data),
		      newer_first);
	while (out->sessions.n > most)
		free(out->sessions.data[--out->sessions.n].path);
	if (out->sessions.n < 2)
		return error_set(err, -ENOENT, "%s has %zu sessions%s; a spread needs two at least",
				 dir, out->sessions.n, except ? " besides the new one" : "");
	return 0;
}

void diff_baseline_fini(struct diff_baseline *b)
{
	vec_foreach (&b->sessions, session)
		free(session->path);
	vec_fini(&b->sessions);
}
