/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an instruction does to the flow, told apart from the decoder's own reading of it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "writer.h"

/* *insn_size is 0 where the bytes are no instruction; it may be NULL. */
enum branch_kind classify(unsigned int width, const uint8_t *bytes, size_t size,
			  uint8_t *insn_size);
