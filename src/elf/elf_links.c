/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_links.h"

#include <elf.h>
#include <string.h>

/* A text at the reader; NULL if it has no end. */
static const char *text_at(struct reader r)
{
	return memchr(r.at, '\0', reader_left(&r)) ? (const char *)r.at : NULL;
}

static const char *name_at(struct reader names, uint64_t off)
{
	return off < reader_left(&names) && reader_bytes(&names, (size_t)off) ? text_at(names)
									      : NULL;
}

/* The next entry of the dynamic section. False at its end. */
static bool next_entry(const struct elf_file *elf, struct reader *r, uint64_t *tag, uint64_t *value)
{
	*tag = elf->is_64 ? reader_u64(r) : reader_u32(r);
	*value = elf->is_64 ? reader_u64(r) : reader_u32(r);
	return !r->bad && *tag != DT_NULL;
}

static void read_entries(const struct elf_file *elf, struct reader all, struct elf_links *out)
{
	struct reader names = reader_over(elf->base, 0), r = all;
	uint64_t tag, value;
	const char *name;

	while (next_entry(elf, &r, &tag, &value))
		if (tag == DT_STRTAB)
			names = elf_bytes_at(elf, value);
	while (next_entry(elf, &all, &tag, &value)) {
		name = name_at(names, value);
		if (tag == DT_RUNPATH || (tag == DT_RPATH && !out->run_path))
			out->run_path = name;
		else if (tag == DT_SONAME)
			out->name = name;
		else if (tag == DT_NEEDED && name && out->n_needed < ELF_NEEDED_MAX)
			out->needed[out->n_needed++] = name;
	}
}

void elf_links_read(const struct elf_file *elf, struct elf_links *out)
{
	struct elf_segment s;

	*out = (struct elf_links){ 0 };
	for (uint32_t i = 0; elf_segment(elf, i, &s); i++) {
		struct reader r = elf_bytes_at(elf, s.link_addr);

		if (s.type == PT_INTERP)
			out->interpreter = text_at(r);
		else if (s.type == PT_DYNAMIC)
			read_entries(elf, r, out);
	}
}
