/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a session. The fields are the interface; all of it is read-only and
 * belongs to the session until session_close().
 *
 * A session holds segments, one file each. A segment is an id space of its
 * own (strings, images, classes, nodes) and a list of blocks, each of at most
 * one second. Nothing that is damaged ends the reading: it becomes a warning
 * and a loss, and the rest is there. Reading while the recorder writes is fine.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/time_window.h"
#include "event/loss.h"
#include "machine/image.h"
#include "store/store.h"

/* A node of the call tree. nodes[0] is the root and has no code; parents come before children. */
struct tree_node {
	uint32_t parent;
	struct code_addr code; /* image: index into segment->images */
};

/* What one (class, node) got in one block. */
struct count_row {
	uint32_t class, node;
	uint64_t samples, period;
};

struct loss_row {
	enum loss_reason reason;
	uint32_t counter; /* UINT32_MAX: all or not known */
	uint64_t n;
};

/* One of size_bytes 0 stands for a damaged part: it has a loss, and no rows. */
struct block {
	uint64_t first_ns, last_ns; /* time of the first and last sample */
	uint64_t samples;           /* sum over its rows */
	uint32_t n_rows, n_losses;
	uint64_t file_off, size_bytes; /* in the segment's file */
	const struct loss_row *losses;
};

struct segment {
	const char *name; /* of its file */
	const char **strings;
	struct image *images; /* [0] is [unknown] */
	struct profile_class
		*classes; /* app, comm and cgroup are indexes into images and strings */
	struct tree_node *nodes;
	struct code_symbol *symbols; /* an image's may stand in an earlier segment, too */
	struct block *blocks;
	uint32_t n_strings, n_images, n_classes, n_nodes, n_symbols, n_blocks;
};

struct session {
	char *path; /* as it was named */
	char *dir;  /* where it is; another one for what was imported */
	struct session_info info;
	struct session_end end;
	bool has_end; /* false: the recorder was killed, or still runs */
	bool is_live; /* who opened it knows that it still runs */
	struct segment **segments;
	uint32_t n_segments;
	struct session **parts; /* of one that was joined (store/session_join.h); else NULL */
	uint32_t n_parts;
	VEC(char *) warnings;      /* whole sentences: torn tail, damaged block … */
	uint64_t size_bytes;       /* on disk */
	bool has_window;           /* only some time was asked for (store/history/history.h) */
	struct time_window window; /* … which is this */
	uint64_t block_ns;         /* the longest block there may be; 0: a second */
};

/*
 * Fails for a path that is not a session, is of a newer version or can't be
 * read at all; the message says which and what to do. Damage is not a failure.
 */
int session_open(const char *path, struct session **out, struct error *err);

/*
 * Which blocks are wanted, by the times of their first and last sample on the wall clock
 * (CLOCK_REALTIME, ns, as the session's start tells). Of others only what later blocks need is
 * read.
 */
struct block_filter {
	bool (*takes)(void *context, uint64_t first_ns, uint64_t last_ns);
	void *context;
	uint64_t until_ns; /* no block that begins here or later is wanted; may become less */
	/*
	 * Of an overview (store/history/history.h), whose blocks are level_ns long; they come
	 * before those that they are of, the longest first. NULL: overviews are left out.
	 */
	bool (*takes_overview)(void *context, uint64_t level_ns, uint64_t first_ns,
			       uint64_t last_ns);
};

/* The version of a session's first segment, or a negative errno. */
int session_format(const char *path);

/* session_open() of some blocks. -EINVAL for a session that does not know when it began. */
int session_open_blocks(const char *path, const struct block_filter *filter, struct session **out,
			struct error *err);

/*
 * What a session's first and last segment tell of the whole: when it was, with info's texts left
 * out but for *replaces (the caller's; NULL where it is not wanted). -ENODATA without an end.
 */
int session_extent(const char *path, struct session_info *info, struct session_end *end,
		   char **replaces);

/* A time of the session on the wall clock. */
static inline uint64_t session_wall_ns(const struct session_info *info, uint64_t ns)
{
	return ns - info->start_ns + info->start_wall_ns; /* wraps and back where it is before */
}

void session_close(struct session *s); /* NULL is fine */
DEFINE_AT_EXIT(session_close, struct session)

/*
 * Decodes the rows of one block: block->n_rows of them, appended to *rows.
 * Every class and node index is in range. -EBADMSG when damaged, which
 * session_open() has counted as a loss already.
 */
struct count_rows {
	struct count_row *data;
	size_t n, cap;
};
int segment_read_rows(const struct segment *segment, uint32_t block, struct count_rows *rows,
		      struct error *err);

/*
 * The same, with what decoding remembers in the caller's hands: threads that have one each may read
 * rows of one segment at a time. It must not outlive the session that it read of. The rows, whose
 * number is returned, are the reader's until the next call.
 */
struct row_reader;
struct row_reader *row_reader_new(void);
void row_reader_free(struct row_reader *r); /* NULL is fine */
int64_t row_reader_find(struct row_reader *reader, const struct segment *segment, uint32_t block,
			const struct count_row **rows, struct error *err);
