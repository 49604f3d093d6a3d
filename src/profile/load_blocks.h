/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The blocks of a profile's session while it is loaded (load.c). Inside profile/. */
#pragma once

#include <stdbool.h>

#include "profile/load_part.h"

struct rows_ahead;

enum block_state { BLOCK_READ, BLOCK_LEFT_OUT, BLOCK_DAMAGED };

/* Whether the query takes the second that a block begins in. */
bool load_takes_block(const struct profile *p, const struct block *block);

/* Reads block i into part->rows if the query takes it. */
enum block_state load_read_block(struct profile *p, struct load_part *part, uint32_t i);

/* Begins to decode the blocks that load_read_block() will read in the first pass, in this order. */
struct rows_ahead *load_read_ahead(const struct profile *p);

/* Adds the block's losses to those of the profile and, if it has rows, its time. */
void load_count_block(struct profile *p, const struct block *block, bool has_rows);
