/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory of a process, as a callback: of a live one, or of a frozen one in tests. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lang_memory {
	/* False: not all bytes could be read; `out` may have changed. */
	bool (*read)(void *context, uint64_t addr, void *out, size_t size);
	void *context;
};

static inline bool lang_read(const struct lang_memory *m, uint64_t addr, void *out, size_t size)
{
	return m->read(m->context, addr, out, size);
}

static inline bool lang_read_word(const struct lang_memory *m, uint64_t addr, uint64_t *out)
{
	return m->read(m->context, addr, out, sizeof(*out));
}
