/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines and inlined functions of a Go program without debug information (elf/elf_go.h). */
#pragma once

#include <stddef.h>

#include "symbol/elf_draft.h"
#include "symbol/lines/line_index.h"

/*
 * The index of the image as a block that the caller frees; NULL if it has no such table. The
 * segments are those of the image, sorted.
 */
struct line_header *line_go_make(const struct elf_file *image, const struct code_segments *s,
				 size_t *size);
