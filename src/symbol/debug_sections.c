/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/debug_sections.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "elf/elf_packed.h"
#include "elf/elf_symbols.h"

/* The section's bytes in the file; if it is compressed, in allocated memory. */
static void load_section(struct debug_sections *d, enum dwarf_section i, const struct elf_file *elf,
			 const struct elf_section *section, uint64_t *budget)
{
	size_t size = 0;

	if (!elf_section_is_packed(elf, section)) {
		d->dwarf.section[i] = elf_section_bytes(elf, section);
		return;
	}
	d->unpacked[i] = elf_section_unpack(elf, section, budget, &size);
	d->dwarf.section[i] = reader_over(d->unpacked[i] ? d->unpacked[i] : elf->base, size);
}

/* The section of a name; N_DWARF_SECTIONS: none. */
static enum dwarf_section section_of(const char *rest, bool is_split)
{
	for (int i = 0; i < N_DWARF_SECTIONS; i++) {
		size_t len = strlen(dwarf_section_names[i]);
		const char *suffix;

		if (strncmp(rest, dwarf_section_names[i], len) != 0)
			continue;
		suffix = is_split && i != DWARF_CU_INDEX ? ".dwo" : "";
		if (!strcmp(rest + len, suffix))
			return i;
	}
	return N_DWARF_SECTIONS;
}

/* ---- relocatable files ---- */

/* The bytes that a relocation writes; 0 for one that debug information does not have. */
static size_t bytes_of_relocation(uint16_t machine, uint32_t type)
{
	switch (machine) {
	case EM_X86_64:
		return type == R_X86_64_64                           ? 8
		       : type == R_X86_64_32 || type == R_X86_64_32S ? 4
								     : 0;
	case EM_AARCH64:
		return type == R_AARCH64_ABS64 ? 8 : type == R_AARCH64_ABS32 ? 4 : 0;
	}
	return 0;
}

/* The section's bytes in allocated memory. */
static uint8_t *own_bytes(struct debug_sections *d, enum dwarf_section i)
{
	struct reader *r = &d->dwarf.section[i];
	size_t size = reader_left(r);

	if (!d->unpacked[i] && size) {
		d->unpacked[i] = mem_try(size, 1);
		if (!d->unpacked[i])
			return NULL;
		memcpy(d->unpacked[i], r->at, size);
		*r = reader_over(d->unpacked[i], size);
	}
	return d->unpacked[i];
}

/* Elf64_Rela; the section's symbols have their addresses. */
static void relocate_section(struct debug_sections *d, enum dwarf_section i,
			     const struct elf_file *elf, const struct elf_section *relocations)
{
	struct reader r = elf_section_bytes(elf, relocations);
	size_t size = reader_left(&d->dwarf.section[i]);
	uint8_t *bytes = own_bytes(d, i);
	struct elf_symbols symbols;
	struct elf_symbol symbol;

	if (!bytes || !elf_symbols_begin(&symbols, elf, SHT_SYMTAB))
		return;
	while (reader_left(&r) >= sizeof(Elf64_Rela)) {
		uint64_t offset = reader_u64(&r), info = reader_u64(&r), value = reader_u64(&r);
		size_t n = bytes_of_relocation(elf->machine, (uint32_t)info);

		if (!n || offset > size || size - offset < n ||
		    !elf_symbols_get(&symbols, (uint32_t)(info >> 32), &symbol))
			continue;
		value += symbol.link_addr;
		memcpy(bytes + offset, &value, n);
	}
}

static void relocate_all(struct debug_sections *d, const struct elf_file *elf,
			 const uint32_t from[N_DWARF_SECTIONS])
{
	struct elf_section section;

	for (uint32_t n = 1; elf_section(elf, n, &section); n++)
		for (int i = 0; section.type == SHT_RELA && i < N_DWARF_SECTIONS; i++)
			if (from[i] && from[i] == section.info)
				relocate_section(d, i, elf, &section);
}

bool debug_sections_load(struct debug_sections *d, const struct elf_file *elf, bool is_split)
{
	uint32_t from[N_DWARF_SECTIONS] = { 0 };
	uint64_t budget = elf_unpack_budget(elf), wanted = 0;
	struct elf_section section;

	memset(d, 0, sizeof(*d));
	for (int i = 0; i < N_DWARF_SECTIONS; i++)
		d->dwarf.section[i] = reader_over(elf->base, 0);
	d->dwarf.is_split = is_split;
	for (uint32_t n = 1; elf_section(elf, n, &section); n++) {
		const char *name = elf_section_name(elf, &section);
		enum dwarf_section i;

		if (strncmp(name, ".debug_", 7) != 0 && strncmp(name, ".zdebug_", 8) != 0)
			continue;
		i = section_of(strchr(name, '_') + 1, is_split);
		if (i == N_DWARF_SECTIONS || from[i] || !section.size)
			continue;
		from[i] = n;
		if (elf_section_is_packed(elf, &section))
			wanted += MIN(elf_section_unpacked_size(elf, &section), budget + 1);
	}
	d->is_refused = wanted > budget;
	for (int i = 0; i < N_DWARF_SECTIONS && !d->is_refused; i++)
		if (from[i] && elf_section(elf, from[i], &section))
			load_section(d, i, elf, &section, &budget);
	if (elf->type == ET_REL && elf->is_64)
		relocate_all(d, elf, from);
	return reader_left(&d->dwarf.section[DWARF_INFO]) > 0;
}

void debug_sections_fini(struct debug_sections *d)
{
	for (int i = 0; i < N_DWARF_SECTIONS; i++) {
		free(d->unpacked[i]);
		d->unpacked[i] = NULL;
	}
}
