/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/line_index.h"

#include <string.h>
#include <xxhash.h>

#include "base/mem.h"

bool line_index_open(struct line_index *out, const void *bytes, size_t size)
{
	const struct line_header *h = bytes;
	struct line_index ix = { .header = h, .size = size };
	uint64_t arrays;

	if (size < sizeof(*h) || memcmp(h->magic, LINE_MAGIC, sizeof(h->magic)) != 0 ||
	    h->version != LINE_VERSION)
		return false;
	arrays = (uint64_t)h->n_rows * (4 + sizeof(struct line_place)) + (uint64_t)h->n_scopes * 8 +
		 (uint64_t)h->n_nodes * sizeof(struct line_node);
	if (arrays > size - sizeof(*h) || size - sizeof(*h) - arrays != h->text_size ||
	    !h->text_size || ((const char *)bytes)[size - 1] != '\0')
		return false;
	ix.row_starts = (const uint32_t *)(h + 1);
	ix.scope_starts = ix.row_starts + h->n_rows;
	ix.row_places = (const struct line_place *)(ix.scope_starts + h->n_scopes);
	ix.scope_nodes = (const uint32_t *)(ix.row_places + h->n_rows);
	ix.nodes = (const struct line_node *)(ix.scope_nodes + h->n_scopes);
	ix.text = (const char *)(ix.nodes + h->n_nodes);
	*out = ix;
	return true;
}

/* No branch depends on the data, so none is mispredicted. */
static uint32_t last_at_or_below(const uint32_t *starts, uint32_t n, uint64_t base, uint64_t offset)
{
	const uint32_t *at = starts;
	uint32_t key;

	if (!n || offset < base || offset - base > UINT32_MAX)
		return UINT32_MAX;
	key = (uint32_t)(offset - base);
	if (key < starts[0])
		return UINT32_MAX;
	while (n > 1) {
		uint32_t half = n / 2;

		at = at[half] <= key ? at + half : at;
		n -= half;
	}
	return (uint32_t)(at - starts);
}

uint32_t line_index_row(const struct line_index *ix, uint64_t offset)
{
	return ix->header ? last_at_or_below(ix->row_starts, ix->header->n_rows, ix->header->base,
					     offset)
			  : UINT32_MAX;
}

uint32_t line_index_scope(const struct line_index *ix, uint64_t offset)
{
	return ix->header ? last_at_or_below(ix->scope_starts, ix->header->n_scopes,
					     ix->header->base, offset)
			  : UINT32_MAX;
}

const char *line_index_text(const struct line_index *ix, uint32_t at)
{
	return ix->header && at < ix->header->text_size ? ix->text + at : "";
}

static char *path_of(const char *dir, const struct build_id *id)
{
	char hex[BUILD_ID_HEX_SIZE];

	build_id_hex(id, hex);
	return xasprintf("%s/%s.lines", dir, hex);
}

static uint64_t checksum_of(const struct line_header *block, size_t size)
{
	struct line_header header = *block;

	header.checksum = 0;
	return XXH3_64bits_withSeed(block + 1, size - sizeof(header),
				    XXH3_64bits(&header, sizeof(header)));
}

bool line_cache_open(const char *dir, const struct build_id *id, struct file_mapping *mapping,
		     struct line_index *ix)
{
	cleanup(free_at_exit) char *path = path_of(dir, id);
	struct file_mapping file = { 0 };

	if (file_map(path, &file, NULL) < 0)
		return false;
	if (line_index_open(ix, file.base, file.size) &&
	    build_id_equal(&ix->header->build_id, id) &&
	    ix->header->checksum == checksum_of(ix->header, ix->size)) {
		*mapping = file;
		return true;
	}
	*ix = (struct line_index){ 0 };
	file_unmap(&file);
	return false;
}

void line_cache_write(const char *dir, const struct build_id *id, struct line_header *block,
		      size_t size)
{
	cleanup(free_at_exit) char *path = path_of(dir, id);

	block->build_id = *id;
	block->checksum = checksum_of(block, size);
	if (file_mkdirs(dir, 0700, NULL) == 0)
		file_replace(path, block, size, NULL);
}
