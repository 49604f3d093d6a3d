/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PHP 7.4 to 8.4 without threads: detection, and offsets in its structures by version. */
#pragma once

#include "lang/detected.h"

enum lang_detected php_detect(const struct elf_file *elf, struct lang_runtime *out, char *why,
			      size_t why_size);
