/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/store/jit_file.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

/* Code with a larger gap is in separate sections … */
#define SECTION_GAP 4096

/* … unless there would be more than ELF can number. */
#define MAX_SECTIONS (SHN_LORESERVE - 16U)

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

struct section {
	uint64_t start, end;
};

struct jit_file {
	VEC(struct section) sections;
	struct buf symbols, names, section_names;
};

static int by_addr(const void *a, const void *b)
{
	const struct jit_symbol *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* Newer code keeps its addresses. Of older code below it, the part in front stays. */
static void cut_overlaps(struct jit_symbol *s, size_t n)
{
	size_t last = 0;

	for (size_t i = 0; i < n; i++) /* none goes beyond the last address */
		s[i].size = MIN(s[i].size, UINT64_MAX - s[i].addr);
	for (size_t i = 1; i < n; i++) {
		struct jit_symbol *before = &s[last];

		if (before->size && before->addr + before->size > s[i].addr) {
			if (before->order <= s[i].order) {
				before->size = s[i].addr - before->addr;
			} else if (before->addr + before->size >= s[i].addr + s[i].size) {
				s[i].size = 0;
				continue;
			} else {
				s[i].size -= before->addr + before->size - s[i].addr;
				s[i].addr = before->addr + before->size;
			}
		}
		last = i;
	}
}

static void find_sections(struct jit_file *f, const struct jit_symbol *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct section *now = f->sections.n ? &f->sections.data[f->sections.n - 1] : NULL;

		if (!s[i].size)
			continue;
		if (!now || (s[i].addr - now->end >= SECTION_GAP && f->sections.n < MAX_SECTIONS))
			vec_push(&f->sections,
				 (struct section){ s[i].addr, s[i].addr + s[i].size });
		else
			now->end = s[i].addr + s[i].size;
	}
}

/*
 * OProfile takes a function to end where the next symbol begins, and the last one where the file's
 * length from the section's start is over. So there is a symbol behind the last function.
 */
static void put_end(struct jit_file *f)
{
	const struct section *last = f->sections.n ? &f->sections.data[f->sections.n - 1] : NULL;
	Elf64_Sym symbol = { .st_name = (uint32_t)f->names.len,
			     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE),
			     .st_shndx = (uint16_t)f->sections.n };

	if (!last)
		return;
	symbol.st_value = last->end;
	buf_bytes(&f->symbols, &symbol, sizeof(symbol));
	buf_cstr0(&f->names, "[end]");
}

static void jit_file_put_symbols(struct jit_file *f, const struct jit_symbol *s, size_t n)
{
	const Elf64_Sym none = { 0 };
	size_t section = 0;

	buf_bytes(&f->symbols, &none, sizeof(none));
	buf_u8(&f->names, 0);
	for (size_t i = 0; i < n; i++) {
		Elf64_Sym symbol = { .st_name = (uint32_t)f->names.len,
				     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				     .st_value = s[i].addr,
				     .st_size = s[i].size };

		if (!s[i].size)
			continue;
		while (s[i].addr >= f->sections.data[section].end)
			section++;
		symbol.st_shndx = (uint16_t)(section + 1);
		buf_bytes(&f->symbols, &symbol, sizeof(symbol));
		buf_cstr0(&f->names, s[i].name);
	}
	put_end(f);
}

static uint32_t section_name(struct jit_file *f, const char *name)
{
	uint32_t at = (uint32_t)f->section_names.len;

	buf_cstr0(&f->section_names, name);
	return at;
}

/* Headers: nothing, the code, symbols, their names, the sections' names. */
static void put_headers(struct jit_file *f, uint64_t at, struct buf *out)
{
	uint32_t n_code = (uint32_t)f->sections.n;
	Elf64_Shdr header = { 0 };

	buf_bytes(out, &header, sizeof(header));
	for (uint32_t i = 0; i < n_code; i++) {
		char name[32];

		snprintf(name, sizeof(name), i ? ".text.%u" : ".text", i);
		header = (Elf64_Shdr){ .sh_name = section_name(f, name),
				       .sh_type = SHT_NOBITS,
				       .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				       .sh_addr = f->sections.data[i].start,
				       .sh_offset = at,
				       .sh_size =
					       f->sections.data[i].end - f->sections.data[i].start,
				       .sh_addralign = 1 };
		buf_bytes(out, &header, sizeof(header));
	}
	header = (Elf64_Shdr){ .sh_name = section_name(f, ".symtab"),
			       .sh_type = SHT_SYMTAB,
			       .sh_offset = at,
			       .sh_size = f->symbols.len,
			       .sh_link = n_code + 2,
			       .sh_info = 1,
			       .sh_addralign = 8,
			       .sh_entsize = sizeof(Elf64_Sym) };
	buf_bytes(out, &header, sizeof(header));
	header = (Elf64_Shdr){ .sh_name = section_name(f, ".strtab"),
			       .sh_type = SHT_STRTAB,
			       .sh_offset = at + f->symbols.len,
			       .sh_size = f->names.len,
			       .sh_addralign = 1 };
	buf_bytes(out, &header, sizeof(header));
	header.sh_name = section_name(f, ".shstrtab");
	header.sh_offset += f->names.len;
	header.sh_size = f->section_names.len;
	buf_bytes(out, &header, sizeof(header));
}

void jit_file_write(struct buf *out, struct jit_symbol *symbols, size_t n)
{
	struct jit_file f = { 0 };
	Elf64_Ehdr header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					   ELFDATA2LSB, EV_CURRENT },
			      .e_type = ET_EXEC,
			      .e_machine = MACHINE,
			      .e_version = EV_CURRENT,
			      .e_shoff = sizeof(header),
			      .e_ehsize = sizeof(header),
			      .e_shentsize = sizeof(Elf64_Shdr) };

	if (n)
		qsort(symbols, n, sizeof(*symbols), by_addr);
	cut_overlaps(symbols, n);
	find_sections(&f, symbols, n);
	jit_file_put_symbols(&f, symbols, n);
	buf_u8(&f.section_names, 0);
	header.e_shnum = (uint16_t)(f.sections.n + 4);
	header.e_shstrndx = (uint16_t)(header.e_shnum - 1);
	buf_bytes(out, &header, sizeof(header));
	put_headers(&f, sizeof(header) + header.e_shnum * sizeof(Elf64_Shdr), out);
	buf_bytes(out, f.symbols.data, f.symbols.len);
	buf_bytes(out, f.names.data, f.names.len);
	buf_bytes(out, f.section_names.data, f.section_names.len);
	vec_fini(&f.sections);
	buf_fini(&f.symbols);
	buf_fini(&f.names);
	buf_fini(&f.section_names);
}
