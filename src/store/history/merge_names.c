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
#define OTHER_NAME     "(rare stacks)"
#define FORGOTTEN_NAME "(forgotten)"

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

void merge_names_end_functions(struct merge_names *m)
{
	functions_free(take_ptr(m->functions));
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

static uint64_t code_key(uint32_t image, uint64_t offset)
{
	return hash_secret_u64(offset ^ hash_secret_u64((uint64_t)image << 32));
}

/* The places of all code in the stacks of these nodes. */
static void find_code(const struct segment *segment, const bool *has_rows, struct intmap *out)
{
	bool *is_needed = xcalloc(segment->n_nodes + 1, sizeof(*is_needed));

	for (uint32_t n = segment->n_nodes; n-- > 1;) {
		const struct tree_node *node = &segment->nodes[n];

		if (!has_rows[n] && !is_needed[n])
			continue;
		if (node->parent < n)
			is_needed[node->parent] = true;
		intmap_put(out, code_key(node->code.image.n, node->code.offset), NULL);
	}
	free(is_needed);
}

/* Code of a block is at the start of its function, or one byte behind (functions.h). */
static bool has_code(const struct intmap *code, const struct code_symbol *symbol)
{
	return intmap_find(code, code_key(symbol->image.n, symbol->offset)) ||
	       intmap_find(code, code_key(symbol->image.n, symbol->offset + 1));
}

static void name_image(struct store *store, image_id image, const char *name)
{
	native_store.name_code(store,
			       &(struct code_symbol){ .image = image, .size = 1, .name = name });
}

void merge_symbols(struct merge_names *m, const struct segment *segment, uint32_t segment_number,
		   const bool *has_rows, struct store *store)
{
	const image_id *images = m->image_ids[segment_number];
	struct intmap code = { 0 };

	if (has_rows)
		find_code(segment, has_rows, &code);
	for (uint32_t i = 0; i < segment->n_symbols; i++) {
		struct code_symbol symbol = segment->symbols[i];
		uint32_t hash, *known;
		uint64_t key;
		bool is_new;

		if (symbol.image.n >= segment->n_images || (has_rows && !has_code(&code, &symbol)))
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
	intmap_fini(&code);
	if (segment_number == 0)
		name_image(store, m->other, OTHER_NAME);
	if (segment_number == 0 && m->forgotten.n)
		name_image(store, m->forgotten, FORGOTTEN_NAME);
}
