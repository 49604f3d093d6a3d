/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/history/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "base/path.h"
#include "store/format.h"
#include "store/history/history.h"
#include "store/history/merge.h"
#include "store/session.h"

#define BEING_PACKED ".merge-pack-"

/* The path of the packed part while it is made; readers skip it. */
static char *hidden_path(const char *path)
{
	const char *name = path_file_name(path);

	return xasprintf("%.*s" BEING_PACKED "%s", (int)(name - path), path, name);
}

/* Syncs the whole part before the names change. So a crash of the machine leaves no half of it. */
static int write_to_disk(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd >= 0 && syncfs(fd) == 0 ? 0 : -errno;

	close_at_exit(&fd);
	return r;
}

static int pack_into(const struct session *s, const char *hidden, bool keeps_times,
		     const struct overview_rule *overviews, struct error *err)
{
	const struct merge_config config = { .keeps_times = keeps_times,
					     .block_ns = MAX(s->info.block_ns, NS_PER_SECOND),
					     .replaces = s->info.replaces,
					     .overviews = *overviews };
	struct merge_result result;
	int r = session_merge(s, &config, hidden, &result, err);

	if (r < 0)
		return r;
	r = write_to_disk(hidden);
	return r < 0 ? error_errno(err, r, "cannot write %s", hidden) : 0;
}

static bool is_to_be_packed(const struct session *s, bool may_lack_end)
{
	return s->info.start_wall_ns && !s->n_parts && s->n_segments &&
	       (s->has_end || may_lack_end) && !s->warnings.n;
}

/*
 * A packed part with exact times has the version of times, and groups of seconds. A block of a
 * fleet is packed.
 */
static bool part_is_packed(const char *path, bool keeps_times)
{
	int version = session_format(path);

	return version == SEGMENT_VERSION_GROUPS || version == SEGMENT_VERSION_LISTS ||
	       (version == SEGMENT_VERSION_TIMES && keeps_times && session_has_groups(path));
}

int part_pack(const char *path, bool may_lack_end, bool keeps_times,
	      const struct overview_rule *overviews, struct error *err)
{
	cleanup(free_at_exit) char *hidden = hidden_path(path);
	cleanup(session_close_at_exit) struct session *s = NULL;
	int r;

	if (part_is_packed(path, keeps_times))
		return 0;
	r = session_open(path, &s, err);
	if (r < 0)
		return r;
	if (!is_to_be_packed(s, may_lack_end))
		return 0;
	file_remove_tree(hidden, NULL);
	r = pack_into(s, hidden, keeps_times, overviews, err);
	if (!r && renameat2(AT_FDCWD, hidden, AT_FDCWD, path, RENAME_EXCHANGE) < 0)
		r = errno == EINVAL || errno == ENOSYS
			    ? -EOPNOTSUPP
			    : error_errno(err, -errno, "cannot exchange %s", path);
	file_remove_tree(hidden, NULL);
	if (r == -EOPNOTSUPP)
		return 0;
	return r < 0 ? r : 1;
}
