/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums of a fleet: the parts of all hosts in a day, added up over the hosts. A question about all
 * hosts reads one part a day instead of one for each host and day.
 *
 *     FLEET/.sums/
 *       20261121T000000.000Z-2/          sums of a span: a session of blocks of a unit
 *         samples/current/0000.segment
 *         sources                        the parts that are in it
 *
 * A span is a day of hours, or seven days of days where the parts of hosts have no hours any more.
 * A block of a host belongs to the unit that holds its first sample. Programs, thread names,
 * cgroups and stacks stay apart, and only the host is not known any more.
 *
 * Sums are a copy, and never the only place of a sample. They count if all of their sources are
 * there as they were, and if nothing in them is damaged. Else, the parts of the hosts are read.
 * `assay fleet merge` makes them, and makes them again (fleet_sums_make.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/time_window.h"
#include "store/history/history.h"

struct error;
struct session;

#define FLEET_SUMS_DIR     ".sums"
#define FLEET_SUMS_UNITS   64 /* of a span, at most: bits of a mask */
#define FLEET_SUMS_SOURCES "sources"

/* A part of a host that is in sums. */
struct sums_source {
	char *host;
	char part[HISTORY_NAME_SIZE];
	uint64_t bytes, changed_ns; /* of its first segment: its size, and CLOCK_REALTIME */
	uint64_t first_ns, last_ns; /* of its samples, CLOCK_REALTIME */
	uint64_t units;             /* with blocks: bit i is the span's unit i */
	uint64_t samples;
	uint64_t block_ns; /* length of its blocks */
	char *rates;       /* "49,0": samples a second, by event of the sums; 0: it has none */
};

struct fleet_sums {
	char *name;                      /* of its folder; NULL: not known */
	uint64_t unit_ns, first_unit;    /* counted from 1970 */
	VEC(struct sums_source) sources; /* by host and part */
	uint64_t id; /* also in the session, as `replaces` of its INFO: fleet_sums_id_text() */
};

void fleet_sums_fini(struct fleet_sums *s);

#define FLEET_SUMS_ID_SIZE 17
void fleet_sums_id_text(uint64_t id, char out[static FLEET_SUMS_ID_SIZE]);

/* The first source of a host; sources.n: there is none. They are sorted. */
size_t fleet_sums_first_of(const struct fleet_sums *s, const char *host);

/* Compares two sources for qsort(), by host and part. */
int sums_source_compare(const void *a, const void *b);

/* Sorts the sources, and appends the text of the file `sources`. */
void fleet_sums_print(struct fleet_sums *s, struct buf *out);

/* Parses it. False: it is damaged, and *out is empty. */
bool fleet_sums_parse(const char *text, size_t size, struct fleet_sums *out);

/* Reads the file of sums of that name. False: there are none, or it is damaged. */
bool fleet_sums_read(const char *fleet, const char *name, struct fleet_sums *out);

/* Finds the size and the time of a part's first segment. False: it is not there. */
bool fleet_sums_look(const char *fleet, const char *host, const char *part, uint64_t *bytes,
		     uint64_t *changed_ns);

/* Whether all sources are there, as they were. */
bool fleet_sums_are_current(const char *fleet, const struct fleet_sums *s);

/* All sums near the window whose sources are there. No part is in two of them. By name, the newest
 * first. */
struct fleet_sums_list {
	struct fleet_sums *data;
	size_t n, cap;
};
void fleet_sums_find(const char *fleet, const struct time_window *window,
		     struct fleet_sums_list *out);
void fleet_sums_list_fini(struct fleet_sums_list *list);

/* The folder of sums. The caller frees it. */
char *fleet_sums_path(const char *fleet, const char *name);

/* ---- reading ---- */

/* Whether an open session belongs to the sums, and has all of its bytes. */
bool fleet_sums_session_is_whole(const struct fleet_sums *s, const struct session *session);

/* The units that were taken from a session of sums. */
struct sums_taken {
	uint64_t units;
	struct session *session;
};

/*
 * Opens the blocks of sums that are wholly in the window, and no longer than overview_ns. False:
 * there are none, or something is damaged.
 */
bool fleet_sums_open(const char *fleet, const struct fleet_sums *s,
		     const struct history_request *request, struct sums_taken *out);
