/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPython 3.6 to 3.14: detection, and the tables of its structures by version. */
#pragma once

#include "lang/detect.h"
#include "lang/language.h"

struct elf_file;

enum lang_detected python_detect(const struct elf_file *elf, struct lang_runtime *out, char *why,
				 size_t why_size);
