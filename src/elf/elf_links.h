/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the dynamic loader reads of an image to find its libraries: PT_INTERP, DT_SONAME, DT_NEEDED,
 * DT_RUNPATH and DT_RPATH. The texts are in the file.
 */
#pragma once

#include "elf/elf_file.h"

#define ELF_NEEDED_MAX 64

struct elf_links {
	const char *interpreter;            /* NULL: none */
	const char *name;                   /* of a library; NULL: none */
	const char *run_path;               /* folders between colons; NULL: none */
	const char *needed[ELF_NEEDED_MAX]; /* further ones are left out */
	size_t n_needed;
};

/* An image without dynamic section has no links. */
void elf_links_read(const struct elf_file *elf, struct elf_links *out);
