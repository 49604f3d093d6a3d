/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of blocks, one block after the other. A thread decodes the next blocks while the caller
 * uses the rows before, which takes about as long.
 */
#pragma once

#include <stddef.h>

#include "store/session.h"

struct row_block {
	const struct segment *segment;
	uint32_t block;
};

struct rows_ahead;

/*
 * Starts with `n` blocks. Nobody else may read rows of their segments until rows_ahead_stop().
 * NULL: the work is too small, or there is no thread. Then the caller reads the rows itself.
 */
struct rows_ahead *rows_ahead_start(const struct row_block *blocks, size_t n);

/* Replaces *rows by the next block's rows; otherwise as segment_read_rows(). */
int rows_ahead_next(struct rows_ahead *a, struct count_rows *rows);
void rows_ahead_stop(struct rows_ahead *a); /* NULL is fine */
