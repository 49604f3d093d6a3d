/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The segment reader. The input's first byte decides about the rest:
 *
 *   even  the rest is a segment file
 *   odd   the rest is blocks without checksums. They are filled in, so that the
 *         fuzzer gets behind them. Each block is a byte of its kind and losses,
 *         the fields of its header in the order below as ULEB128, then the bytes
 *         of its sections.
 */
#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/reader.h"
#include "store/row_reader.h"
#include "store/segment_parse.h"

#define BLOCKS_MAX 16

static bool takes_all(void *context, uint64_t first_ns, uint64_t last_ns)
{
	(void)context;
	return first_ns <= last_ns;
}

static bool takes_all_overviews(void *context, uint64_t level_ns, uint64_t first_ns,
				uint64_t last_ns)
{
	(void)context;
	return level_ns && first_ns <= last_ns;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void build_block(struct reader *r, struct buf *out)
{
	struct loss_row loss = { 0 };
	struct block_header h = { 0 };
	const uint8_t *sections[N_SECTIONS] = { 0 };
	uint8_t first = reader_u8(r);

	h.kind = first & 3;
	h.n_losses = first >> 7;
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
	for (int i = 0; i < N_SECTIONS; i++) {
		uint64_t size = reader_uleb(r);

		h.section_size[i] = (uint32_t)MIN(size, reader_left(r));
		sections[i] = reader_bytes(r, h.section_size[i]);
		h.section_hash[i] = XXH3_64bits(sections[i], h.section_size[i]);
	}
	block_header_write(out, &h, &loss);
	for (int i = 0; i < N_SECTIONS; i++)
		buf_bytes(out, sections[i], h.section_size[i]);
}

static void build_segment(const uint8_t *data, size_t size, struct buf *out)
{
	struct reader r = reader_over(data, size);

	segment_header_write(out, &(struct segment_header){ .version = SEGMENT_VERSION });
	for (int i = 0; i < BLOCKS_MAX && reader_left(&r); i++)
		build_block(&r, out);
}

/* What a reader of the interface relies on, for rows that could be decoded. */
static void check_rows(const struct segment *seg)
{
	struct count_rows rows = { 0 };

	for (uint32_t b = 0; b < seg->n_blocks; b++) {
		rows.n = 0;
		if (segment_read_rows(seg, b, &rows, NULL) == 0 && rows.n != seg->blocks[b].n_rows)
			abort();
		for (size_t i = 0; i < rows.n; i++)
			if (rows.data[i].class >= seg->n_classes ||
			    rows.data[i].node >= seg->n_nodes)
				abort();
	}
	vec_fini(&rows);
}

static void check_tables(const struct segment *seg)
{
	for (uint32_t i = 1; i < seg->n_nodes; i++)
		if (seg->nodes[i].parent >= i || seg->nodes[i].code.image.n >= seg->n_images)
			abort();
	for (uint32_t i = 0; i < seg->n_classes; i++)
		if (seg->classes[i].app.n >= seg->n_images ||
		    seg->classes[i].comm.n >= seg->n_strings)
			abort();
	for (uint32_t i = 0; i < seg->n_images; i++)
		if (!seg->images[i].path || seg->images[i].kind >= N_IMAGE_KINDS)
			abort();
	for (uint32_t i = 0; i < seg->n_symbols; i++)
		if (!seg->symbols[i].name || seg->symbols[i].image.n >= seg->n_images)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct session session = { 0 };
	static const struct block_filter all = { .takes = takes_all,
						 .takes_overview = takes_all_overviews,
						 .until_ns = UINT64_MAX };
	struct segment_context c = { .warnings_to = &session, .has_delivered = true };
	struct buf built = { 0 };
	struct segment *seg;

	if (!size)
		return 0;
	if (data[0] & 1)
		build_segment(data + 1, size - 1, &built);
	else
		buf_bytes(&built, data + 1, size - 1);
	c.filter = data[0] & 2 ? &all : NULL;
	c.unpacker = unpacker_new();
	seg = segment_parse(&c, "fuzz", built.data, built.len);
	if (seg) {
		segment_limit_counters(seg, 2);
		check_tables(seg);
		check_rows(seg);
	}
	segment_free(seg);
	unpacker_free(c.unpacker);
	free(c.info.counters);
	free(c.info_text);
	vec_foreach (&session.warnings, text)
		free(*text);
	vec_fini(&session.warnings);
	buf_fini(&built);
	return 0;
}
