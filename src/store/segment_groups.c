/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the blocks of a segment that hold many seconds, or an overview. */
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/clock.h"
#include "store/segment_parts.h"

/* A group on its way into blocks. */
struct group_parser {
	struct segment_context *c;
	struct segment_file *f;
	const struct block_header *h;
	struct group group;
	struct second_times *times; /* a second each; NULL: no exact times */
	const uint8_t *times_at;    /* of the section */
};

static void find_times(struct group_parser *p, const uint8_t *bytes)
{
	uint32_t size = p->h->section_size[SECTION_TIMES];

	if (!size || p->h->kind != BLOCK_SECONDS)
		return;
	p->times = xcalloc(p->group.seconds.n + 1, sizeof(*p->times));
	if (segment_section_is_whole(p->h, bytes, SECTION_TIMES, &p->times_at) &&
	    group_decode_times(p->c->unpacker, p->times_at, size, &p->group, p->times) == 0)
		return;
	segment_warn_of_times(p->c, p->f, p->h);
	free(take_ptr(p->times));
}

/* The earliest of the exact times of a second; 0: it has none. */
static uint64_t second_timed_ns(const struct group_parser *p, size_t second)
{
	const struct second_times *t = p->times ? &p->times[second] : NULL;
	uint64_t first_us = p->group.seconds.data[second].first_ns / NS_PER_US;

	return t && t->size ? MAX((first_us - t->early_us) * NS_PER_US, (uint64_t)1) : 0;
}

static bool wants_second(const struct group_parser *p, size_t second)
{
	const struct group_second *s = &p->group.seconds.data[second];
	const struct block_span span = { s->first_ns, s->last_ns, second_timed_ns(p, second),
					 s->samples };

	return segment_wants_block(p->c, p->group.level_ns, &span);
}

static void push_second(struct group_parser *p, size_t second, const struct block *block,
			const struct loss_row *losses, const struct block_place *place)
{
	struct block_place *at = segment_push_block(p->f, block, losses);
	const uint8_t *bytes;

	*at = *place;
	if (!block->timed_ns)
		return;
	bytes = p->times_at + p->times[second].offset;
	at->times_off = (uint64_t)(bytes - p->f->bytes);
	at->times_size = p->times[second].size;
	at->times_hash = XXH3_64bits(bytes, at->times_size);
	at->first_us = block->first_ns / NS_PER_US - p->times[second].early_us;
}

static void push_seconds(struct group_parser *p, const struct group_place *place, uint64_t file_off)
{
	uint64_t size = MAX(block_size(p->h) / p->group.seconds.n, 1u);
	const struct loss_row *losses = p->group.losses.data;
	uint32_t first_row = 0;

	for (size_t i = 0; i < p->group.seconds.n; i++) {
		const struct group_second *s = &p->group.seconds.data[i];
		const struct block block = { .first_ns = s->first_ns,
					     .last_ns = s->last_ns,
					     .samples = s->samples,
					     .n_rows = s->n_rows,
					     .n_losses = s->n_losses,
					     .timed_ns = second_timed_ns(p, i),
					     .file_off = file_off,
					     .size_bytes =
						     size + (p->times ? p->times[i].size : 0) };
		const struct block_place at = { .group = place,
						.first_row = first_row,
						.samples = s->samples,
						.frame.n_rows = s->n_rows };

		if (wants_second(p, i))
			push_second(p, i, &block, losses, &at);
		losses += s->n_losses;
		first_row += s->n_rows;
	}
}

static const struct group_place *place_group(struct segment_file *f, const struct block_header *h,
					     const struct group *g, const uint8_t *counts,
					     size_t rows_at)
{
	size_t size = g->seconds.n * sizeof(*g->seconds.data);
	struct group_second *seconds = arena_alloc(f->arena, size);
	struct group_place *place = arena_alloc(f->arena, sizeof(*place));

	memcpy(seconds, g->seconds.data, size);
	*place = (struct group_place){
		.file_off = (uint64_t)(counts - f->bytes),
		.size = h->section_size[SECTION_COUNTS],
		.hash = h->section_hash[SECTION_COUNTS],
		.rows_at = rows_at,
		.frame = { segment_frame_of(h), g->next_class, h->first_ns, h->kind == BLOCK_GROUP,
			   g->level_ns > 0 },
		.level_ns = g->level_ns,
		.seconds = seconds,
		.n_seconds = (uint32_t)g->seconds.n,
	};
	return place;
}

/*
 * A damaged overview loses no sample, because the blocks below it are there. The caller gets a
 * warning and does without it.
 */
static void lose_group(struct segment_context *c, struct segment_file *f,
		       const struct block_header *h, const struct loss_row *losses,
		       uint64_t file_off)
{
	if (h->kind != BLOCK_OVERVIEW)
		segment_push_samples(c, f, h, losses, NULL, file_off);
	else
		segment_warn(c, "%s: an overview from %.3f s on is damaged", f->name,
			     (double)h->first_ns / 1e9);
}

void segment_parse_group(struct segment_context *c, struct segment_file *f,
			 const struct block_header *h, const struct loss_row *losses,
			 const uint8_t *bytes, uint64_t file_off)
{
	const struct block_span span = { h->first_ns, h->last_ns, 0, h->samples };
	bool is_overview = h->kind == BLOCK_OVERVIEW, wanted = false;
	struct group_parser p = { .c = c, .f = f, .h = h };
	const uint8_t *counts;
	size_t rows_at = 0;
	bool is_whole = segment_section_is_whole(h, bytes, SECTION_COUNTS, &counts) &&
			group_decode_seconds(c->unpacker, counts, h->section_size[SECTION_COUNTS],
					     h, &p.group, &rows_at) == 0 &&
			p.group.seconds.n;

	if (is_whole)
		find_times(&p, bytes);
	for (size_t i = 0; i < p.group.seconds.n; i++)
		wanted |= wants_second(&p, i);
	if (!is_whole)
		wanted = is_overview ? c->filter && c->filter->takes_overview
				     : segment_wants_block(c, 0, &span);
	if (!segment_begin_samples(c, f, h, bytes, wanted))
		; /* that was all */
	else if (!is_whole)
		lose_group(c, f, h, losses, file_off);
	else
		push_seconds(&p, place_group(f, h, &p.group, counts, rows_at), file_off);
	free(p.times);
	group_fini(&p.group);
}
