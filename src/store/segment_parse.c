/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/segment_parse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/clock.h"
#include "base/reserve.h"
#include "store/group.h"
#include "store/node_set.h"
#include "store/row_reader.h"
#include "store/segment_file.h"
#include "store/segment_parts.h"

#define WARNINGS_MAX 50

/* Blocks are in the order of time, but late samples may move a block's time by this much. */
#define LATE_NS 2000000000ULL

#define END_SIZE_MAX 2048 /* more than a header and an END */

void segment_warn(struct segment_context *c, const char *format, ...)
{
	va_list args;
	char *text;

	if (c->n_warnings++ > WARNINGS_MAX)
		return;
	if (c->n_warnings > WARNINGS_MAX) {
		vec_push(&c->warnings_to->warnings, xstrdup("there is more damage than is listed"));
		return;
	}
	va_start(args, format);
	text = xvasprintf(format, args);
	va_end(args);
	vec_push(&c->warnings_to->warnings, text);
}

/* Grows the table to n entries; the new ones are copies of `hole`. */
#define EXTEND(f, table, array, count, want, hole)                                 \
	do {                                                                       \
		if ((want) > (f)->cap[table]) {                                    \
			(f)->cap[table] = MAX((want), (f)->cap[table] * 2);        \
			(f)->seg.array = xrealloc((f)->seg.array, (f)->cap[table], \
						  sizeof(*(f)->seg.array));        \
		}                                                                  \
		while ((f)->seg.count < (want))                                    \
			(f)->seg.array[(f)->seg.count++] = (hole);                 \
	} while (0)

/* More than extending the tables and decoding the block's names and nodes takes. */
static uint64_t bytes_of_tables(const struct segment_file *f, const uint32_t n[N_TABLES])
{
	static const size_t sizes[N_TABLES] = {
		[TABLE_STRINGS] = sizeof(char *),
		[TABLE_IMAGES] = sizeof(struct image),
		[TABLE_CLASSES] = sizeof(struct profile_class),
		[TABLE_NODES] = sizeof(struct tree_node),
		[TABLE_SYMBOLS] = sizeof(struct code_symbol),
	};
	uint64_t bytes = 0;

	for (int i = 0; i < N_TABLES; i++)
		bytes += n[i] > f->cap[i] ? (n[i] + 2 * (uint64_t)f->cap[i]) * sizes[i] : 0;
	return bytes + (uint64_t)n[TABLE_NODES] * 16;
}

static void extend_tables(struct segment_file *f, const uint32_t n[N_TABLES])
{
	const struct image image = { .kind = IMAGE_UNKNOWN, .path = "[unknown]" };
	const struct profile_class class = { .pid = -1, .tid = -1 };
	const struct tree_node node = { 0 }; /* a child of the root, in the unknown image */
	const struct code_symbol symbol = { .name = "[unknown]" };

	EXTEND(f, TABLE_STRINGS, strings, n_strings, n[TABLE_STRINGS], "[unknown]");
	EXTEND(f, TABLE_IMAGES, images, n_images, n[TABLE_IMAGES], image);
	EXTEND(f, TABLE_CLASSES, classes, n_classes, n[TABLE_CLASSES], class);
	EXTEND(f, TABLE_NODES, nodes, n_nodes, n[TABLE_NODES], node);
	EXTEND(f, TABLE_SYMBOLS, symbols, n_symbols, n[TABLE_SYMBOLS], symbol);
}

static struct segment_file *segment_new(const char *name)
{
	static const uint32_t implied[N_TABLES] = { 1, 1, 0, 1, 0 };
	struct segment_file *f = xcalloc(1, sizeof(*f));

	f->arena = arena_new();
	f->name = xstrdup(name);
	f->seg.name = f->name;
	extend_tables(f, implied);
	memcpy(f->n_ids, implied, sizeof(implied));
	f->seg.strings[0] = "";
	return f;
}

