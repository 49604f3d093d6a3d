/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sections that are stored compressed: SHF_COMPRESSED with zlib or zstd (gABI, "Section
 * compression"), and .zdebug_NAME of older tools ("ZLIB", the size as eight big-endian bytes, then
 * the stream).
 */
#pragma once

#include "elf/elf_file.h"

bool elf_section_is_packed(const struct elf_file *elf, const struct elf_section *section);

/*
 * Unpacks a section; the caller frees the bytes. NULL: the section is empty, damaged, of an unknown
 * kind, larger than *budget, or more than a thousand times its stored size, which no compressor
 * makes. Subtracts the size from *budget.
 */
uint8_t *elf_section_unpack(const struct elf_file *elf, const struct elf_section *section,
			    uint64_t *budget, size_t *size);
