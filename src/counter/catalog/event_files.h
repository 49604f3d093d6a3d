/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The folders of textual event files: DIR/ARCH/CPU/events and unit_masks, and DIR/cpus.
 *
 * $OPROFILE_EVENTS_DIR, or else $ASSAY_EVENTS_DIR, says which (several with colons between);
 * otherwise $XDG_CONFIG_HOME/assay/events, /etc/assay/events, what is installed with assay, and
 * OProfile's own. Files of one processor in several folders add up; what comes first wins, so
 * that a file of one's own adds an event or another name for one.
 */
#pragma once

#include "counter/catalog/event_file.h"

struct draft;

/*
 * The files of a processor, by its name ("x86-64/generic"), or of this machine's (NULL). What is
 * wrong in them is in t->complaints. *cpu is what was found out (NULL: unknown; then the table is
 * empty); it holds as long as the table. -ENOENT: nobody knows a processor of that name.
 */
int event_files_load(const struct counter_sources *sources, const char *name, struct event_table *t,
		     const struct cpu_type **cpu, struct error *err);

/*
 * An event of this machine's files, with a unit mask by number or name (NULL: the default):
 * 1 found, 0 not known there, negative with err set where it is known and can't be had.
 */
int event_files_find(const struct counter_sources *sources, const char *name, const char *mask,
		     struct draft *out, struct error *err);

/*
 * Whether those of the counters that are of event files find a counter each at once. -EBUSY with
 * the events that stand in each other's way; 0 where it is so, or where no file tells.
 */
int event_files_allocate(const struct counter_sources *sources, const struct counters *counters,
			 struct error *err);

/* The events of a table, as the catalogue has them. */
struct event_name;
void event_table_each(const struct event_table *t,
		      void (*visit)(void *ctx, const struct event_name *event), void *ctx);

/* perf_event_attr's config of an event with a mask chosen, and whether PEBS is asked for. */
uint64_t table_event_config(const struct cpu_type *cpu, const struct table_event *e,
			    const struct mask_choice *mask, bool *is_precise);
