/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/held.h"

#include <assert.h>
#include <string.h>

#include "base/intmap.h"
#include "base/mem.h"
#include "base/secret.h"

struct held_stack {
	uint32_t at, n; /* its frames */
	uint64_t hash;
	bool is_used;
};

struct held {
	VEC(struct held_block) blocks;
	VEC(struct held_stack) stacks;
	VEC(struct code_addr) frames;
	struct intmap by_id, by_hash; /* to blocks, and to stacks */
	bool is_full;                 /* of stacks that blocks still have … */
	size_t n_when_full;           /* … which were so many */
};

struct held *held_new(void)
{
	return xcalloc(1, sizeof(struct held));
}

void held_free(struct held *h)
{
	if (!h)
		return;
	vec_fini(&h->blocks);
	vec_fini(&h->stacks);
	vec_fini(&h->frames);
	intmap_fini(&h->by_id);
	intmap_fini(&h->by_hash);
	free(h);
}

static uint64_t hash_frames(const struct code_addr *frames, uint32_t n)
{
	uint64_t hash = n;

	for (uint32_t i = 0; i < n; i++)
		hash = hash_secret_u64(hash ^ hash_u64(frames[i].offset) ^ frames[i].image.n);
	return hash;
}

static bool is_equal_stack(const struct held *h, const struct held_stack *s,
			   const struct code_addr *frames, uint32_t n)
{
	if (s->n != n)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (h->frames.data[s->at + i].offset != frames[i].offset ||
		    h->frames.data[s->at + i].image.n != frames[i].image.n)
			return false;
	return true;
}

/* Drops the stacks that no block has any more. */
static void drop_unused_stacks(struct held *h)
{
	uint32_t *numbers = xcalloc(h->stacks.n + 1, sizeof(*numbers));
	uint32_t n = 0, at = 0;

	vec_foreach (&h->blocks, block)
		h->stacks.data[block->stack].is_used = true;
	intmap_clear(&h->by_hash);
	for (uint32_t i = 0; i < h->stacks.n; i++) {
		struct held_stack s = h->stacks.data[i];

		if (!s.is_used)
			continue;
		memmove(h->frames.data + at, h->frames.data + s.at, s.n * sizeof(*h->frames.data));
		numbers[i] = n;
		*intmap_put(&h->by_hash, s.hash, NULL) = n;
		h->stacks.data[n++] = (struct held_stack){ at, s.n, s.hash, false };
		at += s.n;
	}
	h->stacks.n = n;
	h->frames.n = at;
	vec_foreach (&h->blocks, block)
		block->stack = numbers[block->stack];
	free(numbers);
}

/* Two stacks of one hash are both kept; the older one is not found any more. */
static uint32_t intern_stack(struct held *h, const struct code_addr *frames, uint32_t n)
{
	uint64_t hash = hash_frames(frames, n);
	const uint32_t *known = intmap_find(&h->by_hash, hash);
	struct held_stack s = { (uint32_t)h->frames.n, n, hash, false };

	if (known && is_equal_stack(h, &h->stacks.data[*known], frames, n))
		return *known;
	for (uint32_t i = 0; i < n; i++)
		vec_push(&h->frames, frames[i]);
	*intmap_put(&h->by_hash, hash, NULL) = (uint32_t)h->stacks.n;
	vec_push(&h->stacks, s);
	return (uint32_t)h->stacks.n - 1;
}

bool held_add(struct held *h, const struct held_block *block, const struct code_addr *frames,
	      uint32_t n_frames)
{
	struct held_block copy = *block;

	if (h->blocks.n >= HELD_BLOCKS_MAX || intmap_find(&h->by_id, block->id))
		return false;
	if (h->frames.n + n_frames > HELD_FRAMES_MAX && !h->is_full) {
		drop_unused_stacks(h);
		/* or it would be tried for each block */
		h->is_full = h->frames.n > HELD_FRAMES_MAX / 4 * 3;
		h->n_when_full = h->blocks.n;
	}
	if (h->frames.n + n_frames > HELD_FRAMES_MAX)
		return false;
	copy.stack = intern_stack(h, frames, n_frames);
	*intmap_put(&h->by_id, block->id, NULL) = (uint32_t)h->blocks.n;
	vec_push(&h->blocks, copy);
	return true;
}

bool held_remove(struct held *h, uint64_t id)
{
	const uint32_t *found = intmap_find(&h->by_id, id);
	uint32_t at;

	if (!found)
		return false;
	at = *found;
	intmap_remove(&h->by_id, id);
	h->blocks.n--;
	if (h->blocks.n < h->n_when_full / 2)
		h->is_full = false;
	if (at < h->blocks.n) {
		h->blocks.data[at] = h->blocks.data[h->blocks.n];
		*intmap_find(&h->by_id, h->blocks.data[at].id) = at;
	}
	return true;
}

bool held_shrink(struct held *h, uint64_t id, uint64_t bytes)
{
	const uint32_t *found = intmap_find(&h->by_id, id);
	struct held_block *block = found ? &h->blocks.data[*found] : NULL;

	if (!block)
		return false;
	if (bytes >= block->left)
		return held_remove(h, id);
	block->left -= bytes;
	return true;
}

static struct held_block held_part(const struct held_block *block)
{
	struct held_block part = *block;

	if (part.left < part.size)
		part.bytes = (uint64_t)((double)part.bytes * (double)part.left / (double)part.size);
	return part;
}

void held_each(const struct held *h, held_visitor visit, void *context)
{
	vec_foreach (&h->blocks, block) {
		const struct held_stack *s = &h->stacks.data[block->stack];
		struct held_block part = held_part(block);

		assert(s->at + s->n <= h->frames.n);
		visit(context, &part, h->frames.data + s->at, s->n);
	}
}