void segment_free(struct segment *seg)
{
	struct segment_file *f = segment_file_of(seg);

	if (!f)
		return;
	free_release(&f->held);
	free(f->seg.strings);
	free(f->seg.images);
	free(f->seg.classes);
	free(f->seg.nodes);
	free(f->seg.symbols);
	free(f->seg.blocks);
	free(f->places);
	free(f->name);
	vec_fini(&f->unread);
	vec_fini(&f->later);
	vec_fini(&f->replaced);
	node_set_free(f->needed);
	arena_free(f->arena);
	row_reader_free(f->reader);
	file_unmap(&f->map);
	free(f);
}

struct block_place *segment_push_block(struct segment_file *f, const struct block *block,
				       const struct loss_row *losses)
{
	size_t size = block->n_losses * sizeof(*losses);
	struct loss_row *copy = arena_alloc(f->arena, size + 1);
	struct block *b;

	if (f->seg.n_blocks == f->blocks_cap) {
		f->blocks_cap = f->blocks_cap ? f->blocks_cap * 2 : 16;
		f->seg.blocks = xrealloc(f->seg.blocks, f->blocks_cap, sizeof(*f->seg.blocks));
		f->places = xrealloc(f->places, f->blocks_cap, sizeof(*f->places));
	}
	if (size)
		memcpy(copy, losses, size);
	b = &f->seg.blocks[f->seg.n_blocks];
	*b = *block;
	b->losses = copy;
	f->places[f->seg.n_blocks] = (struct block_place){ 0 };
	return &f->places[f->seg.n_blocks++];
}

/*
 * Counts the samples between the last block that was read and this one as lost: adds a block that
 * has only a loss.
 */
static void note_gap(struct segment_context *c, struct segment_file *f, uint64_t delivered_before,
		     uint64_t time_ns)
{
	uint64_t gap = c->has_delivered ? delivered_before - c->delivered : 0;
	uint64_t at_ns = time_ns ? time_ns : c->last_ns; /* segment headers have no time */
	struct loss_row loss = { LOSS_DAMAGED, UINT32_MAX, gap };
	struct block block = { .first_ns = at_ns, .last_ns = at_ns, .n_losses = 1 };

	if (c->has_delivered && delivered_before > c->delivered) {
		segment_push_block(f, &block, &loss);
		segment_warn(c,
			     "%s: %" PRIu64 " samples before %.3f s were in a part that is "
			     "damaged or missing",
			     f->name, gap, (double)at_ns / 1e9);
	}
	c->delivered = delivered_before;
	c->has_delivered = true;
}

bool segment_section_is_whole(const struct block_header *h, const uint8_t *bytes,
			      enum section section, const uint8_t **at)
{
	uint64_t off = h->header_size;

	for (int i = 0; i < (int)section; i++)
		off += h->section_size[i];
	*at = bytes + off;
	return XXH3_64bits(*at, h->section_size[section]) == h->section_hash[section] ||
	       !h->section_size[section];
}

/* Unpacks the text of an INFO or END block into *text, which the caller frees. */
static int read_text_block(struct segment_context *c, const struct block_header *h,
			   const uint8_t *bytes, uint8_t **text, size_t *n)
{
	const uint8_t *at;
	struct reader r;

	if (!segment_section_is_whole(h, bytes, SECTION_NAMES, &at))
		return -EBADMSG;
	r = reader_over(at, h->section_size[SECTION_NAMES]);
	return unpack_bytes(c->unpacker, &r, names_bytes_max(reader_left(&r)), text, n);
}

/* Every segment has the same INFO; the first readable one counts. */
static bool read_info(struct segment_context *c, const struct block_header *h, const uint8_t *bytes)
{
	uint8_t *text = NULL;
	size_t n;
	bool is_good = read_text_block(c, h, bytes, &text, &n) == 0;

	if (is_good && !c->has_info) {
		is_good = info_decode(text, n, &c->info) == 0;
		c->has_info = is_good;
		if (is_good)
			c->info_text = take_ptr(text);
	}
	free(text);
	return is_good;
}

static void parse_info(struct segment_context *c, struct segment_file *f,
		       const struct block_header *h, const uint8_t *bytes)
{
	if (!read_info(c, h, bytes))
		segment_warn(c, "%s: the description of the session is damaged", f->name);
}

