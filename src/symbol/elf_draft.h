/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns the symbol tables of ELF files into a draft of an index. */
#pragma once

#include "base/arena.h"
#include "elf/elf_file.h"
#include "symbol/index.h"

/* From link addresses of an image to the offsets of its index. */
struct code_segment {
	uint64_t link_addr, size;
	uint64_t offset; /* of link_addr */
};
struct code_segments {
	struct code_segment *data;
	size_t n, cap;
};

/* Executable PT_LOADs, by link address; file offsets. */
void code_segments_of_image(struct code_segments *out, const struct elf_file *image);
/* All PT_LOADs, as far as they reach in memory: offsets of .bss lie behind the data in the file. */
void data_segments_of_image(struct code_segments *out, const struct elf_file *image);
void code_segments_sort(struct code_segments *s);
void code_segments_fini(struct code_segments *s);

/* The executable sections of `image` (without sections: its segments) as the draft's code. */
void elf_draft_code(struct index_draft *d, const struct elf_file *image,
		    const struct code_segments *s);

/*
 * Adds the functions of a table (SHT_SYMTAB, SHT_DYNSYM) of `file`, which is the image or its debug
 * file: FUNC and IFUNC, and untyped ones in executable sections. Names stay in the file's bytes.
 * Returns their number.
 */
size_t elf_draft_symbols(struct index_draft *d, const struct elf_file *file, uint32_t table,
			 const struct code_segments *s);

/* The same for the variables of a table (STT_OBJECT), by the segments of data. */
size_t elf_draft_objects(struct index_draft *d, const struct elf_file *file, uint32_t table,
			 const struct code_segments *s);

/*
 * Adds the functions of Go's own table (elf/elf_go.h). True if it has functions and the image has
 * no others. Others are C code, which has unwind tables.
 */
bool elf_draft_go(struct index_draft *d, const struct elf_file *image,
		  const struct code_segments *s);

/*
 * Notes which code is of Go's own table. C functions that Go's linker put among Go's have nothing
 * there but a name.
 */
void elf_draft_go_code(struct index_draft *d, const struct elf_file *image,
		       const struct code_segments *s);

/*
 * Adds functions of a stripped image: those of the unwind tables, code around them, and trampolines
 * (elf/elf_trampoline.h).
 */
void elf_draft_nameless(struct index_draft *d, const struct elf_file *image,
			const struct code_segments *s);

/*
 * Adds the stubs of the procedure linkage table as "puts@plt", and other code of its sections (the
 * lazy resolver's stub) as ".plt". Call it after the symbols, because they name the functions that
 * are chosen at start-up. Names are made in `names`.
 */
void elf_draft_plt(struct index_draft *d, const struct elf_file *image,
		   const struct code_segments *s, struct arena *names);
