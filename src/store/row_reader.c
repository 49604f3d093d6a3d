/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/row_reader.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/reserve.h"
#include "store/group.h"
#include "store/node_set.h"
#include "store/segment_file.h"

struct row_reader {
	struct unpacker *unpacker;
	const struct group_place *unpacked; /* the group that the rows belong to, or NULL */
	struct count_rows rows;
};

static bool rows_agree(const struct count_row *rows, size_t n, uint64_t samples)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += rows[i].samples;
	return sum == samples;
}

static int row_reader_unpack_group(struct row_reader *r, const uint8_t *bytes,
				   const struct group_place *g)
{
	r->unpacked = NULL;
	r->rows.n = 0;
	if (XXH3_64bits(bytes, g->size) != g->hash ||
	    group_decode_rows(r->unpacker, bytes + g->rows_at, g->size - g->rows_at, &g->frame,
			      g->seconds, g->n_seconds, &r->rows) < 0)
		return -EBADMSG;
	r->unpacked = g;
	return 0;
}

struct row_reader *row_reader_new(void)
{
	struct row_reader *r = xcalloc(1, sizeof(*r));

	r->unpacker = unpacker_new();
	return r;
}

void row_reader_free(struct row_reader *r)
{
	if (!r)
		return;
	unpacker_free(r->unpacker);
	vec_fini(&r->rows);
	free(r);
}

/* Callers mostly read one second after the other, so the group is kept. */
static int row_reader_find_second(struct row_reader *r, const uint8_t *bytes,
				  const struct block_place *place, const struct count_row **rows)
{
	if (r->unpacked != place->group &&
	    row_reader_unpack_group(r, bytes + place->group->file_off, place->group) < 0)
		return -EBADMSG;
	*rows = r->rows.data + place->first_row;
	return 0;
}

static int row_reader_decode(struct row_reader *r, const uint8_t *bytes,
			     const struct block_place *place, const struct count_row **rows)
{
	r->unpacked = NULL;
	r->rows.n = 0;
	/* A file that was cut meanwhile has zeros here. */
	if (XXH3_64bits(bytes + place->file_off, place->size) != place->hash ||
	    counts_decode(r->unpacker, bytes + place->file_off, place->size, &place->frame,
			  &r->rows) < 0)
		return -EBADMSG;
	*rows = r->rows.data;
	return 0;
}

int64_t row_reader_find(struct row_reader *reader, const struct segment *segment, uint32_t block,
			const struct count_row **rows, struct error *err)
{
	const struct segment_file *f = segment_file_of(segment);
	const struct block_place *place = &f->places[block];
	uint32_t n = place->frame.n_rows;
	int r;

	assert(block < segment->n_blocks);
	if (!n)
		return 0;
	if (place->cut) {
		*rows = place->cut->rows;
		return n;
	}
	r = place->group ? row_reader_find_second(reader, f->bytes, place, rows)
			 : row_reader_decode(reader, f->bytes, place, rows);
	if (!r && !rows_agree(*rows, n, place->samples))
		r = -EBADMSG;
	if (r < 0)
		return error_set(err, r, "%s: the counts of the block at %.3f s are damaged",
				 f->name, (double)segment->blocks[block].first_ns / 1e9);
	return n;
}

int segment_read_rows(const struct segment *segment, uint32_t block, struct count_rows *rows,
		      struct error *err)
{
	struct segment_file *f = segment_file_of(segment);
	const struct count_row *found;
	int64_t n;

	if (!f->reader)
		f->reader = row_reader_new();
	n = row_reader_find(f->reader, segment, block, &found, err);
	if (n <= 0)
		return (int)n;
	if (!vec_try_reserve(rows, rows->n + (size_t)n))
		return reserve_error(err);
	memcpy(rows->data + rows->n, found, (size_t)n * sizeof(*found));
	for (int64_t i = 0; f->needed && i < n; i++) {
		struct count_row *row = &rows->data[rows->n + (size_t)i];

		/* Rows that could not be read when the nodes were are below the root. */
		row->node = node_set_has(f->needed, row->node) ? node_set_rank(f->needed, row->node)
							       : 0;
	}
	rows->n += (size_t)n;
	return 0;
}

static int read_cut_times(const struct block_cut *cut, struct sample_times *times)
{
	if (!vec_try_reserve(times, times->n + cut->n_times))
		return -ENOMEM;
	if (cut->n_times)
		memcpy(times->data + times->n, cut->times, cut->n_times * sizeof(*cut->times));
	times->n += cut->n_times;
	return 0;
}

static int read_block_times(struct segment_file *f, const struct block_place *place,
			    const struct count_rows *rows, struct sample_times *times)
{
	const uint8_t *bytes = f->bytes + place->times_off;

	if (place->cut)
		return read_cut_times(place->cut, times);
	if (!place->times_size)
		return 0;
	if (!f->reader)
		f->reader = row_reader_new();
	/* A file that was cut meanwhile has zeros here. */
	if (XXH3_64bits(bytes, place->times_size) != place->times_hash)
		return -EBADMSG;
	return times_decode(f->reader->unpacker, bytes, place->times_size, place->first_us,
			    rows->data, rows->n, times);
}

int segment_read_times(const struct segment *segment, uint32_t block, const struct count_rows *rows,
		       struct sample_times *times)
{
	struct segment_file *f = segment_file_of(segment);
	size_t n_before = times->n;
	int r;

	assert(block < segment->n_blocks && rows->n == segment->blocks[block].n_rows);
	r = read_block_times(f, &f->places[block], rows, times);
	for (size_t i = n_before; i < times->n && f->shift_ns; i++)
		times->data[i].time_ns += f->shift_ns;
	return r;
}