static void read_end(struct segment_context *c, const struct block_header *h, const uint8_t *bytes)
{
	uint8_t *text = NULL;
	size_t n;

	c->has_end =
		read_text_block(c, h, bytes, &text, &n) == 0 && end_decode(text, n, &c->end) == 0;
	free(text);
}

static void parse_end(struct segment_context *c, struct segment_file *f,
		      const struct block_header *h, const uint8_t *bytes)
{
	read_end(c, h, bytes);
	if (!c->has_end)
		segment_warn(c, "%s: the end of the session is damaged", f->name);
}

static uint64_t sum_ids(const uint32_t n[N_TABLES])
{
	uint64_t sum = 0;

	for (int i = 0; i < N_TABLES; i++)
		sum += n[i];
	return sum;
}

/* Packed bytes begin with their number. */
static bool names_are_paid(struct segment_context *c, struct segment_file *f, const uint8_t *bytes,
			   size_t size)
{
	struct reader r = reader_over(bytes, size);
	uint64_t n = reader_uleb(&r);

	n = MIN(n, BLOCK_NAMES_MAX);
	if (!free_hold(FREE_NAMES, c->n_names + n, c->n_bytes, &c->held, &f->held))
		return false;
	c->n_names += n;
	return true;
}

static void parse_names(struct segment_context *c, struct segment_file *f,
			const struct block_header *h, const uint8_t *bytes)
{
	const uint8_t *at;

	if (!h->section_size[SECTION_NAMES])
		return;
	if (segment_section_is_whole(h, bytes, SECTION_NAMES, &at) &&
	    names_are_paid(c, f, at, h->section_size[SECTION_NAMES]) &&
	    names_decode(c->unpacker, at, h->section_size[SECTION_NAMES], h, f->arena, &f->seg) ==
		    0)
		return;
	segment_warn(c,
		     "%s: block at %.3f s: names are damaged: %u images and %u classes are "
		     "[unknown]",
		     f->name, (double)h->first_ns / 1e9, h->n_ids[TABLE_IMAGES],
		     h->n_ids[TABLE_CLASSES]);
}

/* A damaged section is noticed when it is read, too. */
static void add_later_nodes(struct segment_file *f, const struct block_header *h,
			    const uint8_t *bytes)
{
	const uint8_t *at;

	segment_section_is_whole(h, bytes, SECTION_NODES, &at);
	vec_push(&f->later, (struct later_nodes){ .first = h->first_id[TABLE_NODES],
						  .n = h->n_ids[TABLE_NODES],
						  .bytes = at,
						  .size = h->section_size[SECTION_NODES],
						  .hash = h->section_hash[SECTION_NODES] });
}

static bool reads_nodes_later(const struct segment_context *c)
{
	return c->filter && c->filter->nodes_later;
}

static void parse_nodes(struct segment_context *c, struct segment_file *f,
			const struct block_header *h, const uint8_t *bytes)
{
	uint32_t first = h->first_id[TABLE_NODES], n = h->n_ids[TABLE_NODES];
	const uint8_t *at;

	if (!n)
		return;
	if (reads_nodes_later(c)) {
		add_later_nodes(f, h, bytes);
		return;
	}
	if (segment_section_is_whole(h, bytes, SECTION_NODES, &at) &&
	    nodes_decode(c->unpacker, at, h->section_size[SECTION_NODES], first, n, f->seg.n_images,
			 f->seg.nodes + first) == 0)
		return;
	for (uint32_t i = first; i < first + n; i++)
		f->seg.nodes[i] = (struct tree_node){ 0 };
	segment_warn(c,
		     "%s: block at %.3f s: %u call tree nodes are damaged; their samples are "
		     "shown under [unknown]",
		     f->name, (double)h->first_ns / 1e9, n);
}

