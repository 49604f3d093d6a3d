/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/libc.h"

#include <string.h>

#include "elf/elf_links.h"
#include "lang/runtime.h"

/* Alpine's musl has the name "libc.musl-x86_64.so.1", and musl without a distribution "libc.so". */
static bool is_musl(const char *library)
{
	return !strncmp(library, "libc.musl-", 10) || !strcmp(library, "libc.so");
}

static bool is_loader_of_musl(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !strncmp(slash ? slash + 1 : path, "ld-musl-", 8);
}

uint32_t lang_libc(const struct elf_file *elf)
{
	struct elf_links links = { 0 };
	struct elf_section note;

	elf_links_read(elf, &links);
	if (links.interpreter && is_loader_of_musl(links.interpreter))
		return LIBC_MUSL;
	for (size_t i = 0; i < links.n_needed; i++)
		if (is_musl(links.needed[i]))
			return LIBC_MUSL;
	if (links.interpreter || links.n_needed)
		return LIBC_GLIBC;
	return elf_section_named(elf, ".note.ABI-tag", &note) ? LIBC_GLIBC : LIBC_MUSL;
}
