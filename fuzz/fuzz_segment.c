/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The segment reader. The input's first byte decides about the rest:
 *
 *   even  the rest is a segment file
 *   odd   the rest is blocks without checksums (built_segment.h)
 */
#include <stdlib.h>

#include "limits.h"
#include "built_segment.h"

#include "store/needed_nodes.h"
#include "store/row_reader.h"
#include "store/segment_parse.h"

static bool takes_all(void *context, const struct block_span *span)
{
	(void)context;
	return span->first_ns <= span->last_ns;
}

static bool takes_all_overviews(void *context, uint64_t level_ns, uint64_t first_ns,
				uint64_t last_ns)
{
	(void)context;
	return level_ns && first_ns <= last_ns;
}

/*
 * 65,536 free ids and rows, of up to 96 bytes, and a MiB of names; as shipped, there are more of
 * both (store/format.h). A byte may stand for 32 of names, which are there twice, and for four ids
 * and rows (SEGMENT_ITEMS_A_BYTE), or exact times, of 24 bytes.
 */
const struct fuzz_limits fuzz_limits = { .floor_kib = 14336, .bytes_a_byte = 256 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* No row has more samples or events with an exact time than it has at all. */
static void check_times(const struct segment *seg, uint32_t block, const struct count_rows *rows)
{
	struct sample_times times = { 0 };
	uint64_t last_ns = seg->blocks[block].timed_ns;

	segment_read_times(seg, block, rows, &times);
	vec_foreach (&times, t) {
		struct count_row *row = &rows->data[t->row];

		if (t->row >= rows->n || t->time_ns / 1000 < last_ns / 1000 ||
		    t->samples > row->samples || t->period > row->period)
			abort();
		row->samples -= t->samples;
		row->period -= t->period;
		last_ns = t->time_ns;
	}
	vec_fini(&times);
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
		if (rows.n == seg->blocks[b].n_rows)
			check_times(seg, b, &rows);
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
	static const struct block_filter later = { .takes = takes_all,
						   .takes_overview = takes_all_overviews,
						   .until_ns = UINT64_MAX,
						   .nodes_later = true };
	struct segment_context c = { .warnings_to = &session, .has_delivered = true };
	struct buf built = { 0 };
	struct segment *seg;

	if (!size)
		return 0;
	free_set(FREE_ITEMS, 65536);
	free_set(FREE_NAMES, 1 << 20);
	if (data[0] & 1)
		build_segment(data + 1, size - 1, &built);
	else
		buf_bytes(&built, data + 1, size - 1);
	c.filter = data[0] & 4 ? &later : data[0] & 2 ? &all : NULL;
	c.unpacker = unpacker_new();
	seg = segment_parse(&c, "fuzz", built.data, built.len);
	if (seg) {
		segment_limit_counters(seg, 2);
		segment_load_nodes(seg);
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
