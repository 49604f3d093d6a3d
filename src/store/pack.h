/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A part of a history that is over, packed: the same samples, second by second, in about half the
 * bytes.
 *
 * A recorder writes what each second brought, with the tree nodes that it was the first to need;
 * at a daemon's rate that is a hundred samples, and nothing packs well in portions so small. Once
 * the part is over, its whole tree is written in one block, and overviews and seconds behind it.
 */
#pragma once

#include <stdbool.h>

struct error;
struct overview_rule; /* store/history/merge.h */

/*
 * Packs the part at `path`, with the overviews that pay, in its place: the packed one is made
 * beside it and on disk before the two change names at once. What a crash leaves begins with
 * ".merge-", and history_retain() removes it. 1: packed; 0: it was, or it has no end and was not
 * `may_lack_end`, or is damaged, or the file system can't exchange names. The part is as it was on
 * failure.
 */
int part_pack(const char *path, bool may_lack_end, const struct overview_rule *overviews,
	      struct error *err);
