/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The blocks of a profile's session while it is loaded (load.c). Inside profile/. */
#pragma once

#include <stdbool.h>

#include "profile/load_part.h"

struct rows_ahead;

enum block_state { BLOCK_READ, BLOCK_LEFT_OUT, BLOCK_DAMAGED };

/* Whether the query takes the second that a block begins in, or some of its exact times. */
bool load_takes_block(const struct profile *p, const struct block *block);

/* Whether the samples with exact times become moments: they are not more than was asked for. */
bool load_wants_moments(const struct profile *p);

/*
 * Whether exact times are needed: some block has them, and the query or the request asks for parts
 * of seconds.
 */
bool load_needs_times(const struct profile *p);

/* From here on, load_read_block() makes each sample with a time a row, and sets part->times. */
void load_spread_samples(struct profile *p);

/* Reads block i into part->rows, if the query takes some of it, and sets the fields behind them. */
enum block_state load_read_block(struct profile *p, struct load_part *part, uint32_t i);

bool load_is_unwanted(const struct profile *p); /* no block is read any more */

/* Begins to decode the blocks that load_read_block() will read in the first pass, in this order. */
struct rows_ahead *load_read_ahead(const struct profile *p);

/* Adds the block's losses to those of the profile and, if it has rows, their time. */
void load_count_block(struct profile *p, const struct load_part *part, const struct block *block,
		      bool has_rows);
