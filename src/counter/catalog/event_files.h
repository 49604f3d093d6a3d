/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The folders of textual event files: DIR/ARCH/CPU/events and unit_masks, and DIR/cpus.
 *
 * $OPROFILE_EVENTS_DIR, or else $ASSAY_EVENTS_DIR, names them, with colons between. Without these
 * variables, they are $XDG_CONFIG_HOME/assay/events, /etc/assay/events, assay's installed folder,
 * and OProfile's own. Files of one processor in several folders add up; what comes first wins, so
 * that a file of one's own adds an event or another name for one.
 */
#pragma once

#include "counter/catalog/event_file.h"

struct draft;

/*
 * Reads the files of a processor by its name ("x86-64/generic"), or of this machine's (NULL).
 * t->complaints has the errors in the files. *cpu is the processor; it is valid as long as the
 * table. NULL: it is unknown, and the table is empty. -ENOENT: no processor has the name.
 * By a name, the table also gets the events that libpfm4 knows of the processor, unless the folders
 * are OProfile's own.
 */
int event_files_load(const struct counter_sources *sources, const char *name, struct event_table *t,
		     const struct cpu_type **cpu, struct error *err);

/*
 * Finds an event of this machine's files, with a unit mask by number or name (NULL: the default).
 * Returns 1 if found and 0 if unknown. Negative, with err: it is known but can't be used.
 */
int event_files_find(const struct counter_sources *sources, const char *name, const char *mask,
		     struct draft *out, struct error *err);

/*
 * Checks whether the counters from event files fit the processor's counters at the same time.
 * -EBUSY: the message names the conflicting events. Returns 0 also if no file has the answer.
 */
int event_files_allocate(const struct counter_sources *sources, const struct counters *counters,
			 struct error *err);

/* The events of a table, as the catalogue has them. */
struct event_name;
void event_table_each(const struct event_table *t,
		      void (*visit)(void *ctx, const struct event_name *event), void *ctx);
