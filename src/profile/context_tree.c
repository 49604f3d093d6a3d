/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/context_tree.h"

#include <stdlib.h>

#include "profile/index.h"

/* The marks of the kernel's functions. Chains repeat the same few hundred. */
struct mark_cache {
	struct profile *p;
	struct intmap found; /* image << 32 | symbol to mark */
};

static enum context_mark mark_at(struct mark_cache *c, uint32_t image, uint64_t offset)
{
	uint32_t symbol = index_symbol(c->p, image, offset), *mark;
	bool is_new;

	if (symbol == NO_SYMBOL)
		return MARK_NONE;
	mark = intmap_put(&c->found, (uint64_t)image << 32 | symbol, &is_new);
	if (is_new)
		*mark = context_mark_of(symbol_get(c->p->images.data[image].table, symbol).name);
	return (enum context_mark) * mark;
}

/* On the way from the outermost kernel frame inwards. */
struct chain_state {
	uint8_t context; /* of the next inner frames */
	uint8_t before;  /* the context that the innermost interrupt interrupted */
};

static struct chain_state chain_state_next(struct chain_state s, enum context_mark mark)
{
	static const uint8_t contexts[] = { [MARK_IRQ] = CONTEXT_IRQ,
					    [MARK_SOFTIRQ] = CONTEXT_SOFTIRQ,
					    [MARK_IDLE] = CONTEXT_IDLE };

	if (mark == MARK_NONE)
		return s;
	if (mark == MARK_EXIT)
		return (struct chain_state){ s.context == CONTEXT_IRQ ? s.before : s.context,
					     CONTEXT_SYSTEM };
	if (mark == MARK_IRQ && s.context != CONTEXT_IRQ)
		s.before = s.context;
	s.context = contexts[mark];
	return s;
}

/* Where an address that no image has belongs: the upper half is the kernel's. */
static bool is_kernel_node(const struct image *image, uint64_t offset)
{
	enum code_mode mode = image_code_mode(image);

	return mode == CODE_KERNEL || (mode == CODE_UNKNOWN && offset >> 63);
}

uint8_t *segment_contexts(struct profile *p, const struct segment *segment, const uint32_t *images)
{
	const struct chain_state outside = { CONTEXT_SYSTEM, CONTEXT_SYSTEM };
	struct chain_state *inner = xcalloc(segment->n_nodes + 1, sizeof(*inner));
	uint8_t *own = xcalloc(segment->n_nodes + 1, 1);
	struct mark_cache cache = { .p = p };

	inner[0] = outside;
	for (uint32_t n = 1; n < segment->n_nodes; n++) {
		const struct tree_node *node = &segment->nodes[n];
		uint32_t image =
			images[node->code.image.n < segment->n_images ? node->code.image.n : 0];
		uint64_t offset = node->code.offset;
		struct chain_state s = inner[node->parent < n ? node->parent : 0];
		enum image_kind kind = p->images.data[image].image->kind;

		inner[n] = outside;
		own[n] = CONTEXT_USER;
		if (!is_kernel_node(p->images.data[image].image, offset))
			continue;
		own[n] = s.context;
		inner[n] = s;
		if (kind != IMAGE_KERNEL)
			continue;
		/* In the exit itself it is still the interrupt that takes the time. */
		if (mark_at(&cache, image, offset) != MARK_EXIT)
			own[n] = chain_state_next(s, mark_at(&cache, image, offset)).context;
		inner[n] = chain_state_next(s, mark_at(&cache, image, offset - (offset > 0)));
	}
	intmap_fini(&cache.found);
	free(inner);
	return own;
}
