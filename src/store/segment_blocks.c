/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which blocks of a parsed segment stay, and which of their samples. */
#include "store/segment_parse.h"

#include <string.h>

#include "store/row_reader.h"
#include "store/segment_file.h"

bool filter_takes(const struct block_filter *filter, const struct session_info *info,
		  uint64_t level_ns, const struct block_span *span)
{
	const struct block_span at = {
		.first_ns = session_wall_ns(info, span->first_ns),
		.last_ns = session_wall_ns(info, span->last_ns),
		.timed_ns = span->timed_ns ? session_wall_ns(info, span->timed_ns) : 0,
		.samples = span->samples,
	};

	return level_ns ? filter->takes_overview(filter->context, level_ns, at.first_ns, at.last_ns)
			: filter->takes(filter->context, &at);
}

struct cutter {
	const struct time_window *window;
	const struct session_info *info;
};

static bool window_has(const void *context, uint64_t time_ns)
{
	const struct cutter *c = context;
	uint64_t at = session_wall_ns(c->info, time_ns);

	return at >= c->window->from_ns && at < c->window->to_ns;
}

static bool is_in_window(const struct cutter *c, const struct block *b)
{
	return window_has(c, MIN(b->first_ns, b->timed_ns)) && window_has(c, b->last_ns);
}

static uint64_t rows_samples(const struct count_rows *rows)
{
	uint64_t n = 0;

	vec_foreach (rows, row)
		n += row->samples;
	return n;
}

/* Keeps the chosen rows of a block in memory, in place of those of the file. */
static void keep_cut(struct segment_file *f, uint32_t i, const struct count_rows *rows,
		     const struct sample_times *times)
{
	struct block_cut *cut = arena_alloc(f->arena, sizeof(*cut));
	struct block *b = &f->seg.blocks[i];

	cut->rows = arena_alloc(f->arena, rows->n * sizeof(*rows->data) + 1);
	cut->times = arena_alloc(f->arena, times->n * sizeof(*times->data) + 1);
	cut->n_times = times->n;
	if (rows->n)
		memcpy(cut->rows, rows->data, rows->n * sizeof(*rows->data));
	if (times->n)
		memcpy(cut->times, times->data, times->n * sizeof(*times->data));
	f->places[i].cut = cut;
	f->places[i].samples = b->samples = rows_samples(rows);
	f->places[i].frame.n_rows = b->n_rows = (uint32_t)rows->n;
	if (!times->n)
		return;
	b->timed_ns = times->data[0].time_ns;
	b->first_ns = MAX(b->first_ns, b->timed_ns);
	b->last_ns = MAX(b->first_ns, MIN(b->last_ns, times->data[times->n - 1].time_ns));
}

/*
 * Cuts a block that is partly in the window. Its losses stay with it, because their moments are not
 * known.
 */
static void cut_block(struct segment_file *f, uint32_t i, const struct cutter *c,
		      bool takes_untimed)
{
	const struct times_choice choice = { window_has, c, takes_untimed };
	struct count_rows rows = { 0 };
	struct sample_times times = { 0 };

	if (segment_read_rows(&f->seg, i, &rows, NULL) == 0 &&
	    segment_read_times(&f->seg, i, &rows, &times) == 0) {
		times_choose(&choice, rows.data, &rows.n, &times);
		keep_cut(f, i, &rows, &times);
	}
	vec_fini(&rows);
	vec_fini(&times);
}

/* False: the block goes. */
static bool filter_block(struct segment_file *f, uint32_t i, const struct block_filter *filter,
			 const struct session_info *info)
{
	const struct cutter c = { filter->cut, info };
	const struct block *b = &f->seg.blocks[i];
	const struct group_place *group = f->places[i].group;
	const struct block_span span = { b->first_ns, b->last_ns, b->timed_ns, b->samples };

	if (!filter_takes(filter, info, group ? group->level_ns : 0, &span))
		return false;
	if (!b->timed_ns || !c.window || is_in_window(&c, b))
		return true;
	cut_block(f, i, &c, window_has(&c, b->first_ns + (b->last_ns - b->first_ns) / 2));
	return b->n_rows || b->n_losses;
}

void segment_filter(struct segment *seg, const struct block_filter *filter,
		    const struct session_info *info)
{
	struct segment_file *f = segment_file_of(seg);
	uint32_t n = 0;

	for (uint32_t i = 0; i < seg->n_blocks; i++) {
		if (!filter_block(f, i, filter, info))
			continue;
		seg->blocks[n] = seg->blocks[i];
		f->places[n++] = f->places[i];
	}
	seg->n_blocks = n;
}

void segment_shift(struct segment *seg, uint64_t shift_ns)
{
	segment_file_of(seg)->shift_ns += shift_ns;
	for (uint32_t i = 0; i < seg->n_blocks; i++) {
		struct block *b = &seg->blocks[i];

		b->first_ns += shift_ns;
		b->last_ns += shift_ns;
		if (b->timed_ns)
			b->timed_ns = MAX(b->timed_ns + shift_ns, (uint64_t)1);
	}
}

void segment_own(struct segment *seg, const struct file_mapping *map)
{
	struct segment_file *f = segment_file_of(seg);

	f->map = *map;
	/* Few of its pages are read again soon: those of some blocks. */
	if (f->has_later)
		file_rest(&f->map, 0, f->map.size);
}

void segment_limit_counters(struct segment *seg, uint32_t n_counters)
{
	for (uint32_t i = 0; i < seg->n_classes; i++)
		if (seg->classes[i].counter >= n_counters)
			seg->classes[i].counter = 0;
	for (uint32_t i = 0; i < seg->n_blocks; i++) {
		/* The segment owns the rows; only the interface declares them const. */
		struct loss_row *rows = (struct loss_row *)seg->blocks[i].losses;

		for (uint32_t k = 0; k < seg->blocks[i].n_losses; k++)
			if (rows[k].counter >= n_counters)
				rows[k].counter = UINT32_MAX;
	}
}

uint32_t segment_max_counter(const struct segment *seg)
{
	uint32_t max = 0;

	for (uint32_t i = 0; i < seg->n_classes; i++)
		max = MAX(max, seg->classes[i].counter);
	return max;
}
