/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every event name that this machine knows, one at a time, and the ones
 * nearest to a name that it does not know.
 */
#pragma once

#include "counter/counter.h"
#include "counter/event_name.h"

extern const char *const event_kind_keys[N_EVENT_KINDS];
extern const char *const event_kind_texts[N_EVENT_KINDS];

/* Visits all kinds, in the order of enum event_kind. Unreadable tables are left out. */
void catalog_each(const struct counter_sources *sources, event_visitor visit, void *ctx);

/* One kind of source each; catalog_each() calls them. */
void generic_each(event_visitor visit, void *ctx);
void pfm_each(event_visitor visit, void *ctx);

/*
 * Adds libpfm4's events of a processor of OProfile's name to a finished table, but for those that
 * it has. Their masks have names. Nothing without libpfm4, or if it does not know the processor.
 */
struct event_table;
void pfm_add_to_table(const char *cpu, struct event_table *t);
void event_files_each(const struct counter_sources *sources, event_visitor visit, void *ctx);
void tracepoint_each(const struct counter_sources *sources, event_visitor visit, void *ctx);

/*
 * Up to three known names near `word`, nearest first, as "a, b, c" in `text`;
 * "" where none is near enough to have been meant.
 */
void catalog_nearest(const struct counter_sources *sources, const char *word, char *text,
		     size_t size);