/* False only if the block is certainly not wanted. */
bool segment_wants_block(const struct segment_context *c, uint64_t level_ns,
			 const struct block_span *span)
{
	const struct block_filter *filter = c->filter;

	if (level_ns && (!filter || !filter->takes_overview))
		return false;
	return !filter || !c->has_info || filter_takes(filter, &c->info, level_ns, span);
}

static void look_past(struct segment_context *c, const struct block_header *h)
{
	const struct block_filter *filter = c->filter;
	uint64_t first_ns;

	if (!filter || !c->has_info || h->kind == BLOCK_OVERVIEW)
		return;
	first_ns = session_wall_ns(&c->info, h->first_ns);
	c->is_past |= first_ns > filter->until_ns && first_ns - filter->until_ns > LATE_NS;
}

static void parse_unread(struct segment_context *c, struct segment_file *f)
{
	vec_foreach (&f->unread, block) {
		parse_names(c, f, &block->header, block->bytes);
		parse_nodes(c, f, &block->header, block->bytes);
	}
	f->unread.n = 0;
}

/* Reads names and nodes of a block. False: nothing else of it is read, now or later. */
bool segment_begin_samples(struct segment_context *c, struct segment_file *f,
			   const struct block_header *h, const uint8_t *bytes, bool wanted)
{
	cleanup(reserve_drop) struct reserve room = { 0 };
	uint32_t want[N_TABLES];

	look_past(c, h);
	if (c->is_past)
		return false;
	for (int i = 0; i < N_TABLES; i++)
		f->n_ids[i] = h->first_id[i] + h->n_ids[i];
	if (!wanted) {
		vec_push(&f->unread, (struct unread){ *h, bytes });
		return false;
	}
	memcpy(want, f->n_ids, sizeof(want));
	if (reads_nodes_later(c))
		want[TABLE_NODES] = f->seg.n_nodes;
	if (reserve_take(&room, bytes_of_tables(f, want), 1) < 0)
		return false;
	extend_tables(f, want);
	parse_unread(c, f);
	parse_names(c, f, h, bytes);
	parse_nodes(c, f, h, bytes);
	return true;
}

struct counts_frame segment_frame_of(const struct block_header *h)
{
	return (struct counts_frame){ h->first_id[TABLE_CLASSES] + h->n_ids[TABLE_CLASSES],
				      h->first_id[TABLE_NODES], h->n_ids[TABLE_NODES], h->n_rows };
}

/* `counts` NULL: the counts are damaged. */
void segment_push_samples(struct segment_context *c, struct segment_file *f,
			  const struct block_header *h, const struct loss_row *losses,
			  const uint8_t *counts, uint64_t file_off)
{
	struct loss_row rows[BLOCK_LOSSES_MAX + 1];
	struct block block = { .first_ns = h->first_ns,
			       .last_ns = h->last_ns,
			       .samples = h->samples,
			       .n_rows = h->n_rows,
			       .n_losses = h->n_losses,
			       .file_off = file_off,
			       .size_bytes = block_size(h) };
	struct block_place *place;

	memcpy(rows, losses, h->n_losses * sizeof(*rows));
	if (!counts) {
		rows[block.n_losses++] =
			(struct loss_row){ LOSS_DAMAGED, UINT32_MAX, block.samples };
		block.samples = 0;
		block.n_rows = 0;
		segment_warn(c,
			     "%s: block at %.3f s: the counts of %" PRIu64 " samples are "
			     "damaged",
			     f->name, (double)h->first_ns / 1e9, h->samples);
	}
	place = segment_push_block(f, &block, rows);
	*place = (struct block_place){
		.file_off = counts ? (uint64_t)(counts - f->bytes) : file_off,
		.size = h->section_size[SECTION_COUNTS],
		.hash = h->section_hash[SECTION_COUNTS],
		.samples = block.samples,
		.frame = segment_frame_of(h),
	};
	place->frame.n_rows = block.n_rows;
}

/* The time of the first sample with an exact one; 0: there is none. */
static uint64_t timed_ns(const struct block_header *h)
{
	return h->section_size[SECTION_TIMES] ? (h->first_ns / NS_PER_US - h->early_us) * NS_PER_US
					      : 0;
}

