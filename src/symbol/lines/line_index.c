/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/lines/line_index.h"

#include <assert.h>
#include <string.h>

#include "base/files/block_cache.h"
#include "base/mem.h"

/* The arrays of a block, whose counts fit its size. */
static void line_index_lay_out(struct line_index *ix, const struct line_header *h, size_t size)
{
	*ix = (struct line_index){ .header = h, .size = size };
	ix->rows = (const struct line_row *)(h + 1);
	ix->scopes = (const struct line_scope *)(ix->rows + h->n_rows);
	ix->nodes = (const struct line_node *)(ix->scopes + h->n_scopes);
	ix->places = (const struct line_place *)(ix->nodes + h->n_nodes);
	ix->buckets = (const struct line_bucket *)(ix->places + h->n_places);
	ix->text = (const char *)(ix->buckets + h->n_buckets + 1);
}

static uint64_t size_of_arrays(const struct line_header *h)
{
	return (uint64_t)h->n_rows * sizeof(struct line_row) +
	       (uint64_t)h->n_scopes * sizeof(struct line_scope) +
	       (uint64_t)h->n_nodes * sizeof(struct line_node) +
	       (uint64_t)h->n_places * sizeof(struct line_place) +
	       ((uint64_t)h->n_buckets + 1) * sizeof(struct line_bucket);
}

bool line_index_open(struct line_index *out, const void *bytes, size_t size)
{
	const struct line_header *h = bytes;
	uint64_t arrays;

	assert((uintptr_t)bytes % 8 == 0);
	if (size < sizeof(*h) || memcmp(h->magic, LINE_MAGIC, sizeof(h->magic)) != 0 ||
	    h->version != LINE_VERSION || !h->n_buckets || h->shift > 31)
		return false;
	arrays = size_of_arrays(h);
	if (arrays > size - sizeof(*h) || size - sizeof(*h) - arrays != h->text_size ||
	    !h->text_size || ((const char *)bytes)[size - 1] != '\0')
		return false;
	line_index_lay_out(out, h, size);
	return true;
}

static bool rows_are_sound(const struct line_index *ix)
{
	for (uint32_t i = 0; i < ix->header->n_rows; i++)
		if (ix->rows[i].place >= ix->header->n_places ||
		    (i && ix->rows[i].start < ix->rows[i - 1].start))
			return false;
	return true;
}

static bool scopes_are_sound(const struct line_index *ix)
{
	for (uint32_t i = 0; i < ix->header->n_scopes; i++) {
		uint32_t node = ix->scopes[i].node;

		if ((node != NO_NODE && node >= ix->header->n_nodes) ||
		    (i && ix->scopes[i].start < ix->scopes[i - 1].start))
			return false;
	}
	return true;
}

static bool texts_are_sound(const struct line_index *ix)
{
	const struct line_header *h = ix->header;

	for (uint32_t i = 0; i < h->n_nodes; i++)
		if (ix->nodes[i].name >= h->text_size || ix->nodes[i].called >= h->n_places ||
		    (ix->nodes[i].parent != NO_NODE && ix->nodes[i].parent >= i))
			return false;
	for (uint32_t i = 0; i < h->n_places; i++)
		if (ix->places[i].file >= h->text_size)
			return false;
	return true;
}

static bool buckets_are_sound(const struct line_index *ix)
{
	const struct line_header *h = ix->header;

	for (uint32_t i = 0; i < h->n_buckets; i++)
		if (ix->buckets[i].row > ix->buckets[i + 1].row ||
		    ix->buckets[i].scope > ix->buckets[i + 1].scope)
			return false;
	return ix->buckets[h->n_buckets].row == h->n_rows &&
	       ix->buckets[h->n_buckets].scope == h->n_scopes;
}

bool line_index_is_sound(const struct line_index *ix)
{
	return *ix->text == '\0' && ix->header->own_id.len <= BUILD_ID_MAX && rows_are_sound(ix) &&
	       scopes_are_sound(ix) && texts_are_sound(ix) && buckets_are_sound(ix);
}

struct line_header *line_block_new(const struct line_header *like, uint32_t span, size_t *size,
				   struct line_index *out)
{
	struct line_header h = *like, *block;

	memcpy(h.magic, LINE_MAGIC, sizeof(h.magic));
	h.version = LINE_VERSION;
	/* A few starts a bucket, so that those of a bucket are in one cache line. */
	while (h.shift < 31 && span >> h.shift > (h.n_rows + h.n_scopes) / 8)
		h.shift++;
	h.n_buckets = (span >> h.shift) + 1;
	*size = sizeof(h) + size_of_arrays(&h) + h.text_size;
	block = xmalloc(*size);
	*block = h;
	line_index_lay_out(out, block, *size);
	return block;
}

