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
#include "event/loss.h"
#include "machine/image.h"
#include "store/store.h"

/* A node of the call tree. nodes[0] is the root and has no code; parents come before children. */
struct tree_node {
	uint32_t parent;
	struct code_addr code; /* image: index into segment->images */
};

/* The samples of one (class, node) in one block. */
struct count_row {
	uint32_t class, node;
	uint64_t samples, period;
};

struct loss_row {
	enum loss_reason reason;
	uint32_t counter; /* UINT32_MAX: all or not known */
	uint64_t n;
};

/* size_bytes 0: stands for a damaged part; it has a loss and no rows. */
struct block {
	uint64_t first_ns, last_ns; /* time of the first and last sample */
	uint64_t samples;           /* sum over its rows */
	uint32_t n_rows, n_losses;
	uint64_t file_off, size_bytes; /* in the segment's file */
	const struct loss_row *losses;
};

struct segment {
	const char *name; /* the file's name */
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
};

/*
 * Fails if the path is not a session, or if the session has a newer version or is unreadable. The
 * message says which, and what you can do. Damage is not a failure.
 */
int session_open(const char *path, struct session **out, struct error *err);

/*
 * Chooses blocks by the times of their first and last sample (CLOCK_REALTIME, ns; the session's
 * start gives the offset). Of other blocks, only the parts that later blocks need are read.
 */
struct block_filter {
	bool (*takes)(void *context, uint64_t first_ns, uint64_t last_ns);
	void *context;
	uint64_t until_ns; /* blocks that begin here or later are not wanted; takes() may lower
			    * it */
	/*
	 * For a block of an overview (store/history/history.h), which is level_ns long. Overviews
	 * come before the blocks that they sum up, the longest first. NULL: overviews are left out.
	 */
	bool (*takes_overview)(void *context, uint64_t level_ns, uint64_t first_ns,
			       uint64_t last_ns);
};

/* The format version of a session's first segment, or a negative errno. */
int session_format(const char *path);

/* session_open() of the chosen blocks. -EINVAL: the session does not know when it began. */
int session_open_blocks(const char *path, const struct block_filter *filter, struct session **out,
			struct error *err);

/*
 * Reads when a session began and ended, from its first and last segment alone. The texts of *info
 * stay unset. *replaces is session_info's text, which the caller frees; `replaces` may be NULL.
 * -ENODATA: the session has no end.
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

/*
 * Decodes the rows of one block and appends block->n_rows rows to *rows. Every class and node index
 * is in range. -EBADMSG: the block is damaged; session_open() has counted the loss.
 */
struct count_rows {
	struct count_row *data;
	size_t n, cap;
};
int segment_read_rows(const struct segment *segment, uint32_t block, struct count_rows *rows,
		      struct error *err);

/*
 * The same with the decoder's memory in the caller's hands. Threads that have one reader each may
 * read rows of a segment at the same time. A reader must not outlive the sessions that it has read.
 * Returns the number of rows. *rows belongs to the reader and is valid until the next call.
 */
struct row_reader;
struct row_reader *row_reader_new(void);
void row_reader_free(struct row_reader *r); /* NULL is fine */
int64_t row_reader_find(struct row_reader *reader, const struct segment *segment, uint32_t block,
			const struct count_row **rows, struct error *err);
