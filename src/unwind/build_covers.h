/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The source of rules for each address of an image. Inside unwind/. */
#pragma once

#include "unwind/build_state.h"

/*
 * An image with more covers is built in windows. A cover takes some 100 bytes, and each window
 * reads the whole table. So a window has at most COVERS_AT_ONCE covers, but there are no more than
 * 2 * MAX_WINDOWS of them: the windows of a larger image have more covers.
 */
#define COVERS_AT_ONCE (1u << 17)
#define MAX_WINDOWS    16

/* Finds the code of the image, and the sections with rules. */
void builder_find_sources(struct builder *b);

/* Collects all covers. If they are too many, keeps none and sets b->has_window. */
void builder_collect_covers(struct builder *b);

/*
 * With b->has_window: collects the covers of the next window, and first of all b->last, the one
 * before them. False: the window is the last one.
 */
bool builder_collect_window(struct builder *b);

/* The covers by their places in the file. Of two at one place, the later one is last. To be freed.
 */
struct sort_key *builder_sort_covers(const struct builder *b);
