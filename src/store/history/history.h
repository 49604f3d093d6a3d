/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a history: a directory of sessions that a daemon recorded one after the other, its
 * *parts*, as one session, or the stretch of it that lies in a window of time.
 *
 *     DIR/samples/current/                     (or samples/NAME, or any directory of parts)
 *       20261121T210500.123Z/                  a part, named by its start in UTC
 *         samples/current/0000.segment …       its samples, in blocks of a second or coarser, and,
 *                                              where they pay, overviews: the same samples once
 *                                              more, added up in blocks of a minute and coarser
 *       20261121T220500.130Z/
 *       .merge-…/  .gone-…/                    being made, being removed: not read
 *
 * Only parts that the window touches are opened, and of these what is needed: an hour's overview
 * for hours that lie in the window as a whole, and so on down to the seconds at its edges. Parts
 * that a merged part replaces are skipped. A part that is damaged costs itself, and is told in the
 * session's warnings. Parts may come and go while a history is opened; it is then read
 * anew, and what has been opened stays as it is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/time_window.h"
#include "store/session.h"

/* ---- names of parts ---- */

#define HISTORY_NAME_SIZE 40

/* "20261121T210500.123Z", and "-2" … behind it for `number` from 2 on. */
void history_part_name(uint64_t wall_ns, unsigned int number, char out[static HISTORY_NAME_SIZE]);

/* Whether it is such a name, and the time that it tells. */
bool history_part_time(const char *name, uint64_t *wall_ns);

/* The parts of a directory, by name. */
struct history_names {
	char **data;
	size_t n, cap;
};
/* Of two `char **`, for qsort(): the order that history_list() has. */
int history_by_name(const void *a, const void *b);
int history_list(const char *dir, struct history_names *out);           /* 0 or a negative errno */
void history_names_drop(struct history_names *names, const char *name); /* if it is there */
void history_names_fini(struct history_names *names);

/* The directory of the parts at `path`: itself or its samples/current. The caller's; NULL: none. */
char *history_dir(const char *path);

/* ---- overviews ---- */

struct history_level {
	const char *name; /* as people say */
	uint64_t block_ns;
};
/* The finest first. */
enum history_level_id {
	LEVEL_MINUTES,
	LEVEL_TEN_MINUTES,
	LEVEL_HOURS,
	LEVEL_DAYS,
	N_HISTORY_LEVELS
};
extern const struct history_level history_levels[N_HISTORY_LEVELS];

/* ---- reading ---- */

struct history_request {
	/*
	 * A block counts, whole, if its middle lies in the window, or the window in it: blocks
	 * that lie in the window partly count in the one of two adjoining windows that has more of
	 * them, and a window that is smaller than a block shows the block.
	 */
	struct time_window window;
	bool with_seconds; /* no overviews: the caller looks at single blocks */
};

/* The rule above. */
bool window_takes(const struct time_window *w, uint64_t first_ns, uint64_t last_ns);

/*
 * The session or history at `path`. With a window, the session's start and end are the window's,
 * as far as there are samples. -ENODATA: none are in the window; the message says which there are.
 */
int history_open(const char *path, const struct history_request *request, struct session **out,
		 struct error *err);

/* When the samples of a part begin and end, without reading them. False: not known, as after a
 * crash, or of a part that is being written. */
struct part_extent {
	uint64_t first_ns, last_ns; /* wall clock */
	uint64_t block_ns;
};
bool history_extent(const char *part, struct part_extent *out);
