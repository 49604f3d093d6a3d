/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPython 3.6 to 3.14: detection, the tables of its structures by version, and its line tables. */
#pragma once

#include "lang/detected.h"

enum lang_detected python_detect(const struct elf_file *elf, struct lang_runtime *out, char *why,
				 size_t why_size);

/* The line of a position in its code; PYTHON_NO_LINE: the table does not have it. */
#define PYTHON_NO_LINE INT64_MIN
int64_t python_line(const struct lang_code *code, uint32_t position);
