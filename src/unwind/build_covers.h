/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The source of rules for each address of an image. Inside unwind/. */
#pragma once

#include "unwind/build_state.h"

/* An image with more covers is built in windows: the covers take 64 bytes each. */
#define COVERS_AT_ONCE (1u << 17)

/* Finds the code of the image, and the sections with rules. */
void builder_find_sources(struct builder *b);

/* Collects all covers, if they are few: 1. Else returns the number of windows, and collects none.
 */
uint32_t builder_collect_covers(struct builder *b);

/* Collects the covers of window i of n, and first of all b->last, the one before them. */
void builder_collect_window(struct builder *b, uint32_t i, uint32_t n);

/* The covers by their places in the file. Of two at one place, the later one is last. To be freed.
 */
struct sort_key *builder_sort_covers(const struct builder *b);
