/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packs a finished part of a history: the same samples, second by second, in about half the bytes.
 *
 * A recorder writes the samples of each second with the tree nodes that they were first to need. At
 * a daemon's rate that is a hundred samples, and such small portions pack badly. When the part is
 * over, packing writes the whole tree in one block, and then the overviews and the seconds.
 */
#pragma once

#include <stdbool.h>

struct error;
struct overview_rule; /* store/history/merge.h */

/*
 * Packs the part at `path` in place and adds the overviews that pay. Without `keeps_times`, the
 * exact times of its samples go, also from a part that was packed with them. The packed part is
 * written and synced beside the old one; then the two exchange names atomically. A crash leaves a
 * directory
 * ".merge-…", which history_retain() removes. Returns 1 if it packed the part. Returns 0 if the
 * part was packed already, has no end (unless `may_lack_end`), is damaged, or if the file system
 * can't exchange names. After a failure the part is unchanged.
 */
int part_pack(const char *path, bool may_lack_end, bool keeps_times,
	      const struct overview_rule *overviews, struct error *err);