void line_block_seal(struct line_header *h, size_t size)
{
	uint32_t row = 0, scope = 0;
	struct line_bucket *buckets;
	struct line_index ix;

	line_index_lay_out(&ix, h, size);
	buckets = (struct line_bucket *)ix.buckets;
	for (uint32_t b = 0; b < h->n_buckets; b++) {
		while (row < h->n_rows && ix.rows[row].start >> h->shift < b)
			row++;
		assert(!row || row == h->n_rows || ix.rows[row - 1].start <= ix.rows[row].start);
		while (scope < h->n_scopes && ix.scopes[scope].start >> h->shift < b)
			scope++;
		buckets[b] = (struct line_bucket){ row, scope };
	}
	buckets[h->n_buckets] = (struct line_bucket){ h->n_rows, h->n_scopes };
}

struct line_header *line_block_empty(const struct build_id *own_id, const char *debug_link,
				     size_t *size)
{
	/* the first place is none, and the first text is "" */
	const struct line_header like = { .n_places = 1,
					  .text_size = 1 + strlen(debug_link) + 1,
					  .debug_link = 1,
					  .own_id = *own_id };
	struct line_index ix;
	struct line_header *block = line_block_new(&like, 0, size, &ix);

	*(struct line_place *)ix.places = (struct line_place){ 0 };
	*(char *)ix.text = '\0';
	strcpy((char *)ix.text + 1, debug_link);
	line_block_seal(block, *size);
	return block;
}

/* The bucket of an offset; NULL below the first. */
static const struct line_bucket *bucket_at(const struct line_index *ix, uint64_t offset)
{
	const struct line_header *h = ix->header;

	if (!h || offset < h->base || offset - h->base > UINT32_MAX)
		return NULL;
	return &ix->buckets[MIN((uint32_t)(offset - h->base) >> h->shift, h->n_buckets - 1)];
}

static void fetch_starts(const struct line_index *ix, const struct line_bucket *b)
{
	__builtin_prefetch(&ix->rows[MIN(b->row, ix->header->n_rows)]);
	__builtin_prefetch(&ix->scopes[MIN(b->scope, ix->header->n_scopes)]);
}

void line_index_fetch_bucket(const struct line_index *ix, uint64_t offset)
{
	__builtin_prefetch(bucket_at(ix, offset));
}

void line_index_fetch_starts(const struct line_index *ix, uint64_t offset)
{
	const struct line_bucket *b = bucket_at(ix, offset);

	if (!b)
		return;
	fetch_starts(ix, b);
	/* A bucket has eight rows, which are two lines of the cache or three. */
	__builtin_prefetch(&ix->rows[MIN(b->row + 4, ix->header->n_rows)]);
	__builtin_prefetch(&ix->rows[MIN(b[1].row, ix->header->n_rows)]);
	__builtin_prefetch(&ix->scopes[MIN(b[1].scope, ix->header->n_scopes)]);
}

/* A look-up of the row is followed by one of the scope: both are fetched at once. */
static const struct line_bucket *bucket_of(const struct line_index *ix, uint64_t offset)
{
	const struct line_bucket *b = bucket_at(ix, offset);

	if (b)
		fetch_starts(ix, b);
	return b;
}

/*
 * The last of items[from .. to) at or below the key, or the one before them. No branch depends on
 * the comparison, so none is mispredicted. A macro, because rows and scopes differ in size.
 */
#define LAST_AT_OR_BELOW(items, from, to, key)                                      \
	({                                                                          \
		uint32_t at_ = (from), n_ = (to)-at_;                               \
                                                                                    \
		while (n_ > 4) {                                                    \
			uint32_t half_ = n_ / 2;                                    \
                                                                                    \
			at_ += (items)[at_ + half_ - 1].start <= (key) ? half_ : 0; \
			n_ -= half_;                                                \
		}                                                                   \
		for (uint32_t i_ = at_; n_--; i_++)                                 \
			at_ += (items)[i_].start <= (key);                          \
		at_ - 1;                                                            \
	})

uint32_t line_index_row(const struct line_index *ix, uint64_t offset)
{
	const struct line_bucket *b = bucket_of(ix, offset);
	uint32_t to;

	if (!b)
		return UINT32_MAX;
	to = MIN(b[1].row, ix->header->n_rows);
	return LAST_AT_OR_BELOW(ix->rows, MIN(b->row, to), to,
				(uint32_t)(offset - ix->header->base));
}

uint32_t line_index_scope(const struct line_index *ix, uint64_t offset)
{
	const struct line_bucket *b = bucket_of(ix, offset);
	uint32_t to;

	if (!b)
		return UINT32_MAX;
	to = MIN(b[1].scope, ix->header->n_scopes);
	return LAST_AT_OR_BELOW(ix->scopes, MIN(b->scope, to), to,
				(uint32_t)(offset - ix->header->base));
}

static const struct block_kind kind = BLOCK_KIND("lines", line_header);

bool line_cache_open(const char *dir, const struct build_id *id, struct file_mapping *mapping,
		     struct line_index *ix)
{
	struct file_mapping file = { 0 };

	if (!block_cache_map(&kind, dir, id, &file))
		return false;
	if (line_index_open(ix, file.base, file.size)) {
		*mapping = file;
		return true;
	}
	*ix = (struct line_index){ 0 };
	file_unmap(&file);
	return false;
}

void line_cache_write(const char *dir, const struct build_id *id, uint32_t uid,
		      struct line_header *block, size_t size)
{
	block_cache_write(&kind, dir, id, uid, block, size);
}
