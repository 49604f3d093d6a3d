/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/strings.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/secret.h"

void strings_init(struct strings *s)
{
	*s = (struct strings){ .arena = arena_new() };
	strings_add(s, "");
}

void strings_fini(struct strings *s)
{
	free(s->text);
	free(s->len);
	free(s->slots);
	arena_free(s->arena);
	*s = (struct strings){ 0 };
}

/* The slot that holds the text, or the empty slot where it belongs. */
static uint32_t *strings_slot(const struct strings *s, const char *text, size_t len)
{
	uint32_t i = (uint32_t)XXH3_64bits_withSeed(text, len, hash_secrets[0]) & (s->n_slots - 1);

	while (s->slots[i]) {
		uint32_t id = s->slots[i] - 1;

		if (s->len[id] == len && !memcmp(s->text[id], text, len))
			break;
		i = (i + 1) & (s->n_slots - 1);
	}
	return &s->slots[i];
}

static void strings_rehash(struct strings *s)
{
	uint32_t n_slots = s->n_slots ? s->n_slots * 2 : 64;
	void *slots = mem_table(n_slots, sizeof(*s->slots), s->n, s->n_slots);

	if (!slots)
		return;
	free(s->slots);
	s->n_slots = n_slots;
	s->slots = slots;
	for (uint32_t id = 0; id < s->n; id++)
		*strings_slot(s, s->text[id], s->len[id]) = id + 1;
}

static void strings_grow(struct strings *s)
{
	size_t cap = s->cap;

	s->text = vec_grow_(s->text, &cap, s->n + 1, sizeof(*s->text));
	s->len = xrealloc(s->len, cap, sizeof(*s->len));
	s->cap = (uint32_t)cap;
}

string_id strings_add_n(struct strings *s, const char *text, size_t len)
{
	uint32_t *slot;

	if (!len)
		text = ""; /* nothing may come from nowhere: NULL and 0 */
	if ((s->n + 1) * 2 > s->n_slots)
		strings_rehash(s);
	slot = strings_slot(s, text, len);
	if (*slot)
		return (string_id){ *slot - 1 };
	if (s->n == s->cap)
		strings_grow(s);
	s->text[s->n] = arena_strndup(s->arena, text, len);
	s->len[s->n] = (uint32_t)len;
	*slot = ++s->n;
	return (string_id){ s->n - 1 };
}

string_id strings_add(struct strings *s, const char *text)
{
	return strings_add_n(s, text, strlen(text));
}

bool strings_find(const struct strings *s, const char *text, string_id *out)
{
	uint32_t *slot = strings_slot(s, text, strlen(text));

	if (!*slot)
		return false;
	out->n = *slot - 1;
	return true;
}

size_t strings_memory(const struct strings *s)
{
	return arena_memory(s->arena) + s->cap * (sizeof(*s->text) + sizeof(*s->len)) +
	       s->n_slots * sizeof(*s->slots);
}
