/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The images whose tables a profile will ask for. The parser process reads several files at once
 * for less than one after the other (guard/parser.h), so tables are made ahead of their use.
 */
#include "guard/parser.h"
#include "profile/index.h"
#include "profile/load_part.h"

/* Tables that are made at once. */
#define TABLES_AT_ONCE 32

static bool is_filtered(const struct query *q)
{
	for (int tag = 0; tag < N_FILTERS; tag++)
		if (query_has(q, (enum filter_tag)tag))
			return true;
	return false;
}

/* Each node of a segment has samples, or is a caller of some. */
void index_expect_images(struct profile *p, const struct load_part *parts)
{
	struct profile_index *x = p->index;

	if (!parser_uses_children() || !p->has_functions || !x->request->with_chains ||
	    is_filtered(x->query))
		return;
	x->n_expected = (uint32_t)p->images.n;
	x->expected = xcalloc(x->n_expected + 1, sizeof(*x->expected));
	for (uint32_t i = 0; i < p->session->n_segments; i++)
		for (uint32_t n = 1; n < parts[i].segment->n_nodes; n++)
			x->expected[load_image_of(&parts[i],
						  parts[i].segment->nodes[n].code.image)] = true;
	vec_foreach (&x->given, g)
		x->expected[g->image] = false;
	for (uint32_t i = 0; i < x->n_expected; i++)
		x->expected[i] &= p->images.data[i].image->kind == IMAGE_FILE;
}

void index_make_expected(struct profile *p, uint32_t image)
{
	struct profile_index *x = p->index;
	const struct image *images[TABLES_AT_ONCE];
	size_t n = 0;

	if (image >= x->n_expected || !x->expected[image])
		return;
	for (uint32_t i = image; i < x->n_expected && n < TABLES_AT_ONCE; i++)
		if (x->expected[i]) {
			x->expected[i] = false;
			images[n++] = p->images.data[i].image;
		}
	symbolizer_make_tables(p->symbols, images, n);
}
