/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sections that are stored compressed: SHF_COMPRESSED with zlib or zstd (gABI, "Section
 * compression"), and .zdebug_NAME of older tools ("ZLIB", the size as eight big-endian bytes, then
 * the stream). The stream of a few bytes can claim gigabytes, so there is a budget for each file.
 */
#pragma once

#include "elf/elf_file.h"

bool elf_section_is_packed(const struct elf_file *elf, const struct elf_section *section);

/* The size that a packed section claims to have; 0: it is damaged, or of an unknown kind. */
uint64_t elf_section_unpacked_size(const struct elf_file *elf, const struct elf_section *section);

/*
 * The bytes that all sections of a file may unpack to: 24 times the size of the file, and 16 MiB,
 * but at most 4 GiB. Debug information packs to a third, its names to a tenth.
 */
uint64_t elf_unpack_budget(const struct elf_file *elf);

/*
 * Unpacks a section; the caller frees the bytes. NULL: the section is empty, damaged, of an unknown
 * kind, or larger than *budget. Subtracts the size from *budget.
 */
uint8_t *elf_section_unpack(const struct elf_file *elf, const struct elf_section *section,
			    uint64_t *budget, size_t *size);