void segment_warn_of_times(struct segment_context *c, const struct segment_file *f,
			   const struct block_header *h)
{
	segment_warn(c,
		     "%s: block at %.3f s: the exact times of its samples are damaged; their "
		     "second is known",
		     f->name, (double)h->first_ns / 1e9);
}

/* Of the block that was pushed last. */
static void parse_times(struct segment_context *c, struct segment_file *f,
			const struct block_header *h, const uint8_t *bytes)
{
	struct block_place *place = &f->places[f->seg.n_blocks - 1];
	const uint8_t *at;

	if (!segment_section_is_whole(h, bytes, SECTION_TIMES, &at)) {
		segment_warn_of_times(c, f, h);
		return;
	}
	place->times_off = (uint64_t)(at - f->bytes);
	place->times_size = h->section_size[SECTION_TIMES];
	place->times_hash = h->section_hash[SECTION_TIMES];
	place->first_us = h->first_ns / NS_PER_US - h->early_us;
	f->seg.blocks[f->seg.n_blocks - 1].timed_ns = MAX(timed_ns(h), (uint64_t)1);
}

static void parse_samples(struct segment_context *c, struct segment_file *f,
			  const struct block_header *h, const struct loss_row *losses,
			  const uint8_t *bytes, uint64_t file_off)
{
	const struct block_span span = { h->first_ns, h->last_ns, timed_ns(h), h->samples };
	bool is_tree = !h->n_rows && !h->n_losses, is_whole;
	const uint8_t *counts;

	/* A block of names and nodes alone has no useful time; later blocks need it. */
	if (!segment_begin_samples(c, f, h, bytes,
				   (!c->filter || !is_tree) && segment_wants_block(c, 0, &span)))
		return;
	is_whole = segment_section_is_whole(h, bytes, SECTION_COUNTS, &counts);
	segment_push_samples(c, f, h, losses, is_whole ? counts : NULL, file_off);
	if (is_whole && h->section_size[SECTION_TIMES])
		parse_times(c, f, h, bytes);
}

/*
 * A block must not define an id again. Ids that it skips are holes. The tables have room for each
 * id, so a small session must not claim many.
 */
static bool ids_fit(struct segment_context *c, struct segment_file *f, const struct block_header *h)
{
	if (h->kind != BLOCK_SAMPLES && !is_group(h->kind))
		return true;
	if (!free_hold(FREE_ITEMS, c->n_items + block_items(h), c->n_bytes, &c->held, &f->held))
		return false;
	for (int i = 0; i < N_TABLES; i++)
		if (h->first_id[i] < f->n_ids[i])
			return false;
	f->n_holes += sum_ids(h->first_id) - sum_ids(f->n_ids);
	return true;
}

/* Returns the offset, from `at` on, of the next block that fits the file, or `size`. */
static size_t find_block(const uint8_t *bytes, size_t size, size_t at)
{
	struct loss_row losses[BLOCK_LOSSES_MAX];
	struct block_header h;

	while (at < size) {
		const uint8_t *found = memmem(bytes + at, size - at, BLOCK_MAGIC, 4);

		if (!found)
			break;
		at = (size_t)(found - bytes);
		if (block_header_parse(found, size - at, &h, losses) == 0 &&
		    block_size(&h) <= size - at)
			return at;
		at++;
	}
	return size;
}

static void warn_of_damage(struct segment_context *c, struct segment_file *f, size_t at,
			   size_t next, size_t size)
{
	if (next < size || !c->is_last || c->has_end)
		segment_warn(c, "%s: %zu bytes at offset %zu are damaged", f->name, next - at, at);
	else
		segment_warn(c,
			     "%s: the last %zu bytes are not a whole block, and are left out: "
			     "the recorder was killed, or is writing them now",
			     f->name, size - at);
}

