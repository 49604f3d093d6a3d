/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading the rows of a segment's blocks. They stay packed in the file until somebody needs them.
 */
#pragma once

#include <stdint.h>

#include "store/segment.h"

struct error;

/*
 * Decodes the rows of one block and appends block->n_rows rows to *rows. Every class and node index
 * is in range. -EBADMSG: the block is damaged; session_open() has counted the loss.
 */
int segment_read_rows(const struct segment *segment, uint32_t block, struct count_rows *rows,
		      struct error *err);

/*
 * Appends the samples of the block whose exact time is known, in the order of time. `rows` are
 * those of the block, by segment_read_rows(), and nothing else. A row may have more samples than
 * those with a time. -EBADMSG: the times are damaged, and only the block's time is known.
 */
int segment_read_times(const struct segment *segment, uint32_t block, const struct count_rows *rows,
		       struct sample_times *times);

/*
 * The same with the decoder's memory in the caller's hands. Threads that have one reader each may
 * read rows of a segment at the same time. A reader must not outlive the sessions that it has read.
 * Returns the number of rows. *rows belongs to the reader and is valid until the next call.
 */
struct row_reader;
struct row_reader *row_reader_new(void);
void row_reader_free(struct row_reader *r); /* NULL is fine */
int64_t row_reader_find(struct row_reader *reader, const struct segment *segment, uint32_t block,
			const struct count_row **rows, struct error *err);
