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
 * The sources and their segments must stay until sums_stop(). Until then, nobody else may read rows
 * of these segments by segment_read_rows().
 */
struct sums *sums_start(const struct sums_source *sources, size_t n);

/*
 * Replaces *rows by the sums of the next source. Few sums are in the order of their first rows,
 * many in the order of nodes. *damaged: the unreadable blocks, valid until the next call. Returns
 * their number.
 */
size_t sums_next(struct sums *s, struct count_rows *rows, const uint32_t **damaged);
void sums_stop(struct sums *s); /* NULL is fine */