static void parse_block(struct segment_context *c, struct segment_file *f,
			const struct block_header *h, const struct loss_row *losses,
			const uint8_t *bytes, uint64_t file_off)
{
	note_gap(c, f, h->delivered_before, h->first_ns);
	switch (h->kind) {
	case BLOCK_INFO:
		parse_info(c, f, h, bytes);
		break;
	case BLOCK_END:
		parse_end(c, f, h, bytes);
		break;
	case BLOCK_GROUP:
	case BLOCK_SECONDS:
	case BLOCK_OVERVIEW:
		segment_parse_group(c, f, h, losses, bytes, file_off);
		break;
	case BLOCK_SAMPLES:
	case N_BLOCK_KINDS:
		parse_samples(c, f, h, losses, bytes, file_off);
		break;
	}
	c->delivered += block_delivered(h, losses);
	c->last_ns = MAX(c->last_ns, h->last_ns);
}

/* Returns the number of blocks that it read. */
static uint32_t parse_blocks(struct segment_context *c, struct segment_file *f,
			     const uint8_t *bytes, size_t size, size_t at)
{
	struct loss_row losses[BLOCK_LOSSES_MAX];
	struct block_header h;
	uint32_t n = 0;

	while (at < size && !c->is_past && reserve_check() >= 0) {
		if (block_header_parse(bytes + at, size - at, &h, losses) < 0 ||
		    block_size(&h) > size - at || !ids_fit(c, f, &h)) {
			size_t next = find_block(bytes, size, at + 1);

			warn_of_damage(c, f, at, next, size);
			at = next;
			continue;
		}
		parse_block(c, f, &h, losses, bytes + at, at);
		at += block_size(&h);
		n++;
	}
	return n;
}

struct segment *segment_parse(struct segment_context *c, const char *name, const uint8_t *bytes,
			      size_t size)
{
	struct segment_file *f = segment_new(name);
	struct segment_header h;
	size_t at = SEGMENT_HEADER_SIZE;

	f->bytes = bytes;
	f->has_later = reads_nodes_later(c);
	c->n_bytes += size;
	if (segment_header_parse(bytes, size, &h) == 0) {
		note_gap(c, f, h.delivered_before, 0);
	} else {
		at = find_block(bytes, size, 0);
		if (at < size)
			segment_warn(c, "%s: the file's header is damaged", name);
	}
	if (!parse_blocks(c, f, bytes, size, at)) {
		segment_free(&f->seg);
		return NULL;
	}
	vec_fini(&f->unread);
	c->n_items += sum_ids(f->n_ids);
	if (f->n_holes)
		segment_warn(c,
			     "%s: %" PRIu64 " names and call tree nodes were in damaged blocks; "
			     "they are shown as [unknown]",
			     name, f->n_holes);
	return &f->seg;
}

void segment_find_info(struct segment_context *c, const uint8_t *bytes, size_t size)
{
	struct loss_row losses[BLOCK_LOSSES_MAX];
	struct block_header h;
	size_t at = SEGMENT_HEADER_SIZE;

	if (size > at && block_header_parse(bytes + at, size - at, &h, losses) == 0 &&
	    h.kind == BLOCK_INFO && block_size(&h) <= size - at)
		read_info(c, &h, bytes + at);
}

bool segment_has_groups(const uint8_t *bytes, size_t size)
{
	struct loss_row losses[BLOCK_LOSSES_MAX];
	struct block_header h;
	size_t at = SEGMENT_HEADER_SIZE;

	for (; at < size && block_header_parse(bytes + at, size - at, &h, losses) == 0;
	     at += block_size(&h)) {
		if (is_group(h.kind))
			return true;
		if (h.n_rows || block_size(&h) > size - at)
			return false;
	}
	return false;
}

void segment_find_end(struct segment_context *c, const uint8_t *bytes, size_t size)
{
	struct loss_row losses[BLOCK_LOSSES_MAX];
	struct block_header h;
	size_t at = size > END_SIZE_MAX ? size - END_SIZE_MAX : 0;

	for (; at < size && !c->has_end; at++) {
		at = find_block(bytes, size, at);
		if (at < size && block_header_parse(bytes + at, size - at, &h, losses) == 0 &&
		    h.kind == BLOCK_END && block_size(&h) == size - at)
			read_end(c, &h, bytes + at);
	}
}
