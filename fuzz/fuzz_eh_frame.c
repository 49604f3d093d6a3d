/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any call frame information, compiled to an unwind table. The input is an ELF image, or flags and
 * the content of a section. Flags are the first byte: bit 0 AArch64, bit 1 .debug_frame, bit 2
 * compressed, bit 3 .sframe. The content goes into that section of a generated image.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "elf/elf_file.h"
#include "unwind/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define CODE_SIZE 65536 /* of the image's code, all zero, behind the section */

struct made_image {
	Elf64_Ehdr header;
	Elf64_Phdr load;
	Elf64_Shdr sections[3];
	char names[32];
	uint8_t bytes[];
};

static void *image_around(const uint8_t *bytes, size_t size, uint8_t kind, size_t *image_size)
{
	struct made_image *image = xcalloc(1, sizeof(*image) + size + CODE_SIZE);

	*image_size = sizeof(*image) + size + CODE_SIZE;
	memcpy(image->header.e_ident, ELFMAG, SELFMAG);
	image->header.e_ident[EI_CLASS] = ELFCLASS64;
	image->header.e_ident[EI_DATA] = ELFDATA2LSB;
	image->header.e_machine = kind & 1 ? EM_AARCH64 : EM_X86_64;
	image->header.e_phoff = offsetof(struct made_image, load);
	image->header.e_phentsize = sizeof(Elf64_Phdr);
	image->header.e_phnum = 1;
	image->header.e_shoff = offsetof(struct made_image, sections);
	image->header.e_shentsize = sizeof(Elf64_Shdr);
	image->header.e_shnum = 3;
	image->header.e_shstrndx = 2;
	image->load = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_X,
		.p_filesz = *image_size,
		.p_memsz = *image_size,
	};
	strcpy(image->names + 1, kind & 8 ? ".sframe" : kind & 2 ? ".debug_frame" : ".eh_frame");
	image->sections[1] = (Elf64_Shdr){
		.sh_name = 1,
		.sh_type = SHT_PROGBITS,
		.sh_flags = kind & 4 ? SHF_COMPRESSED : 0,
		.sh_addr = sizeof(*image),
		.sh_offset = sizeof(*image),
		.sh_size = size,
	};
	image->sections[2] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct made_image, names),
		.sh_size = sizeof(image->names),
	};
	memcpy(image->bytes, bytes, size);
	return image;
}

static void build(const struct elf_file *elf)
{
	struct unwind_header *block;
	struct unwind_table t;

	if (unwind_build(elf, NULL, &block, NULL) < 0)
		return;
	if (!unwind_table_open(&t, block, (size_t)block->size))
		abort();
	/* Every row names a rule, and the rows of a page ascend. */
	for (uint32_t page = 0; page < t.n_pages; page++)
		for (uint32_t i = t.pages[page]; i < t.pages[page + 1]; i++) {
			if (unwind_row_rule(t.rows[i]) >= t.n_rules)
				abort();
			if (i > t.pages[page] &&
			    t.rows[i] >> UNWIND_RULE_BITS <= t.rows[i - 1] >> UNWIND_RULE_BITS)
				abort();
		}
	for (uint64_t off = 0; off < elf->size + 8192; off += 61)
		unwind_table_find(&t, off);
	free(block);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct elf_file elf;
	size_t image_size;
	void *image;

	if (elf_file_open(&elf, bytes, size, NULL) == 0)
		build(&elf);
	if (!size)
		return 0;
	image = image_around(bytes + 1, size - 1, bytes[0], &image_size);
	if (elf_file_open(&elf, image, image_size, NULL) < 0)
		abort();
	build(&elf);
	free(image);
	return 0;
}
