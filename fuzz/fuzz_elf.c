/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An ELF image that may be anything, read as an image and as its own debug file. */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_functions.h"
#include "elf/elf_links.h"
#include "elf/elf_plt.h"
#include "elf/elf_symbols.h"
#include "lang/detect.h"
#include "machine/image_look.h"
#include "symbol/elf_draft.h"
#include "symbol/file_functions.h"
#include "symbol/index.h"
#include "symbol/lines/line_go.h"

static void read_headers(const struct elf_file *elf)
{
	struct elf_segment segment;
	struct elf_section section;
	struct elf_links links;
	struct build_id id;
	uint64_t off;
	uint32_t crc;

	for (uint32_t i = 0; elf_segment(elf, i, &segment); i++)
		elf_file_off(elf, segment.link_addr + 1, &off);
	for (uint32_t i = 0; elf_section(elf, i, &section); i++)
		elf_section_bytes(elf, &section);
	elf_build_id(elf, &id);
	elf_links_read(elf, &links);
	for (size_t i = 0; i < links.n_needed; i++)
		if (links.needed[i] < (const char *)elf->base ||
		    links.needed[i] + strlen(links.needed[i]) >=
			    (const char *)elf->base + elf->size)
			abort();
	elf_debug_link(elf, &crc);
}

static void check_index(struct index_draft *draft)
{
	size_t size;
	struct index_header *block = index_draft_finish(draft, &size);
	struct index ix;

	if (!index_open(&ix, block, size))
		abort();
	for (uint32_t i = 0; i < ix.n; i++) {
		uint32_t found = index_find(&ix, ix.starts[i]);

		/* A symbol is found at its start, and starts ascend. */
		if (found != i || (i && ix.starts[i] <= ix.starts[i - 1]))
			abort();
		index_text(&ix, ix.names[i]);
	}
	free(block);
}

static void make_index_of_objects(const struct elf_file *elf)
{
	struct code_segments segments = { 0 };
	struct index_draft draft = { 0 };

	data_segments_of_image(&segments, elf);
	elf_draft_objects(&draft, elf, SHT_SYMTAB, &segments);
	elf_draft_objects(&draft, elf, SHT_DYNSYM, &segments);
	check_index(&draft);
	code_segments_fini(&segments);
}

static void make_index(const struct elf_file *elf)
{
	struct arena *names = arena_new();
	struct code_segments segments = { 0 };
	struct index_draft draft = { 0 };

	code_segments_of_image(&segments, elf);
	elf_draft_code(&draft, elf, &segments);
	elf_draft_symbols(&draft, elf, SHT_SYMTAB, &segments);
	elf_draft_symbols(&draft, elf, SHT_DYNSYM, &segments);
	elf_draft_go(&draft, elf, &segments);
	elf_draft_nameless(&draft, elf, &segments);
	elf_draft_plt(&draft, elf, &segments, names);
	check_index(&draft);
	code_segments_fini(&segments);
	arena_free(names);
}

static void make_go_lines(const struct elf_file *elf)
{
	struct code_segments segments = { 0 };
	struct line_header *block;
	struct line_index ix;
	size_t size;

	code_segments_of_image(&segments, elf);
	block = line_go_make(elf, &segments, &size);
	if (block && !line_index_open(&ix, block, size))
		abort();
	free(block);
	code_segments_fini(&segments);
}

static void detect_runtime(const struct elf_file *elf)
{
	struct lang_runtime runtime;
	char why[128];

	if (lang_detect(elf, &runtime, why, sizeof(why)) == LANG_FOUND && !runtime.language)
		abort();
}

/* The honest answer of a row passes its check. */
static void ask(const struct parser_row *row, uint8_t parts, const struct file_mapping *file)
{
	struct buf answer = { 0 };
	struct parser_job job = { .file = file,
				  .request = reader_over(&parts, 1),
				  .answer = &answer };

	row->run(&job);
	if (!row->check(answer.data, answer.len))
		abort();
	buf_fini(&answer);
}

static void ask_rows(const uint8_t *bytes, size_t size)
{
	const struct file_mapping file = { .base = bytes, .size = size };

	ask(&image_look_row, LOOK_RUNTIME | LOOK_CONTENTS | LOOK_SEGMENTS, &file);
	ask(&file_functions_row, FUNCTIONS_ALL, &file);
	ask(&file_functions_row, FUNCTIONS_NAMES, &file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct elf_file elf;

	ask_rows(bytes, size);
	if (elf_file_open(&elf, bytes, size, NULL) < 0)
		return 0;
	read_headers(&elf);
	make_index(&elf);
	make_index_of_objects(&elf);
	make_go_lines(&elf);
	detect_runtime(&elf);
	return 0;
}
