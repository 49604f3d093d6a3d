/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kcore.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "elf/elf_file.h"
#include "elf/elf_symbols.h"

static void write_or_die(const char *out, const char *name, const struct buf *bytes)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/kcore_dir/%s", out, name);
	struct error err = { 0 };

	if (file_replace(path, bytes->data, bytes->len, &err) < 0) {
		fprintf(stderr, "trace: %s\n", err.text);
		exit(1);
	}
}

/* The kernel from _text on, with one executable segment as it is in memory. */
static void put_core(struct buf *b, const struct elf_segment *s, const uint8_t *code,
		     uint64_t shift)
{
	const uint64_t before = s->link_addr + shift - KERNEL_TEXT;
	const Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_CORE,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
	};
	const Elf64_Phdr load = {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_W | PF_X,
		.p_offset = 4096,
		.p_vaddr = KERNEL_TEXT,
		.p_filesz = before + s->file_size,
		.p_memsz = before + s->file_size,
		.p_align = 4096,
	};

	buf_bytes(b, &header, sizeof(header));
	buf_bytes(b, &load, sizeof(load));
	while (b->len < load.p_offset + before)
		buf_u8(b, 0);
	buf_bytes(b, code, s->file_size);
}

static void put_symbols(struct buf *b, const struct elf_file *elf, uint64_t text, uint64_t end,
			uint64_t shift)
{
	struct elf_symbols it;
	struct elf_symbol s;

	buf_printf(b, "%" PRIx64 " T _text\n%" PRIx64 " T _stext\n", text, text);
	if (elf_symbols_begin(&it, elf, SHT_SYMTAB))
		while (elf_symbols_next(&it, &s))
			if (s.type == STT_FUNC && s.link_addr)
				buf_printf(b, "%" PRIx64 " T %s\n", s.link_addr + shift, s.name);
	buf_printf(b, "%" PRIx64 " T _etext\n", end);
}

/* Every address of the file's headers and symbols. */
static void shift_addresses(uint8_t *file, uint64_t shift)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)file;
	Elf64_Phdr *segment = (Elf64_Phdr *)(file + header->e_phoff);
	Elf64_Shdr *section = (Elf64_Shdr *)(file + header->e_shoff);

	header->e_entry += shift;
	for (int i = 0; i < header->e_phnum; i++) {
		segment[i].p_vaddr += shift;
		segment[i].p_paddr += shift;
	}
	for (int i = 0; i < header->e_shnum; i++) {
		Elf64_Sym *symbol = (Elf64_Sym *)(file + section[i].sh_offset);

		if (section[i].sh_addr)
			section[i].sh_addr += shift;
		if (section[i].sh_type != SHT_SYMTAB)
			continue;
		for (uint64_t k = 0; k < section[i].sh_size / sizeof(*symbol); k++)
			if (symbol[k].st_shndx && ELF64_ST_TYPE(symbol[k].st_info) != STT_TLS)
				symbol[k].st_value += shift;
	}
}

void vmlinux_write(const char *out, const char *program, uint64_t shift, struct build_id *id)
{
	struct file_mapping file;
	struct error err = { 0 };
	struct elf_file elf;
	uint8_t *copy;

	if (file_map(program, &file, &err) < 0 ||
	    elf_file_open(&elf, file.base, file.size, &err) < 0 || !elf_build_id(&elf, id)) {
		fprintf(stderr, "trace: %s: %s\n", program, err.text);
		exit(1);
	}
	copy = xmalloc(file.size);
	memcpy(copy, file.base, file.size);
	shift_addresses(copy, shift);
	if (file_replace(out, copy, file.size, &err) < 0) {
		fprintf(stderr, "trace: %s\n", err.text);
		exit(1);
	}
	free(copy);
	file_unmap(&file);
}

static void make_directory(const char *out)
{
	cleanup(free_at_exit) char *below = xasprintf("%s/kcore_dir", out);

	mkdir(out, 0755);
	mkdir(below, 0755);
}

static bool find_code(const struct elf_file *elf, struct elf_segment *out)
{
	for (uint32_t i = 0; elf_segment(elf, i, out); i++)
		if (out->type == PT_LOAD && out->flags & PF_X)
			return true;
	return false;
}

void kcore_write(const char *out, const char *program, uint64_t shift, uint64_t addr,
		 const uint8_t *instead, uint8_t *was, size_t n)
{
	struct buf core = { 0 }, symbols = { 0 };
	const struct buf no_modules = { 0 };
	struct elf_segment code;
	struct file_mapping file;
	struct error err = { 0 };
	struct elf_file elf;
	uint8_t *at;

	if (file_map(program, &file, &err) < 0 ||
	    elf_file_open(&elf, file.base, file.size, &err) < 0 || !find_code(&elf, &code)) {
		fprintf(stderr, "trace: %s: %s\n", program, err.text);
		exit(1);
	}
	make_directory(out);
	put_core(&core, &code, file.base + code.file_off, shift);
	at = core.data + core.len - code.file_size + (addr - shift - code.link_addr);
	memcpy(was, at, n);
	memcpy(at, instead, n);
	put_symbols(&symbols, &elf, KERNEL_TEXT, code.link_addr + code.mem_size + shift, shift);
	write_or_die(out, "kcore", &core);
	write_or_die(out, "kallsyms", &symbols);
	write_or_die(out, "modules", &no_modules);
	file_unmap(&file);
	buf_fini(&core);
	buf_fini(&symbols);
}
