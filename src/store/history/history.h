/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a history as one session. A history is a directory of sessions, its *parts*, which a daemon
 * recorded one after the other. A reader may ask for a window of time.
 *
 *     DIR/samples/current/                     (or samples/NAME, or any directory of parts)
 *       20261121T210500.123Z/                  a part; its name is its start in UTC
 *         samples/current/0000.segment …       its samples, in blocks of a second or longer,
 *                                              and overviews: the same samples again, summed up
 *                                              in blocks of a minute or longer
 *       20261121T220500.130Z/
 *       .merge-…/  .gone-…/                    parts that are made or removed: not read
 *     DIR/samples/.names/                      symbols of files that are gone (symbols.h, kept_dir)
 *
 * Only parts that touch the window are opened, and only the needed blocks are read: an hour's
 * overview for each hour that is wholly in the window, and so on down to the seconds at its edges.
 * Parts that a merged part replaces are skipped. A damaged part is left out, with a warning in the
 * session. If parts come or go while the history is opened, it is read again. Sessions that are
 * open stay valid.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/time_window.h"
#include "store/session.h"

/* ---- names of parts ---- */

#define HISTORY_NAME_SIZE 40

/* "20261121T210500.123Z". From `number` 2 on, "-2" … follows. */
void history_part_name(uint64_t wall_ns, unsigned int number, char out[static HISTORY_NAME_SIZE]);

/* Whether `name` is the name of a part; *wall_ns is its time. */
bool history_part_time(const char *name, uint64_t *wall_ns);

/* The names of the parts of a directory. */
struct history_names {
	char **data;
	size_t n, cap;
};
/* Compares two `char **` for qsort(), in the order of history_list(). */
int history_by_name(const void *a, const void *b);
/* Sorted; 0 or a negative errno */
int history_list(const char *dir, struct history_names *out);
/* No effect if the name is missing */
void history_names_drop(struct history_names *names, const char *name);
void history_names_fini(struct history_names *names);

/*
 * The directory of the parts at `path`: itself or its samples/current. The caller frees it. NULL:
 * no history is there.
 */
char *history_dir(const char *path);

#define HISTORY_NAMES_DIR ".names"

/*
 * The folder of symbols beside the history at `path`: that of the daemon's directory, of
 * samples/NAME, of a part, of a fleet or of one of its hosts (fleet/fleet_store.h). The caller
 * frees it. NULL: there is none.
 */
char *history_names_dir(const char *path);

/* ---- overviews ---- */

struct history_level {
	const char *name; /* for people */
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

/*
 * A part whose samples the caller has from elsewhere. Only blocks that begin in some units of the
 * clock are read: bit i of `read` is the unit first_unit + i, counted from 1970.
 */
struct history_covered_part {
	const char *name;
	uint64_t unit_ns, first_unit;
	uint64_t read; /* 0: the part is not opened */
};

struct history_covered {
	struct history_covered_part *data; /* by name (history_by_name()) */
	size_t n, cap;
};

struct history_request {
	/*
	 * A block counts as a whole. It counts if its middle is in the window, or if it contains
	 * the window. So a block at the border of two adjoining windows counts in the one that
	 * holds more of it, and a window shorter than a block shows the block.
	 */
	struct time_window window;
	uint64_t overview_ns; /* overviews up to this length may stand for single blocks; 0: none */
	const struct history_covered *covered; /* NULL: none */
};

/* In a warning of history_open() that rates differ. No sample is missing then. */
#define HISTORY_RATES_WARNING " was sampled at rates from "

/* That warning. The caller frees it. */
struct rate_range;
char *history_rates_text(const char *event, const struct rate_range *rates);

/*
 * Opens the session or history at `path`. With a window, the session's start and end are those of
 * the window, cut to the samples. -ENODATA: the window has no samples; the message says which times
 * have some. -ESTALE: a part of request->covered is gone, or another part replaces it.
 */
int history_open(const char *path, const struct history_request *request, struct session **out,
		 struct error *err);

/*
 * Finds the time of a part's first and last sample without reading the samples. False: it is not
 * known, as after a crash or while the part is written.
 */
struct part_extent {
	uint64_t first_ns, last_ns; /* CLOCK_REALTIME */
	uint64_t block_ns;
};
bool history_extent(const char *part, struct part_extent *out);
