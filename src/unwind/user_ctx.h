/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of unwind/step.h in user space, for a copied stack. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "unwind/stop.h"

struct unwind_ctx {
	const uint8_t *stack; /* the bytes from address `start` on */
	uint64_t start, size;
	bool is_whole;         /* they reach to the stack's end */
	bool met_end;          /* a word was asked for that is behind a copy that is not whole */
	const uint64_t *other; /* registers by DWARF number; may be NULL */
	uint32_t n_other;
	const uint32_t *rows;
};

static inline enum unwind_stop unwind_read_stack(struct unwind_ctx *c, uint64_t addr,
						 uint64_t *value)
{
	uint64_t at = addr - c->start;

	if (at > c->size || c->size - at < sizeof(*value)) {
		if (addr < c->start || c->is_whole)
			return UNWIND_UNREADABLE;
		c->met_end = true;
		return UNWIND_SHORT_COPY;
	}
	memcpy(value, c->stack + at, sizeof(*value));
	return UNWIND_GOES_ON;
}

static inline bool unwind_sampled_register(struct unwind_ctx *c, uint32_t number, uint64_t *value)
{
	if (number >= c->n_other)
		return false;
	*value = c->other[number];
	return true;
}

/* A copy has no bytes of the thread's own variables. */
static inline bool unwind_thread_word(struct unwind_ctx *c, int64_t offset, uint64_t *value)
{
	(void)c;
	(void)offset;
	(void)value;
	return false;
}

static inline uint32_t unwind_row_at(struct unwind_ctx *c, uint32_t i)
{
	return c->rows[i];
}
