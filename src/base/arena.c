/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/arena.h"

#include <string.h>

#include "base/mem.h"

struct block {
	struct block *next;
	size_t used, size;
	_Alignas(8) char bytes[];
};

struct arena {
	struct block *head;
	size_t total;
};

struct arena *arena_new(void)
{
	return xcalloc(1, sizeof(struct arena));
}

void arena_free(struct arena *a)
{
	if (!a)
		return;
	while (a->head) {
		struct block *next = a->head->next;

		free(a->head);
		a->head = next;
	}
	free(a);
}

static void arena_grow(struct arena *a, size_t size)
{
	size_t next = a->head ? MIN(a->head->size * 2, (size_t)1 << 20) : 4096;
	struct block *b;

	next = MAX(next, size);
	b = xmalloc(sizeof(*b) + next);
	*b = (struct block){ .next = a->head, .size = next };
	a->head = b;
	a->total += sizeof(*b) + next;
}

void *arena_alloc(struct arena *a, size_t size)
{
	void *p;

	size = (size + 7) & ~(size_t)7;
	if (!a->head || a->head->size - a->head->used < size)
		arena_grow(a, size);
	p = a->head->bytes + a->head->used;
	a->head->used += size;
	return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *copy = arena_alloc(a, n + 1);

	memcpy(copy, s, n);
	copy[n] = '\0';
	return copy;
}

size_t arena_memory(const struct arena *a)
{
	return a->total;
}
