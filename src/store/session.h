/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a session. The fields are the interface. They are read-only and belong to the session
 * until session_close().
 *
 * A session holds segments, one file each. A segment has separate ids for strings, images, classes
 * and nodes, and a list of blocks of at most one second each. (Blocks of merged parts are longer:
 * block_ns.) Damage does not end the reading: it becomes a warning and a loss, and the rest is
 * readable. A session can be read while the recorder writes it.
 *
 * Times are nanoseconds of the recorder's CLOCK_MONOTONIC; session_wall_ns() converts them. Threads
 * may read an open session at the same time, but only with separate row readers
 * (row_reader_find()).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/time_window.h"
#include "store/segment.h"
#include "store/store.h"

struct session {
	char *path; /* as it was named */
	char *dir;  /* the directory of the session; differs from `path` for imported files */
	struct session_info info;
	struct session_end end;
	bool has_end; /* false: the recorder was killed, or still runs */
	bool is_live; /* the opener knows that the recorder still runs */
	struct segment **segments;
	uint32_t n_segments;
	struct session **parts; /* of a joined session (store/session_join.h), else NULL */
	uint32_t n_parts;
	VEC(char *) warnings;      /* whole sentences: torn tail, damaged block … */
	uint64_t size_bytes;       /* on disk */
	bool has_window;           /* opened for a stretch of time (store/history/history.h) … */
	struct time_window window; /* … namely this */
	uint64_t block_ns;         /* length of the longest block; 0: a second */
	char *host;                /* of a fleet's part: the host (fleet/fleet_open.h); NULL */
	/* Of a fleet: hosts with samples here, and hosts that were asked for; 0: no fleet. */
	uint32_t n_hosts, n_hosts_asked;
};

/*
 * Fails if the path is not a session, or if the session has a newer version or is unreadable. The
 * message names the reason and the remedy. Damage is not a failure.
 */
int session_open(const char *path, struct session **out, struct error *err);

/*
 * Chooses blocks by the times of their first and last sample (CLOCK_REALTIME, ns; the session's
 * start gives the offset). Of other blocks, only the parts that later blocks need are read.
 */
struct block_span {
	uint64_t first_ns, last_ns;
	uint64_t timed_ns; /* as in struct block */
	uint64_t samples;
};
struct block_filter {
	bool (*takes)(void *context, const struct block_span *span);
	void *context;
	/* Blocks with exact times are cut to this window. NULL: they stay whole. */
	const struct time_window *cut;
	uint64_t until_ns; /* blocks that begin here or later are not wanted; takes() may lower
			    * it */
	/*
	 * For a block of an overview (store/history/history.h), which is level_ns long. Overviews
	 * come before the blocks that they sum up, the longest first. NULL: overviews are left out.
	 */
	bool (*takes_overview)(void *context, uint64_t level_ns, uint64_t first_ns,
			       uint64_t last_ns);
	bool nodes_later; /* segment_load_nodes() reads the nodes (store/needed_nodes.h) */
};

/* The format version of a session's first segment, or a negative errno. */
int session_format(const char *path);

/* Whether the folder itself has segments, whatever is below it. It may be missing. */
bool session_folder_has_segments(const char *folder);

/*
 * A program that would replace the session at `path` (or the folder of segments) asks first.
 * -EPROTONOSUPPORT, with a message: a newer assay wrote it. 0 also if no session is there.
 */
int session_refuse_newer(const char *path, struct error *err);

/* Whether the first segment has its samples in groups (store/group.h), as a packed part has. */
bool session_has_groups(const char *path);

/* session_open() of the chosen blocks. -EINVAL: the session does not know when it began. */
int session_open_blocks(const char *path, const struct block_filter *filter, struct session **out,
			struct error *err);

/*
 * Reads when a session began and ended, from its first and last segment alone. The texts of *info
 * stay unset. *replaces is session_info's text, which the caller frees; `replaces` may be NULL.
 * -ENODATA: the session has no end. -EPROTONOSUPPORT: a newer assay wrote it.
 */
int session_extent(const char *path, struct session_info *info, struct session_end *end,
		   char **replaces);

/* Converts a time of the session to the wall clock. */
static inline uint64_t session_wall_ns(const struct session_info *info, uint64_t ns)
{
	return ns - info->start_ns + info->start_wall_ns; /* unsigned: correct also before the
							   * start */
}

void session_close(struct session *s); /* NULL is fine */
DEFINE_AT_EXIT(session_close, struct session)
