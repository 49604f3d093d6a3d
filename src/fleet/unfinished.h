/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that some tables of ClickHouse have, and others lack: their insert was given up, because
 * they were gone from the directory (fleet/batch_list.h). The receipts said so. FLEET/.unfinished
 * and FLEET/.unfinished-leaves list them, until their day is dropped.
 *
 * A part that was merged may have the samples of such blocks. Nothing tells them from the rest, so
 * only a rebuild of the day may store it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct batch_list;
struct error;

/* Adds the blocks, on the disk. Those of list->leaves are apart from the others. */
int unfinished_add(const char *fleet, const struct batch_list *list, struct error *err);

/* 1: a block of the host that begins in this time is unfinished; 0: none is. */
int unfinished_has(const char *fleet, bool leaves, const char *host, uint64_t from_ns,
		   uint64_t to_ns, struct error *err);

/* Removes the blocks of a day, whose seconds begin at `day_s`. */
int unfinished_remove_day(const char *fleet, uint64_t day_s, struct error *err);
