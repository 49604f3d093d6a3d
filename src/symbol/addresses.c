/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/addresses.h"

#include <elf.h>

#include "base/error.h"
#include "elf/elf_file.h"
#include "symbol/table.h"

static void read_pieces(struct symbolizer *s, struct symbol_table *t)
{
	struct file_mapping file = { 0 };
	struct elf_segment segment;
	struct elf_file elf;

	t->has_pieces = true;
	if (t->image.kind != IMAGE_FILE ||
	    symbolizer_map_image(s, &t->image, &file, NULL, NULL) < 0)
		return;
	if (elf_file_open(&elf, file.base, file.size, NULL) >= 0)
		for (uint32_t i = 0; elf_segment(&elf, i, &segment); i++)
			if (segment.type == PT_LOAD && (segment.flags & PF_X))
				vec_push(&t->pieces,
					 (struct link_piece){ segment.file_off, segment.file_size,
							      segment.link_addr });
	file_unmap(&file);
}

uint64_t symbol_link_addr(struct symbolizer *s, const struct symbol_table *t, uint64_t offset)
{
	/* found at first use, as names are */
	struct symbol_table *own = (struct symbol_table *)t;

	if (!own->has_pieces)
		read_pieces(s, own);
	vec_foreach (&own->pieces, piece)
		if (offset - piece->offset < piece->size)
			return piece->link_addr + (offset - piece->offset);
	return offset;
}
