/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/history/functions.h"

#include <stdlib.h>

#include "base/intmap.h"
#include "base/mem.h"
#include "store/native.h"
#include "store/store.h"
#include "symbol/symbols.h"

struct given_code {
	uint32_t order; /* code may be replaced by later code */
	struct code_symbol symbol;
};

/* The functions of an image, by its id. */
struct image_functions {
	const struct symbol_table *table; /* NULL: not opened yet */
	bool is_given;                    /* its names are the session's */
	uint8_t *is_used;                 /* by symbol, if is_given: 1 used, 2 also named */
};

struct functions {
	const struct image_table *images;
	struct symbolizer *symbols;
	/*
	 * For given names: the names of an image differ from session to session, and a symbolizer
	 * keeps the first ones.
	 */
	struct symbolizer *given_symbols;
	VEC(struct given_code) given;
	bool is_sorted;
	VEC(struct image_functions) of_image;
};

struct functions *functions_new(const struct image_table *images, struct symbolizer *symbols)
{
	struct functions *f = xcalloc(1, sizeof(*f));

	f->images = images;
	f->symbols = symbols;
	f->given_symbols = symbolizer_new(&(struct symbolizer_config){ .cache_dir = "" });
	return f;
}

void functions_free(struct functions *f)
{
	if (!f)
		return;
	vec_foreach (&f->of_image, i)
		free(i->is_used);
	vec_fini(&f->of_image);
	vec_fini(&f->given);
	symbolizer_free(f->given_symbols);
	free(f);
}

void functions_give(struct functions *f, const struct code_symbol *symbol)
{
	vec_push(&f->given, (struct given_code){ (uint32_t)f->given.n, *symbol });
}

static int by_image_and_order(const void *a, const void *b)
{
	const struct given_code *x = a, *y = b;

	if (x->symbol.image.n != y->symbol.image.n)
		return x->symbol.image.n < y->symbol.image.n ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static size_t first_given(const struct functions *f, image_id image)
{
	size_t low = 0, high = f->given.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->given.data[middle].symbol.image.n < image.n)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void open_functions(struct functions *f, image_id image, struct image_functions *of)
{
	VEC(struct given_symbol) own = { 0 };

	if (!f->is_sorted && f->given.n)
		qsort(f->given.data, f->given.n, sizeof(*f->given.data), by_image_and_order);
	f->is_sorted = true;
	for (size_t i = first_given(f, image);
	     i < f->given.n && f->given.data[i].symbol.image.n == image.n; i++) {
		const struct code_symbol *s = &f->given.data[i].symbol;

		/* Source lines are not needed, but an image may have nothing else. */
		if (!s->line || !own.n)
			vec_push(&own,
				 (struct given_symbol){ s->offset, s->size, s->name, s->line });
	}
	of->is_given = own.n > 0;
	of->table = symbolizer_table(of->is_given ? f->given_symbols : f->symbols,
				     image_get(f->images, image), own.data, own.n);
	if (of->is_given)
		of->is_used = xcalloc(symbol_count(of->table) + 1, sizeof(*of->is_used));
	vec_fini(&own);
}

static struct image_functions *functions_of(struct functions *f, image_id image)
{
	while (f->of_image.n <= image.n)
		vec_push(&f->of_image, (struct image_functions){ 0 });
	if (!f->of_image.data[image.n].table)
		open_functions(f, image, &f->of_image.data[image.n]);
	return &f->of_image.data[image.n];
}

struct code_addr functions_place(struct functions *f, struct code_addr code, enum code_use use)
{
	const struct image *image = image_get(f->images, code.image);
	uint64_t at = code.offset - (use == CODE_CALLER && code.offset > 0);
	struct image_functions *of;
	struct symbol symbol;
	uint32_t index = NO_SYMBOL;

	if (image->kind != IMAGE_UNKNOWN) {
		of = functions_of(f, code.image);
		index = symbol_find(of->table, at);
		/* A signal's trampoline: nothing called from before its first byte. */
		if (index == NO_SYMBOL && use == CODE_CALLER)
			index = symbol_find(of->table, code.offset);
	}
	if (index == NO_SYMBOL)
		return (struct code_addr){ code.image,
					   image_is_of_process(image) ? 0 : code.offset };
	symbol = symbol_place(of->table, index);
	if (of->is_given && !of->is_used[index])
		of->is_used[index] = 1;
	return (struct code_addr){ code.image,
				   symbol.offset + (use == CODE_CALLER || symbol.size > 1) };
}

/* Some indexes have a million functions: in stripped files, each is between two known ones. */
#define LARGE_TABLE 100000u

bool functions_are_many(const struct functions *f, image_id image)
{
	return image.n < f->of_image.n && f->of_image.data[image.n].table &&
	       symbol_count(f->of_image.data[image.n].table) > LARGE_TABLE;
}

void functions_rest(const struct functions *f, image_id image)
{
	if (image.n < f->of_image.n && f->of_image.data[image.n].table)
		symbol_table_rest(f->of_image.data[image.n].table);
}

void functions_name(struct functions *f, struct store *store)
{
	for (uint32_t image = 0; image < f->of_image.n; image++) {
		struct image_functions *of = &f->of_image.data[image];

		for (uint32_t i = 0; of->is_given && i < symbol_count(of->table); i++) {
			struct symbol symbol = symbol_get(of->table, i);

			if (of->is_used[i] != 1)
				continue;
			of->is_used[i] = 2;
			native_store.name_code(store, &(struct code_symbol){
							      .image = { image },
							      .offset = symbol.offset,
							      .size = symbol.size,
							      .name = symbol.name,
						      });
		}
	}
}
