/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of blocks one after the other, decoded by a thread of their own while the caller looks
 * at those before: both take about as long.
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
 * Starts on `n` blocks, whose segments nobody else may read rows of until rows_ahead_stop(). NULL
 * where it would not pay, or a thread cannot be had: the caller reads for itself.
 */
struct rows_ahead *rows_ahead_start(const struct row_block *blocks, size_t n);

/* The next block's rows instead of what *rows holds; else as segment_read_rows(). */
int rows_ahead_next(struct rows_ahead *a, struct count_rows *rows);
void rows_ahead_stop(struct rows_ahead *a); /* NULL is fine */
