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
	bool is_direct;    /* a branch that has a distance */
};

/* false: a build without libZydis, which reads no instruction. */
bool pt_insn_is_supported(void);

/* Of code of a width (16, 32, 64). false: these bytes are no instruction, or not all of one. */
bool pt_insn_read(unsigned int width, const uint8_t *bytes, size_t n, struct pt_insn *out);
