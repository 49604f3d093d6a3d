/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/addresses.h"

#include <elf.h>

#include "base/error.h"
#include "machine/image_look.h"
#include "symbol/table.h"

static void read_pieces(struct symbolizer *s, struct symbol_table *t)
{
	struct image_look_wish wish = { .parts = LOOK_SEGMENTS };
	cleanup(free_at_exit) char *path = NULL;
	struct file_mapping file = { 0 };
	struct image_look look = { 0 };

	t->has_pieces = true;
	if (t->image.kind != IMAGE_FILE ||
	    symbolizer_map_image(s, &t->image, &file, &path, NULL) < 0)
		return;
	wish.found = symbolizer_found(s, &t->image, path);
	image_look(&file, &wish, &look, NULL);
	for (uint32_t i = 0; i < look.head.n_segments; i++) {
		const struct elf_segment *segment = &look.segments[i];

		if (segment->flags & PF_X)
			vec_push(&t->pieces,
				 (struct link_piece){ segment->file_off, segment->file_size,
						      segment->link_addr });
	}
	image_look_fini(&look);
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
