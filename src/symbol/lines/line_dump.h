/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of a jitdump (foreign/jitdump.h): its debug records as a line index. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symbol/lines/line_index.h"

/*
 * The index of the dump's bytes as a block that the caller frees, with offsets from the start of
 * the dump; NULL if the dump has no lines.
 */
struct line_header *line_dump_make(const uint8_t *bytes, size_t size, size_t *block_size);
