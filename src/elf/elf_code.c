// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/elf_code.h"

#include <elf.h>
#include <stdlib.h>

#include "base/mem.h"

/* Real images have one or two. */
#define MAX_CODE_SEGMENTS 64

struct code_loads {
	struct elf_segment list[MAX_CODE_SEGMENTS];
	uint32_t n;
};

static void find_loads(const struct elf_file *image, struct code_loads *out)
{
	struct elf_segment s;

	out->n = 0;
	for (uint32_t i = 0; elf_segment(image, i, &s) && out->n < MAX_CODE_SEGMENTS; i++) {
		if (s.type != PT_LOAD || !(s.flags & PF_X) || s.file_off >= image->size)
			continue;
		s.file_size = MIN(s.file_size, image->size - s.file_off);
		if (s.file_size)
			out->list[out->n++] = s;
	}
}

/* Adds the part of an address range that a segment takes from the file. */
static void add_code(struct elf_code *code, const struct code_loads *loads, uint64_t link_addr,
		     uint64_t size)
{
	for (uint32_t i = 0; i < loads->n; i++) {
		const struct elf_segment *s = &loads->list[i];
		uint64_t skip = link_addr - s->link_addr;

		if (!size || link_addr < s->link_addr || skip >= s->file_size)
			continue;
		vec_push(code, (struct elf_code_range){ link_addr, s->file_off + skip,
							MIN(size, s->file_size - skip) });
		return;
	}
}

static int compare_by_file_off(const void *a, const void *b)
{
	const struct elf_code_range *x = a, *y = b;

	return (x->file_off > y->file_off) - (x->file_off < y->file_off);
}

/* Cuts from each range the part that ranges before it have. */
static void drop_overlaps(struct elf_code *code)
{
	uint64_t covered = 0;
	size_t kept = 0;

	vec_foreach (code, r) {
		uint64_t skip = covered > r->file_off ? covered - r->file_off : 0;

		if (skip >= r->size)
			continue;
		covered = r->file_off + r->size;
		code->data[kept++] = (struct elf_code_range){ r->link_addr + skip,
							      r->file_off + skip, r->size - skip };
	}
	code->n = kept;
}

void elf_code_find(const struct elf_file *image, struct elf_code *out)
{
	const uint64_t wanted = SHF_ALLOC | SHF_EXECINSTR;
	struct code_loads loads;
	struct elf_section section;

	find_loads(image, &loads);
	for (uint32_t i = 0; elf_section(image, i, &section); i++)
		if ((section.flags & wanted) == wanted)
			add_code(out, &loads, section.link_addr, section.size);
	for (uint32_t i = 0; !out->n && i < loads.n; i++)
		add_code(out, &loads, loads.list[i].link_addr, loads.list[i].file_size);
	if (out->n)
		qsort(out->data, out->n, sizeof(*out->data), compare_by_file_off);
	drop_overlaps(out);
}

void elf_code_fini(struct elf_code *code)
{
	vec_fini(code);
}
