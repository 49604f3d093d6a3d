/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Strings interned once and named by a small number.
 *
 * Ids are dense from 0 in the order of first appearance; id 0 is the empty
 * string. A pointer from strings_get() holds until strings_fini().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
	uint32_t n;
} string_id;

struct strings {
	const char **text; /* by id */
	uint32_t *len;     /* by id */
	uint32_t *slots;   /* id + 1, open addressing */
	uint32_t n, cap, n_slots;
	struct arena *arena;
};

void strings_init(struct strings *s);
void strings_fini(struct strings *s);
string_id strings_add(struct strings *s, const char *text);
string_id strings_add_n(struct strings *s, const char *text, size_t len);
bool strings_find(const struct strings *s, const char *text, string_id *out);
size_t strings_memory(const struct strings *s); /* bytes held */

static inline const char *strings_get(const struct strings *s, string_id id)
{
	return id.n < s->n ? s->text[id.n] : "";
}
