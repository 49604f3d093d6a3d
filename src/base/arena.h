/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory that is freed all at once. Blocks grow from 4 KiB to 1 MiB. */
#pragma once

#include <stddef.h>

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *a);                /* NULL is fine */
void *arena_alloc(struct arena *a, size_t size); /* 8-byte aligned, not zeroed */
char *arena_strndup(struct arena *a, const char *s, size_t n);
size_t arena_memory(const struct arena *a); /* bytes held */
