/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The small symbol table that Fedora and its relatives leave in stripped images. The section
 * .gnu_debugdata is an xz-compressed ELF file. It only has the function symbols that .dynsym lacks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

/* The unpacked xz stream, the caller's to free(); NULL where mini_debug_open() is false. */
uint8_t *xz_unpack(struct reader packed, size_t *size);

/*
 * Unpacks it into *bytes, which the caller frees when done with *elf. False if there is
 * none, if it is damaged or unpacks to more than 64 MiB, or in a build without liblzma.
 */
bool mini_debug_open(const struct elf_file *image, uint8_t **bytes, struct elf_file *elf);
