/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The debug information of an ELF image that may be anything, whole and as a split file's. */
#include <stdint.h>
#include <stdlib.h>

#include "symbol/debug_sections.h"
#include "symbol/lines/line_draft.h"

/* Starts ascend, and a lookup of a start finds its entry. */
static void check_index(const struct line_header *block, size_t size)
{
	struct line_index ix;

	if (!line_index_open(&ix, block, size))
		abort();
	for (uint32_t i = 0; i < block->n_rows; i++) {
		if (i && ix.rows[i].start <= ix.rows[i - 1].start)
			abort();
		if (line_index_row(&ix, block->base + ix.rows[i].start) != i)
			abort();
		line_index_text(&ix, line_index_place(&ix, ix.rows[i].place).file);
	}
	for (uint32_t i = 0; i < block->n_scopes; i++) {
		uint32_t node = ix.scopes[i].node;

		if (i && ix.scopes[i].start <= ix.scopes[i - 1].start)
			abort();
		if (node != NO_NODE && node >= block->n_nodes)
			abort();
	}
	/* Parents come first: chains end. */
	for (uint32_t i = 0; i < block->n_nodes; i++)
		if (ix.nodes[i].parent != NO_NODE && ix.nodes[i].parent >= i)
			abort();
}

static void read_as(const struct elf_file *elf, bool is_split)
{
	struct line_source source = { 0 };
	struct line_losses losses = { 0 };
	struct debug_sections sections;
	struct line_header *block = NULL;
	size_t size;

	if (debug_sections_load(&sections, elf, is_split)) {
		code_segments_of_image(&source.code, elf);
		source.dwarf = &sections.dwarf;
		source.alt = &sections.dwarf;
		source.package = &sections.dwarf;
		block = line_draft_make(&source, &size, &losses);
	}
	if (block)
		check_index(block, size);
	free(block);
	free(losses.missing_split);
	code_segments_fini(&source.code);
	debug_sections_fini(&sections);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct elf_file elf;

	if (elf_file_open(&elf, bytes, size, NULL) < 0)
		return 0;
	read_as(&elf, false);
	read_as(&elf, true);
	return 0;
}
