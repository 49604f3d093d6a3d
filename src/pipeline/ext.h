/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Extended features: they derive ordinary samples from raw samples of special hardware.
 *
 * The interface follows the one of OProfile's daemon (its internals document, "Extended Feature
 * Interface"). A feature is a row of handlers. The recorder calls them at fixed places; a missing
 * handler is NULL.
 *
 *   --ext-feature=NAME:ARGS ──► init     names the events to count
 *   a recording begins      ──► open     for the counters of this feature
 *   a raw sample comes      ──► derive   the counters that it counts in, and how much
 *   statistics              ──► print
 *   a session begins, is
 *   flushed, is followed by
 *   another one, ends       ──► files    the feature's own files in the session's directory
 *   the recording ends      ──► close
 *
 * A counter belongs to the feature that its `ext` names (counter/counter.h). `ext` comes from the
 * event's line in the event files. IBS is the first feature. All functions run on the thread that
 * pushes events.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "counter/counter.h"
#include "event/event.h"

struct error;
struct ext_session;

/* The raw sample counts `samples` times, `period` events, in this counter. */
struct ext_count {
	uint32_t counter;
	uint64_t samples, period;
};
#define EXT_MAX_COUNTS 64

/* Results of derive() other than a number of counts. */
#define EXT_LOST (-1) /* the sample's address is unknown: LOSS_EXT_ADDRESS */
#define EXT_BAD  (-2) /* the raw data can't be read: LOSS_BAD_RECORD */

/* A feature's own files in a session's directory. `state` is the state from open(). */
struct ext_file_handlers {
	int (*create)(void *state, const char *dir, struct error *err); /* a session begins */
	int (*dup)(void *state, const char *dir, struct error *err);    /* another one follows it */
	void (*sync)(void *state); /* makes all written data visible to readers */
	void (*close)(void *state);
};

/* Gets one number of a feature's statistics, for example "op-samples", 12. */
typedef void (*ext_visitor)(void *context, const char *feature, const char *key, uint64_t value);

struct ext_feature {
	const char *name, *args, *help; /* `args`: the arguments, for --help */
	/* Calls add() with each event, written as for `record -e`. */
	int (*init)(const char *args, int (*add)(void *context, const char *event), void *context,
		    struct error *err);
	/* Leaves *state NULL if no counter belongs to this feature. */
	int (*open)(const struct counters *counters, const struct counter_sources *sources,
		    void **state, struct error *err);
	void (*close)(void *state);
	/* For samples of the feature's counters: the number of counts, EXT_LOST or EXT_BAD. */
	int (*derive)(void *state, const struct event *sample,
		      struct ext_count counts[EXT_MAX_COUNTS]);
	void (*print)(const void *state, ext_visitor visit, void *context);
	const struct ext_file_handlers *files;
};

extern const struct ext_feature ibs_feature;

/* Parses NAME:ARGS of a command line. Calls add() with each event of the feature. */
int ext_init(const char *text, int (*add)(void *context, const char *event), void *context,
	     struct error *err);

/* Sets *out to NULL if no counter belongs to a feature. `counters` and `sources` outlive *out. */
int ext_open(const struct counters *counters, const struct counter_sources *sources,
	     struct ext_session **out, struct error *err);
void ext_close(struct ext_session *s); /* NULL is fine */

/* Does the counter belong to a feature? Samples of other counters need no ext_derive(). */
bool ext_has(const struct ext_session *s, uint32_t counter);
/* For samples of such a counter: the number of counts, EXT_LOST or EXT_BAD. */
int ext_derive(struct ext_session *s, const struct event *sample,
	       struct ext_count counts[EXT_MAX_COUNTS]);
void ext_print(const struct ext_session *s, ext_visitor visit, void *context);

/* Begins the features' files of the session in `dir`. Ends the files of the session before. */
int ext_open_files(struct ext_session *s, const char *dir, struct error *err);
void ext_sync_files(struct ext_session *s);
