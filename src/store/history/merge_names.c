/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/history/merge_names.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/secret.h"
#include "store/native.h"
#include "store/store.h"

/* The name of code in images that have no symbols in the merged part. */
#define OTHER_NAME "(rare stacks)"

void merge_names_init(struct merge_names *m, const struct session *from)
{
	*m = (struct merge_names){ .images = image_table_new(), .n_segments = from->n_segments };
	strings_init(&m->strings);
	m->image_ids = xcalloc(from->n_segments + 1, sizeof(*m->image_ids));
	for (uint32_t s = 0; s < from->n_segments; s++) {
		const struct segment *segment = from->segments[s];

		m->image_ids[s] = xcalloc(segment->n_images + 1, sizeof(image_id));
		for (uint32_t i = 1; i < segment->n_images; i++)
			m->image_ids[s][i] = image_intern(m->images, &segment->images[i]);
	}
	m->other = image_intern(m->images,
				&(struct image){ .kind = IMAGE_NAMED, .path = IMAGE_OTHER_PATH });
}

void merge_names_to_functions(struct merge_names *m, const struct session *from,
			      struct symbolizer *symbols)
{
	m->functions = functions_new(m->images, symbols);
	for (uint32_t s = 0; s < from->n_segments; s++)
		for (uint32_t i = 0; i < from->segments[s]->n_symbols; i++) {
			struct code_symbol symbol = from->segments[s]->symbols[i];

			if (symbol.image.n >= from->segments[s]->n_images)
				continue;
			symbol.image = m->image_ids[s][symbol.image.n];
			functions_give(m->functions, &symbol);
		}
	functions_give(m->functions,
		       &(struct code_symbol){ .image = m->other, .size = 1, .name = OTHER_NAME });
}

void merge_names_fini(struct merge_names *m)
{
	for (uint32_t s = 0; s < m->n_segments; s++)
		free(m->image_ids[s]);
	free(m->image_ids);
	intmap_fini(&m->symbols);
	functions_free(m->functions);
	strings_fini(&m->strings);
	image_table_free(m->images);
}

static const char *string_of(const struct segment *segment, string_id id)
{
	return id.n < segment->n_strings ? segment->strings[id.n] : "";
}

struct profile_class merge_class(struct merge_names *m, const struct segment *segment,
				 uint32_t segment_number, uint32_t class)
{
	struct profile_class c = segment->classes[class];

	c.app = m->image_ids[segment_number][c.app.n < segment->n_images ? c.app.n : 0];
	c.comm = strings_add(&m->strings, string_of(segment, c.comm));
	c.cgroup = strings_add(&m->strings, string_of(segment, c.cgroup));
	return c;
}

void merge_symbols(struct merge_names *m, const struct segment *segment, uint32_t segment_number,
		   struct store *store)
{
	const image_id *images = m->image_ids[segment_number];

	for (uint32_t i = 0; i < segment->n_symbols; i++) {
		struct code_symbol symbol = segment->symbols[i];
		uint32_t hash, *known;
		uint64_t key;
		bool is_new;

		if (symbol.image.n >= segment->n_images)
			continue;
		symbol.image = images[symbol.image.n];
		key = hash_secret_u64(
			symbol.offset ^
			hash_secret_u64((uint64_t)symbol.image.n << 32 | (symbol.line ? 1 : 0)));
		hash = (uint32_t)XXH3_64bits_withSeed(symbol.name, strlen(symbol.name),
						      symbol.size << 20 ^ symbol.line);
		known = intmap_put(&m->symbols, key, &is_new);
		if (!is_new && *known == hash)
			continue;
		*known = hash;
		native_store.name_code(store, &symbol);
	}
	if (segment_number == 0)
		native_store.name_code(store, &(struct code_symbol){ .image = m->other,
								     .size = 1,
								     .name = OTHER_NAME });
}
