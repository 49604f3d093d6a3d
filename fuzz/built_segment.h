/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A segment file of blocks without checksums, which are filled in, so that the fuzzer gets behind
 * them. Each block is a byte of its kind and losses, the fields of its header in the order below as
 * ULEB128, then the bytes of its sections. Bit 6 of the first byte: it has exact times. A group
 * with bit 5 is one of seconds, and with bit 4, too, it is an overview.
 */
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/reader.h"
#include "store/segment_parse.h"

#define BLOCKS_MAX 16

static inline void build_block(struct reader *r, struct buf *out)
{
	struct loss_row loss = { 0 };
	struct block_header h = { 0 };
	const uint8_t *sections[N_SECTIONS] = { 0 };
	uint8_t first = reader_u8(r);
	bool has_times;

	h.kind = first & 3;
	if (h.kind == BLOCK_GROUP && first & 1 << 5)
		h.kind = first & 1 << 4 ? BLOCK_OVERVIEW : BLOCK_SECONDS;
	h.n_losses = first >> 7;
	has_times = first >> 6 & 1;
	h.first_ns = reader_uleb(r);
	h.last_ns = h.first_ns + reader_u8(r);
	h.samples = reader_uleb(r);
	h.delivered_before = reader_uleb(r);
	for (int i = 0; i < N_TABLES; i++) {
		h.first_id[i] = (uint32_t)reader_uleb(r);
		h.n_ids[i] = (uint32_t)reader_uleb(r);
	}
	h.n_rows = (uint32_t)reader_uleb(r);
	loss.reason = first >> 2 & 15;
	loss.n = h.samples;
	for (int i = 0; i < (has_times ? N_SECTIONS : SECTION_TIMES); i++) {
		uint64_t size = reader_uleb(r);

		h.section_size[i] = (uint32_t)MIN(size, reader_left(r));
		sections[i] = reader_bytes(r, h.section_size[i]);
		h.section_hash[i] = XXH3_64bits(sections[i], h.section_size[i]);
	}
	if (has_times)
		h.early_us = reader_u8(r);
	block_header_write(out, &h, &loss);
	for (int i = 0; i < N_SECTIONS; i++)
		buf_bytes(out, sections[i], h.section_size[i]);
}

static inline void build_segment(const uint8_t *data, size_t size, struct buf *out)
{
	struct reader r = reader_over(data, size);

	segment_header_write(out, &(struct segment_header){ .version = SEGMENT_VERSION });
	for (int i = 0; i < BLOCKS_MAX && reader_left(&r); i++)
		build_block(&r, out);
}
