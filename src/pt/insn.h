/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One x86 instruction: its length, and its effect on the flow. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pt/branch.h"

enum { PT_INSN_MAX = 15 };

struct pt_insn {
	uint64_t distance; /* from its end to the target; of a direct branch */
	uint8_t size;      /* bytes */
	uint8_t end;       /* enum pt_end; PT_END_FALL: it does not end a block */
	uint8_t ip_bits;   /* that the target has: 16, 32, 64; of a direct branch */
	bool is_direct;    /* a branch that has a distance */
};

/*
 * Of code of a width (16, 32, 64). False: these bytes are no instruction, or not all of one. Most
 * of the opcodes that no processor has pass for instructions that go on: they fault when they run,
 * so no trace goes over one.
 */
bool pt_insn_read(unsigned int width, const uint8_t *bytes, size_t n, struct pt_insn *out);

/* Of a direct branch at `addr`. */
static inline uint64_t pt_insn_target(const struct pt_insn *insn, uint64_t addr)
{
	return (addr + insn->size + insn->distance) & UINT64_MAX >> (64 - insn->ip_bits);
}
