/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Perl 5.32 to 5.42 with threads: detection, and offsets in its structures by version. */
#pragma once

#include "lang/detected.h"

enum lang_detected perl_detect(const struct elf_file *elf, struct lang_runtime *out, char *why,
			       size_t why_size);
