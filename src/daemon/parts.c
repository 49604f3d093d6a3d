/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "store/history/history.h"
#include "store/session.h"

/* A clock that is off by this much was set. */
#define SLEWED_NS (NS_PER_SECOND / 2)

/* If so many names are taken, the clock is not the reason. */
#define TAKEN_MAX 10000

char *part_path(const char *dir, uint64_t wall_ns)
{
	char name[HISTORY_NAME_SIZE];
	char *path = NULL;

	for (unsigned int i = 1; i < TAKEN_MAX && (!path || access(path, F_OK) == 0); i++) {
		free(path);
		history_part_name(wall_ns, i, name);
		path = xasprintf("%s/%s", dir, name);
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

static bool holds_something(const struct session *s)
{
	for (uint32_t i = 0; i < s->n_segments; i++)
		if (s->segments[i]->n_blocks)
			return true;
	return s->n_parts > 0;
}

/* Returns 1 if the part had no end. */
static int tidy_part(const char *path, struct error *err)
{
	cleanup(free_at_exit) char *reserve = xasprintf("%s/samples/current/reserve", path);
	cleanup(session_close_at_exit) struct session *s = NULL;
	bool is_reserved = unlink(reserve) == 0;
	int r;

	if (!is_reserved)
		return 0;
	/* An unreadable part may come from a newer assay: it stays. */
	if (session_open(path, &s, NULL) < 0 || holds_something(s))
		return 1;
	r = file_remove_tree(path, err);
	return r < 0 ? r : 1;
}

int parts_tidy(const char *dir, struct error *err)
{
	struct history_names names = { 0 };
	int n = 0, r = history_list(dir, &names);

	if (r < 0)
		error_errno(err, r, "cannot read %s", dir);
	for (size_t i = 0; i < names.n && r >= 0; i++) {
		cleanup(free_at_exit) char *path = xasprintf("%s/%s", dir, names.data[i]);

		r = tidy_part(path, err);
		n += r > 0;
	}
	history_names_fini(&names);
	return r < 0 ? r : n;
}
