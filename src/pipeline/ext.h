/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Extended features: what makes ordinary samples of extraordinary ones. After the interface of the
 * same name of OProfile's daemon (its internals document, "Extended Feature Interface"): a row of
 * handlers a feature, which are called at fixed places and may be missing.
 *
 *   --ext-feature=NAME:ARGS ──► init     says which events it is to be counted by
 *   a recording begins      ──► open     for the counters that are of this feature
 *   a raw sample comes      ──► derive   in which counters it counts, and how much
 *   statistics              ──► print
 *   a session begins, grows,
 *   is followed by another,
 *   ends                    ──► files    its own files in the session's directory
 *   the recording ends      ──► close
 *
 * A counter is of a feature by its `ext` (counter/counter.h), which the event's line in the event
 * files names. IBS is the first.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "counter/counter.h"
#include "event/event.h"

struct error;
struct ext_session;

/* A raw sample counts in this counter. */
struct ext_count {
	uint32_t counter;
	uint64_t samples, period;
};
#define EXT_MAX_COUNTS 64

/* What a feature makes of a sample, other than counts. */
#define EXT_LOST (-1) /* nobody can tell where it was: LOSS_EXT_ADDRESS */
#define EXT_BAD  (-2) /* its raw data is none: LOSS_BAD_RECORD */

/* Files of a feature beside the samples, in a session's directory. `state` is what open() gave. */
struct ext_file_handlers {
	int (*create)(void *state, const char *dir, struct error *err); /* a session begins */
	int (*dup)(void *state, const char *dir, struct error *err);    /* another, after it */
	void (*sync)(void *state); /* what was written can be read */
	void (*close)(void *state);
	/* The name of the file that more of a counter's samples is in; NULL: there is none. */
	const char *(*get)(const void *state, uint32_t counter);
};

/* One number of a feature's statistics: "op-samples", 12. */
typedef void (*ext_visitor)(void *context, const char *feature, const char *key, uint64_t value);

struct ext_feature {
	const char *name, *args, *help; /* `args` as --help has them */
	/* Calls add() with events, as `record -e` takes them. */
	int (*init)(const char *args, int (*add)(void *context, const char *event), void *context,
		    struct error *err);
	/* *state stays NULL: none of the counters is of this feature. */
	int (*open)(const struct counters *counters, const struct counter_sources *sources,
		    void **state, struct error *err);
	void (*close)(void *state);
	/* The number of counts, EXT_LOST or EXT_BAD. Of samples whose counter is of this feature.
	 */
	int (*derive)(void *state, const struct event *sample,
		      struct ext_count counts[EXT_MAX_COUNTS]);
	void (*print)(const void *state, ext_visitor visit, void *context);
	const struct ext_file_handlers *files;
};

extern const struct ext_feature ibs_feature;

/* NAME:ARGS of a command line: the events that it stands for go to add(). */
int ext_init(const char *text, int (*add)(void *context, const char *event), void *context,
	     struct error *err);

/* The features' names and arguments, a line each: what --ext-feature takes. */
void ext_list(struct buf *out);

/* *out is NULL where no counter is of a feature. The first two arguments outlive it. */
int ext_open(const struct counters *counters, const struct counter_sources *sources,
	     struct ext_session **out, struct error *err);
void ext_close(struct ext_session *s); /* NULL is fine */

/* Is the counter of a feature? Samples of others are as they are. */
bool ext_has(const struct ext_session *s, uint32_t counter);
/* Of samples of such a counter: the number of counts, EXT_LOST or EXT_BAD. */
int ext_derive(struct ext_session *s, const struct event *sample,
	       struct ext_count counts[EXT_MAX_COUNTS]);
void ext_print(const struct ext_session *s, ext_visitor visit, void *context);

/* A session begins in `dir`, instead of the one before, if there was one. */
int ext_open_files(struct ext_session *s, const char *dir, struct error *err);
void ext_sync_files(struct ext_session *s);
const char *ext_file(const struct ext_session *s, uint32_t counter);
