/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory of a process, as callbacks: of a live one, or of a frozen one in tests. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lang_range {
	uint64_t addr;
	uint32_t size; /* bytes */
};

#define LANG_RANGES_MAX 512 /* of one read */

struct lang_memory {
	/* False: not all bytes could be read; `out` may have changed. */
	bool (*read)(void *context, uint64_t addr, void *out, size_t size);
	void *context;
	/* Many at once, as lang_read_many(). NULL: they are read one by one. */
	uint32_t (*read_many)(void *context, const struct lang_range *ranges, uint32_t n,
			      uint8_t *out);
};

static inline bool lang_read(const struct lang_memory *m, uint64_t addr, void *out, size_t size)
{
	return m->read(m->context, addr, out, size);
}

/*
 * Reads `n` ranges, at most LANG_RANGES_MAX, one behind the other into `out`. Returns how many of
 * the first ones could be read. It costs less than as many calls of lang_read().
 */
static inline uint32_t lang_read_many(const struct lang_memory *m, const struct lang_range *ranges,
				      uint32_t n, uint8_t *out)
{
	if (m->read_many)
		return m->read_many(m->context, ranges, n, out);
	for (uint32_t i = 0; i < n; out += ranges[i++].size)
		if (!m->read(m->context, ranges[i].addr, out, ranges[i].size))
			return i;
	return n;
}

static inline bool lang_read_word(const struct lang_memory *m, uint64_t addr, uint64_t *out)
{
	return m->read(m->context, addr, out, sizeof(*out));
}
