/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words of an image that the dynamic linker fills with the places of symbols. A library finds its
 * own exported variables by these words. A program that is not compiled with -fPIC may have a copy
 * of such a variable (R_X86_64_COPY). Then the whole process uses the copy.
 */
#pragma once

#include "elf/elf_file.h"

/*
 * The link address of the word that a relocation of this type fills for the symbol. 0: there is
 * none, or the file has no sections.
 */
uint64_t elf_slot_find(const struct elf_file *elf, const char *name, uint32_t relocation);

/* The same for the address of a variable (GLOB_DAT); 0: code uses the file's own variable. */
uint64_t elf_slot_of_variable(const struct elf_file *elf, const char *name);
