/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every event name that this machine knows, one at a time, and the ones
 * nearest to a name that it does not know.
 */
#pragma once

#include "counter/counter.h"

/* X(id, key, text) */
#define EVENT_KINDS(X)                                                 \
	X(HARDWARE, "hardware", "generic hardware event")              \
	X(CACHE, "cache", "generic cache event")                       \
	X(SOFTWARE, "software", "software event of the kernel")        \
	X(TRACEPOINT, "tracepoint", "tracepoint of the kernel")        \
	X(PMU, "pmu", "event that a PMU's driver names")               \
	X(TABLE, "table", "event of this processor, from event files") \
	X(PROCESSOR, "processor", "event of this processor, from libpfm4's tables")

enum event_kind {
#define X(id, key, text) EVENT_##id,
	EVENT_KINDS(X)
#undef X
		N_EVENT_KINDS
};

extern const char *const event_kind_keys[N_EVENT_KINDS];
extern const char *const event_kind_texts[N_EVENT_KINDS];

/* What a unit mask of an event chooses: NAME:MASK. */
struct event_mask {
	const char *name, *help;
	bool is_default; /* taken where no mask is given */
};

/* Strings hold during the visit only. */
struct event_name {
	enum event_kind kind;
	const char *name;  /* as counter_parse() takes it */
	const char *alias; /* a second spelling, or NULL */
	const char *help;  /* one line, or "" */
	const struct event_mask *masks;
	uint32_t n_masks;
	uint64_t min_count; /* the least count; 0: not known */
	const struct table_event
		*table; /* of event files (counter/catalog/event_file.h), else NULL */
};

typedef void (*event_visitor)(void *ctx, const struct event_name *event);

/* Visits all kinds, in the order of enum event_kind. Unreadable tables are left out. */
void catalog_each(const struct counter_sources *sources, event_visitor visit, void *ctx);

/* One kind of source each; catalog_each() calls them. */
void generic_each(event_visitor visit, void *ctx);
void pfm_each(event_visitor visit, void *ctx);
void event_files_each(const struct counter_sources *sources, event_visitor visit, void *ctx);
void tracepoint_each(const struct counter_sources *sources, event_visitor visit, void *ctx);

/*
 * Up to three known names near `word`, nearest first, as "a, b, c" in `text`;
 * "" where none is near enough to have been meant.
 */
void catalog_nearest(const struct counter_sources *sources, const char *word, char *text,
		     size_t size);
