/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of JIT code by name: those of several processes are one, and so are the pieces of code
 * that a process made of one function. Each keeps the table and the symbol of the piece that was
 * met first.
 */
#include <string.h>

#include "base/buf.h"
#include "profile/index.h"

uint32_t *index_jit_function(struct profile *p, const struct function_key *key, bool *is_new)
{
	struct profile_index *x = p->index;
	const struct profile_image *image = &p->images.data[key->image];
	struct buf text = { 0 };
	uint32_t id;

	if (!x->request->merges_jit || image->image->kind != IMAGE_JIT || key->symbol == NO_SYMBOL)
		return NULL;
	buf_u32(&text, key->line);
	buf_str(&text, symbol_name(p->symbols, image->table, key->symbol));
	id = strings_add_n(&x->jit_names, (const char *)text.data, text.len).n;
	buf_fini(&text);
	return intmap_put(&x->jit_functions, id, is_new);
}

/* The image of a process's JIT code, for code that other processes have, too. */
static uint32_t shared_twin(struct profile *p, uint32_t of)
{
	const struct image *own = p->images.data[of].image;
	bool is_new;
	uint32_t *twin = intmap_put(&p->index->jit_twins, of, &is_new);

	if (is_new) {
		struct image *image = arena_alloc(p->arena, sizeof(*image));

		*image = (struct image){ .kind = IMAGE_JIT,
					 .ino = of + 1ULL, /* twins have a table each */
					 .path = own->path[0] == '/' ? "[jitdump]" : own->path };
		*twin = index_image(p, image);
		p->images.data[*twin].table = p->images.data[of].table;
	}
	return *twin;
}

void index_share_jit_function(struct profile *p, uint32_t function, uint32_t image)
{
	struct profile_function *f = &p->functions.data[function];
	int32_t pid = p->images.data[f->image].image->pid;

	if (pid && pid != p->images.data[image].image->pid)
		f->image = shared_twin(p, f->image);
}
