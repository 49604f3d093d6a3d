/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_slots.h"

#include <elf.h>
#include <string.h>

#include "elf/elf_symbols.h"

static uint64_t find_in_section(const struct elf_file *elf, const struct elf_section *section,
				const struct elf_symbols *symbols, const char *name,
				uint32_t relocation)
{
	struct reader r = elf_section_bytes(elf, section);

	while (reader_left(&r) >= sizeof(Elf64_Rela)) {
		uint64_t slot = reader_u64(&r), info = reader_u64(&r);
		struct elf_symbol symbol;

		reader_u64(&r); /* addend */
		if (ELF64_R_TYPE(info) == relocation &&
		    elf_symbols_get(symbols, (uint32_t)ELF64_R_SYM(info), &symbol) &&
		    !strcmp(symbol.name, name))
			return slot;
	}
	return 0;
}

uint64_t elf_slot_find(const struct elf_file *elf, const char *name, uint32_t relocation)
{
	struct elf_symbols symbols;
	uint64_t budget = elf->size;
	struct elf_section s;

	if (!elf->is_64 || !elf_symbols_begin(&symbols, elf, SHT_DYNSYM))
		return 0;
	for (uint32_t i = 0; elf_section(elf, i, &s); i++) {
		uint64_t slot;

		if (s.type != SHT_RELA || !(s.flags & SHF_ALLOC) || s.size > budget)
			continue;
		budget -= s.size; /* all sections together are no larger than the file */
		slot = find_in_section(elf, &s, &symbols, name, relocation);
		if (slot)
			return slot;
	}
	return 0;
}

uint64_t elf_slot_of_variable(const struct elf_file *elf, const char *name)
{
	return elf_slot_find(elf, name,
			     elf->machine == EM_AARCH64 ? R_AARCH64_GLOB_DAT : R_X86_64_GLOB_DAT);
}
