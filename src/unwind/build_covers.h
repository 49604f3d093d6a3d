/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The source of rules for each address of an image. Inside unwind/. */
#pragma once

#include "unwind/build_state.h"

/* Finds all covers, and the code that they may cover. */
void builder_collect_covers(struct builder *b);

/* The covers by their places in the file. Of two at one place, the later one is last. To be freed.
 */
struct sort_key *builder_sort_covers(const struct builder *b);
