/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The nodes that the rows of a segment's blocks need: of a session that was opened with
 * block_filter.nodes_later. A segment's tree has the nodes of an hour, and its blocks of ten
 * minutes need few of them. So the segment's nodes are these alone, with their own numbers. They
 * can be there for one segment at a time.
 */
#pragma once

#include <stdint.h>

struct segment;

/*
 * Reads the nodes, if they are not there. From now on, rows (segment_read_rows()) have the numbers
 * of these nodes. Nodes that are damaged are children of the root, in the unknown image. -ENOMEM:
 * there is not enough memory (base/reserve.h). Segments of other sessions stay as they are.
 */
int segment_load_nodes(struct segment *segment);

/* The same for the blocks from `first` on, before `end`: rows of other blocks can't be read now. */
int segment_load_nodes_of(struct segment *segment, uint32_t first, uint32_t end);

/*
 * Forgets them: the segment has its root alone, and rows have the numbers of its file. The pages of
 * the file are given back, too.
 */
void segment_drop_nodes(struct segment *segment);
