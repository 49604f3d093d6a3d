/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of code that no table covers. Inside unwind/. */
#pragma once

#include "base/reader.h"
#include "unwind/build_state.h"

/* Bytes of such code in a file whose instructions are read, and rows that come of them. */
#define BARE_BYTES_MAX (32u << 20)
#define BARE_ROWS_MAX  (4u << 20)

/* Adds the rows of a piece of such code. */
void builder_emit_bare(struct builder *b, struct reader code);

/* Whether the bytes between two functions never run. */
bool builder_is_padding(const struct builder *b, uint64_t from, uint64_t to);
