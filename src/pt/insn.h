/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One x86 instruction: its length, and what it does to the flow. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "pt/code.h"

enum { PT_INSN_MAX = 15 };

/*
 * Its size in bytes, in code of a width (16, 32, 64), and how it ends a block (PT_END_FALL: not at
 * all). 0: these bytes are none, or not enough.
 */
unsigned int pt_insn_read(unsigned int width, const uint8_t *bytes, size_t n, enum pt_end *end);

/* The same of one that is decoded. */
struct ZydisDecodedInstruction_;
enum pt_end pt_end_of(const struct ZydisDecodedInstruction_ *insn);
