/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ruby 2.7 to 3.4 (MRI): detection, offsets in its structures by version, and its line tables. */
#pragma once

#include "lang/detected.h"

enum lang_detected ruby_detect(const struct elf_file *elf, struct lang_runtime *out, char *why,
			       size_t why_size);

/* The line of a position in the function's code; 0: the table does not have it. */
uint32_t ruby_line(const struct lang_code *code, uint32_t position);
