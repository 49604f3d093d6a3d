/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that some tables of ClickHouse may have, and others lack: their insert was given up,
 * because they were gone from the directory (fleet/batch_list.h). FLEET/.unfinished and
 * FLEET/.unfinished-leaves list them. Whether a table has one is a matter of its receipts alone:
 * the tables may be others by now, or may have lost the day.
 *
 * A part that was merged may have the samples of such blocks. Nothing tells them from the rest, so
 * only a rebuild of the day may store it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct batch_list;
struct error;

/* Adds the blocks, each once, on the disk. Those of list->leaves are apart from the others. */
int unfinished_add(const char *fleet, const struct batch_list *list, struct error *err);

/* Fills `out`, which is empty, with those of a host that begin in this time. */
int unfinished_find(const char *fleet, bool leaves, const char *host, uint64_t from_ns,
		    uint64_t to_ns, struct batch_list *out, struct error *err);

/* Removes the blocks of a day, whose seconds begin at `day_s`. */
int unfinished_remove_day(const char *fleet, uint64_t day_s, struct error *err);
