/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of segments added up over their blocks, by several threads.
 *
 * In a long time most rows are of a place and a kind of class that have had some before. What a
 * profile asks of classes makes many of them one: each tells another one that stands for it. Rows
 * are decoded and added up by threads, and only the sums, one a (class, node), are looked at.
 */
#pragma once

#include <stddef.h>

#include "store/session.h"

#define SUMS_NO_CLASS UINT32_MAX /* rows of the class are left out */

struct sums_source {
	const struct segment *segment;
	const uint32_t *classes; /* by class: the one that stands for it, or SUMS_NO_CLASS */
	const uint32_t *blocks;  /* that are added up, ascending */
	size_t n_blocks;
};

struct sums;

/*
 * The sources and what they refer to stay until sums_stop(). Until then, nobody else may read rows
 * of their segments by segment_read_rows().
 */
struct sums *sums_start(const struct sums_source *sources, size_t n);

/*
 * The sums of the next source instead of what *rows holds: of few rows in the order of the first
 * of each, of many by node.
 * *damaged: the blocks that could not be read, valid until the next call; their number is returned.
 */
size_t sums_next(struct sums *s, struct count_rows *rows, const uint32_t **damaged);
void sums_stop(struct sums *s); /* NULL is fine */
