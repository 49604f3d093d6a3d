/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind tables of assembled programs. */
#pragma once

#include "scratch.h"

#include <elf.h>

#include "elf/elf_file.h"
#include "elf/elf_symbols.h"
#include "unwind/table.h"

struct built {
	struct file_mapping file;
	struct elf_file elf;
	struct unwind_header *block;
	struct unwind_table table;
};

static inline void build_of(struct built *b, const char *path)
{
	assert_int_equal(file_map(path, &b->file, NULL), 0);
	assert_int_equal(elf_file_open(&b->elf, b->file.base, b->file.size, NULL), 0);
	assert_int_equal(unwind_build(&b->elf, NULL, &b->block, NULL), 0);
	assert_true(unwind_table_open(&b->table, b->block, (size_t)b->block->size));
}

static inline void built_fini(struct built *b)
{
	free(b->block);
	file_unmap(&b->file);
}

static inline struct unwind_rule rule_at(const struct built *b, uint64_t link_addr)
{
	uint64_t file_off;

	assert_true(elf_file_off(&b->elf, link_addr, &file_off));
	return unwind_table_find(&b->table, file_off);
}

static inline uint64_t address_of(const struct built *b, const char *name)
{
	struct elf_symbols it;
	struct elf_symbol symbol;

	assert_true(elf_symbols_begin(&it, &b->elf, SHT_SYMTAB));
	while (elf_symbols_next(&it, &symbol))
		if (!strcmp(symbol.name, name))
			return symbol.link_addr;
	fail_msg("no symbol %s", name);
	return 0;
}

static inline void assert_sp_plus(struct unwind_rule rule, uint64_t off)
{
	assert_int_equal(unwind_rule_cfa(rule), UNWIND_CFA_SP);
	assert_int_equal(unwind_rule_offset(rule), off);
}
