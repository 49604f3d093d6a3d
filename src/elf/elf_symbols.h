/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The symbol tables of an ELF image, one entry at a time.
 *
 *	struct elf_symbols it;
 *	struct elf_symbol symbol;
 *
 *	if (elf_symbols_begin(&it, &elf, SHT_SYMTAB))
 *		while (elf_symbols_next(&it, &symbol))
 *			...
 */
#pragma once

#include "elf/elf_file.h"

struct elf_symbol {
	const char *name; /* in the file; "" if it has none */
	uint64_t link_addr, size;
	uint8_t type, bind; /* STT_*, STB_* */
	uint16_t section;   /* SHN_* for the special ones */
};

struct elf_symbols {
	bool is_64;
	const uint8_t *first;
	uint32_t next, n; /* of all entries, the empty first one included */
	size_t stride;
	const char *names;
	size_t names_size; /* up to and including its last NUL */
};

/*
 * Table is SHT_SYMTAB or SHT_DYNSYM; false if there is none. The dynamic one is
 * found by way of PT_DYNAMIC in a file without section headers.
 */
bool elf_symbols_begin(struct elf_symbols *it, const struct elf_file *elf, uint32_t table);
bool elf_symbols_next(struct elf_symbols *it, struct elf_symbol *out);

/* The i-th entry, as relocations name it; false beyond the end. */
bool elf_symbols_get(const struct elf_symbols *it, uint32_t i, struct elf_symbol *out);

/*
 * The dynamic symbol of this name that the file defines. It is looked up by the loader's hash
 * table (DT_GNU_HASH), so that a file with many symbols costs no more; a file without that table is
 * read whole. False if there is none.
 */
bool elf_symbol_exported(const struct elf_file *elf, const char *name, struct elf_symbol *out);
