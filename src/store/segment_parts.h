/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parser of segments from inside: for segment_parse.c and segment_groups.c alone. All bytes are
 * those of the mapped file.
 */
#pragma once

#include "store/group.h"
#include "store/segment_file.h"
#include "store/segment_parse.h"

/* Whether the section has its hash. *at is where it begins, in any case. */
bool segment_section_is_whole(const struct block_header *h, const uint8_t *bytes,
			      enum section section, const uint8_t **at);

/* False only if the block is certainly not wanted. */
bool segment_wants_block(const struct segment_context *c, uint64_t level_ns,
			 const struct block_span *span);

/* Reads names and nodes of a block. False: nothing else of it is read, now or later. */
bool segment_begin_samples(struct segment_context *c, struct segment_file *f,
			   const struct block_header *h, const uint8_t *bytes, bool wanted);

/* Copies the block with its losses. The caller fills the place in, before the next call. */
struct block_place *segment_push_block(struct segment_file *f, const struct block *block,
				       const struct loss_row *losses);

/* Pushes the block of a header. `counts` NULL: the counts are damaged. */
void segment_push_samples(struct segment_context *c, struct segment_file *f,
			  const struct block_header *h, const struct loss_row *losses,
			  const uint8_t *counts, uint64_t file_off);

struct counts_frame segment_frame_of(const struct block_header *h);

void segment_warn_of_times(struct segment_context *c, const struct segment_file *f,
			   const struct block_header *h);

/* Makes a block of each wanted second of a group, if there is one. */
void segment_parse_group(struct segment_context *c, struct segment_file *f,
			 const struct block_header *h, const struct loss_row *losses,
			 const uint8_t *bytes, uint64_t file_off);
