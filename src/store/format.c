/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/format.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/reader.h"

void segment_header_write(struct buf *out, const struct segment_header *h)
{
	size_t start = out->len;

	buf_bytes(out, SEGMENT_MAGIC, 8);
	buf_u32(out, h->version);
	buf_u32(out, h->number);
	buf_u64(out, h->delivered_before);
	buf_u64(out, XXH3_64bits(out->data + start, out->len - start));
}

int segment_header_parse(const uint8_t *bytes, size_t size, struct segment_header *out)
{
	struct reader r = reader_over(bytes, size);
	const void *magic = reader_bytes(&r, 8);
	struct segment_header h;

	h.version = reader_u32(&r);
	h.number = reader_u32(&r);
	h.delivered_before = reader_u64(&r);
	if (reader_u64(&r) != (r.bad ? 0 : XXH3_64bits(bytes, SEGMENT_HEADER_SIZE - 8)) || r.bad ||
	    memcmp(magic, SEGMENT_MAGIC, 8))
		return -EBADMSG;
	*out = h;
	return 0;
}

void block_header_write(struct buf *out, const struct block_header *h,
			const struct loss_row *losses)
{
	size_t start = out->len;
	uint16_t size;

	buf_bytes(out, BLOCK_MAGIC "\0", 6); /* the last two bytes: the size, set below */
	buf_u8(out, h->kind);
	buf_uleb(out, h->first_ns);
	buf_uleb(out, h->last_ns - h->first_ns);
	buf_uleb(out, h->samples);
	buf_uleb(out, h->period);
	buf_uleb(out, h->delivered_before);
	for (int i = 0; i < N_TABLES; i++) {
		buf_uleb(out, h->first_id[i]);
		buf_uleb(out, h->n_ids[i]);
	}
	buf_uleb(out, h->n_rows);
	for (int i = 0; i < SECTION_TIMES; i++) {
		buf_uleb(out, h->section_size[i]);
		if (h->section_size[i])
			buf_u64(out, h->section_hash[i]);
	}
	buf_uleb(out, h->n_losses);
	for (uint32_t i = 0; i < h->n_losses; i++) {
		buf_u8(out, (uint8_t)losses[i].reason);
		buf_uleb(out, losses[i].counter + 1); /* "all", UINT32_MAX, becomes 0 */
		buf_uleb(out, losses[i].n);
	}
	if (h->section_size[SECTION_TIMES]) {
		buf_uleb(out, h->section_size[SECTION_TIMES]);
		buf_u64(out, h->section_hash[SECTION_TIMES]);
		buf_uleb(out, h->early_us);
	}
	size = (uint16_t)(out->len - start + 8);
	out->data[start + 4] = (uint8_t)size;
	out->data[start + 5] = (uint8_t)(size >> 8);
	buf_u64(out, XXH3_64bits(out->data + start, out->len - start));
}

/* Reads a ULEB128 number of 32 bits. */
static uint32_t reader_uleb32(struct reader *r)
{
	uint64_t v = reader_uleb(r);

	if (v > UINT32_MAX)
		r->bad = true;
	return (uint32_t)v;
}

static void parse_losses(struct reader *r, struct block_header *h, struct loss_row *losses)
{
	h->n_losses = reader_uleb32(r);
	if (h->n_losses > BLOCK_LOSSES_MAX) {
		r->bad = true;
		return;
	}
	for (uint32_t i = 0; i < h->n_losses; i++) {
		uint8_t reason = reader_u8(r);

		/* A reason of a newer version can't be named; the number still counts. */
		losses[i].reason = reason < N_LOSS_REASONS ? reason : LOSS_BAD_RECORD;
		losses[i].counter = reader_uleb32(r) - 1;
		losses[i].n = reader_uleb(r);
	}
}

static void parse_times(struct reader *r, struct block_header *h)
{
	if (r->bad || !reader_left(r))
		return;
	h->section_size[SECTION_TIMES] = reader_uleb32(r);
	h->section_hash[SECTION_TIMES] = reader_u64(r);
	h->early_us = reader_uleb(r);
	if (h->early_us > h->first_ns / NS_PER_US)
		r->bad = true;
}

