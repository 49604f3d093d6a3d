/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside profile/: entries that are kept apart by time (with_slices). A slice is a block of the
 * session, so it has a second. If the entries take more memory than they may, slices are joined,
 * and are 2, 4, 8 … seconds long.
 */
#pragma once

#include <stddef.h>

#include "profile/profile.h"
#include "store/segment.h"

struct load_part;

/*
 * Before the rows of a block: whether they go on with the entries of the last slice
 * (request->slice_s). Nothing without with_slices.
 */
void slices_begin(struct profile *p, const struct block *block);

/* Whether all blocks of the part are of one slice (request->slice_s), or there are no slices. */
bool slices_have_one(const struct profile *p, const struct load_part *part);

/* Makes a slice of the block's entries, which begin at `first`. Nothing without with_slices. */
void slices_add(struct profile *p, const struct block *block, size_t first);

/* In the order of time. */
void slices_sort(struct profile *p);
