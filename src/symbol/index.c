/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/index.h"

#include <assert.h>
#include <string.h>

#include "symbol/symbols.h"

bool index_version_is_known(uint32_t version)
{
	return version >= INDEX_OLDEST && version <= INDEX_VERSION;
}

bool index_open(struct index *out, const void *bytes, size_t size)
{
	const struct index_header *h = bytes;
	struct index ix = { .header = h, .size = size };
	uint64_t per_symbol, left;
	const uint8_t *at;

	assert((uintptr_t)bytes % 8 == 0);
	if (size < sizeof(*h) || memcmp(h->magic, INDEX_MAGIC, sizeof(h->magic)) != 0 ||
	    !index_version_is_known(h->version) || h->status >= N_SYMBOL_STATUSES)
		return false;
	per_symbol = 16 + (h->flags & INDEX_NESTED ? 4 : 0) + (h->flags & INDEX_BRACKETED ? 4 : 0) +
		     (h->flags & INDEX_LANGUAGES ? 1 : 0);
	left = size - sizeof(*h);
	if (h->n > left / per_symbol || left - h->n * per_symbol != h->text_size || !h->text_size ||
	    ((const char *)bytes)[size - 1] != '\0')
		return false;

	ix.n = h->n;
	at = (const uint8_t *)(h + 1);
	ix.starts = (const uint64_t *)at;
	ix.sizes = (const uint32_t *)(ix.starts + h->n);
	ix.names = ix.sizes + h->n;
	at = (const uint8_t *)(ix.names + h->n);
	if (h->flags & INDEX_NESTED) {
		ix.outers = (const uint32_t *)at;
		at += 4 * (size_t)h->n;
	}
	if (h->flags & INDEX_BRACKETED) {
		ix.ends = (const uint32_t *)at;
		at += 4 * (size_t)h->n;
	}
	if (h->flags & INDEX_LANGUAGES) {
		ix.languages = at;
		at += h->n;
	}
	ix.text = (const char *)at;
	ix.text_size = h->text_size;
	*out = ix;
	return true;
}

static bool is_text_or_none(const struct index *ix, const uint32_t *column, uint32_t i)
{
	return !column || column[i] == NO_SYMBOL || column[i] < ix->text_size;
}

bool index_is_sound(const struct index *ix)
{
	bool is_sound = ix->header->debug_link < ix->text_size &&
			ix->header->own_id.len <= BUILD_ID_MAX && *ix->text == '\0';

	for (uint32_t i = 0; i < ix->n && is_sound; i++)
		is_sound = (!i || ix->starts[i] > ix->starts[i - 1]) &&
			   ix->names[i] < ix->text_size && is_text_or_none(ix, ix->ends, i) &&
			   (!ix->outers || ix->outers[i] == NO_SYMBOL || ix->outers[i] < i) &&
			   (!ix->languages || ix->languages[i] < N_NAME_LANGUAGES);
	return is_sound;
}

/* The last start at or below the offset. No branch depends on the data, so none is mispredicted. */
static uint32_t find_start(const struct index *ix, uint64_t offset)
{
	const uint64_t *base = ix->starts;
	uint32_t n = ix->n;

	while (n > 1) {
		uint32_t half = n / 2, quarter = (n - half) / 2;

		__builtin_prefetch(base + quarter);
		__builtin_prefetch(base + half + quarter);
		base = base[half] <= offset ? base + half : base;
		n -= half;
	}
	return (uint32_t)(base - ix->starts);
}

uint32_t index_find(const struct index *ix, uint64_t offset)
{
	uint32_t i;

	if (!ix->n || offset < ix->starts[0])
		return NO_SYMBOL;
	i = find_start(ix, offset);
	while (offset - ix->starts[i] >= ix->sizes[i]) {
		uint32_t outer = ix->outers ? ix->outers[i] : NO_SYMBOL;

		if (outer >= i)
			return NO_SYMBOL;
		i = outer;
	}
	return i;
}

const char *index_text(const struct index *ix, uint32_t at)
{
	return at < ix->text_size ? ix->text + at : "";
}

enum name_language index_language(const struct index *ix, uint32_t i)
{
	uint8_t language = ix->languages && i < ix->n ? ix->languages[i] : NAME_ANY;

	return language < N_NAME_LANGUAGES ? (enum name_language)language : NAME_ANY;
}