static const uint32_t ids_max[N_TABLES] = {
	[TABLE_STRINGS] = SEGMENT_IDS_MAX, [TABLE_IMAGES] = SEGMENT_IMAGES_MAX,
	[TABLE_CLASSES] = SEGMENT_IDS_MAX, [TABLE_NODES] = SEGMENT_IDS_MAX,
	[TABLE_SYMBOLS] = SEGMENT_IDS_MAX,
};

static void block_header_parse_fields(struct reader *r, struct block_header *h,
				      struct loss_row *losses)
{
	h->kind = reader_u8(r);
	h->first_ns = reader_uleb(r);
	h->last_ns = h->first_ns + reader_uleb(r);
	h->samples = reader_uleb(r);
	h->period = reader_uleb(r);
	h->delivered_before = reader_uleb(r);
	for (int i = 0; i < N_TABLES; i++) {
		h->first_id[i] = reader_uleb32(r);
		h->n_ids[i] = reader_uleb32(r);
		if ((uint64_t)h->first_id[i] + h->n_ids[i] > ids_max[i])
			r->bad = true;
	}
	h->n_rows = reader_uleb32(r);
	for (int i = 0; i < SECTION_TIMES; i++) {
		h->section_size[i] = reader_uleb32(r);
		h->section_hash[i] = h->section_size[i] ? reader_u64(r) : 0;
	}
	parse_losses(r, h, losses);
	parse_times(r, h);
	if (h->kind >= N_BLOCK_KINDS || h->n_rows > SEGMENT_IDS_MAX || h->last_ns < h->first_ns ||
	    block_size(h) > BLOCK_SIZE_MAX)
		r->bad = true;
}

int block_header_parse(const uint8_t *bytes, size_t size, struct block_header *out,
		       struct loss_row *losses)
{
	struct reader r = reader_over(bytes, size);
	const void *magic = reader_bytes(&r, 4);
	struct block_header h = { .header_size = reader_u16(&r) };
	uint64_t hash;

	if (memcmp(bytes, BLOCK_MAGIC, MIN(size, 4)))
		return -EBADMSG;
	if (!magic || r.bad)
		return -ENODATA;
	if (h.header_size < BLOCK_HEADER_MIN || h.header_size > BLOCK_HEADER_MAX)
		return -EBADMSG;
	if (h.header_size > size)
		return -ENODATA;
	memcpy(&hash, bytes + h.header_size - 8, 8);
	if (hash != XXH3_64bits(bytes, h.header_size - 8))
		return -EBADMSG;
	r.end = bytes + h.header_size - 8;
	block_header_parse_fields(&r, &h, losses);
	if (r.bad)
		return -EBADMSG;
	*out = h;
	return 0;
}

uint64_t block_size(const struct block_header *h)
{
	uint64_t size = h->header_size;

	for (int i = 0; i < N_SECTIONS; i++)
		size += h->section_size[i];
	return size;
}

uint64_t block_items(const struct block_header *h)
{
	uint64_t n = h->n_rows;

	for (int i = 0; i < N_TABLES; i++)
		n += (uint64_t)h->first_id[i] + h->n_ids[i];
	return n;
}

/* Fills a section up with zeros behind its content. */
static void fill_up(struct buf *section, uint64_t size)
{
	if (section->len >= size)
		return;
	buf_reserve(section, size - section->len);
	memset(section->data + section->len, 0, size - section->len);
	section->len = size;
}

/* Packed bytes begin with their number. */
void block_fill_names(struct buf *names)
{
	struct reader r = reader_over(names->data, names->len);
	uint64_t n = names->len ? reader_uleb(&r) : 0;

	fill_up(names, n / NAMES_BYTES_A_BYTE + !!(n % NAMES_BYTES_A_BYTE));
}

void block_fill_counts(struct buf *counts, const struct block_header *h)
{
	uint64_t n = h->n_rows;

	for (int i = 0; i < N_TABLES; i++)
		n += h->n_ids[i];
	fill_up(counts, n / SEGMENT_ITEMS_A_BYTE);
}

uint64_t block_delivered(const struct block_header *h, const struct loss_row *losses)
{
	uint64_t n = h->samples;

	if (h->kind == BLOCK_OVERVIEW) /* its samples are counted by other blocks */
		return 0;
	for (uint32_t i = 0; i < h->n_losses; i++)
		if (loss_texts[losses[i].reason].kind == LOSS_LOST)
			n += losses[i].n;
	return n;
}

/* Flags of a counter in INFO. */
enum { COUNTER_IN_USER = 1, COUNTER_IN_KERNEL = 2 };

static bool is_merged_part(const struct session_info *info)
{
	return info->block_ns || (info->replaces && *info->replaces);
}

void info_encode(struct buf *out, const struct session_info *info)
{
#define X(field) assert(info->field);
	SESSION_INFO_TEXTS(X)
#undef X
#define X(field) buf_cstr0(out, info->field);
	SESSION_INFO_TEXTS(X)
#undef X
	buf_uleb(out, info->n_cpus);
	buf_uleb(out, info->start_wall_ns);
	buf_uleb(out, info->start_ns);
	buf_uleb(out, info->n_counters);
	for (uint32_t i = 0; i < info->n_counters; i++) {
		const struct counter_info *c = &info->counters[i];

		buf_cstr0(out, c->name);
		buf_cstr0(out, c->spec);
		buf_cstr0(out, c->unit);
		buf_uleb(out, c->freq_hz);
		buf_uleb(out, c->count);
		buf_uleb(out, c->unit_mask);
		buf_u8(out,
		       (c->in_user ? COUNTER_IN_USER : 0) | (c->in_kernel ? COUNTER_IN_KERNEL : 0));
	}
	if (info->merged || is_merged_part(info))
		buf_uleb(out, info->merged);
	if (is_merged_part(info)) {
		buf_uleb(out, info->block_ns);
		buf_cstr0(out, info->replaces ? info->replaces : "");
	}
}

static void decode_counter(struct reader *r, struct counter_info *c)
{
	uint8_t flags;

	c->name = reader_cstr(r);
	c->spec = reader_cstr(r);
	c->unit = reader_cstr(r);
	c->freq_hz = reader_uleb(r);
	c->count = reader_uleb(r);
	c->unit_mask = reader_uleb(r);
	flags = reader_u8(r);
	c->in_user = flags & COUNTER_IN_USER;
	c->in_kernel = flags & COUNTER_IN_KERNEL;
}

int info_decode(const uint8_t *text, size_t size, struct session_info *out)
{
	struct reader r = reader_over(text, size);
	struct session_info info = { .replaces = "" };

#define X(field) info.field = reader_cstr(&r);
	SESSION_INFO_TEXTS(X)
#undef X
	info.n_cpus = reader_uleb32(&r);
	info.start_wall_ns = reader_uleb(&r);
	info.start_ns = reader_uleb(&r);
	info.n_counters = reader_uleb32(&r);
	if (r.bad || info.n_counters > SESSION_COUNTERS_MAX)
		return -EBADMSG;
	info.counters = xcalloc(info.n_counters + 1, sizeof(*info.counters));
	for (uint32_t i = 0; i < info.n_counters; i++)
		decode_counter(&r, &info.counters[i]);
	if (reader_left(&r))
		info.merged = reader_uleb32(&r);
	if (reader_left(&r)) {
		info.block_ns = reader_uleb(&r);
		info.replaces = reader_cstr(&r);
	}
	if (r.bad) {
		free(info.counters);
		return -EBADMSG;
	}
	*out = info;
	return 0;
}

void end_encode(struct buf *out, const struct session_end *end)
{
	buf_uleb(out, end->end_ns);
	buf_uleb(out, end->own_cpu_ns);
	buf_uleb(out, end->own_peak_bytes);
	buf_sleb(out, end->exit_status);
}

int end_decode(const uint8_t *text, size_t size, struct session_end *out)
{
	struct reader r = reader_over(text, size);
	struct session_end end = {
		.end_ns = reader_uleb(&r),
		.own_cpu_ns = reader_uleb(&r),
		.own_peak_bytes = reader_uleb(&r),
		.exit_status = (int32_t)reader_sleb(&r),
	};

	if (r.bad)
		return -EBADMSG;
	*out = end;
	return 0;
}
