/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_probes.h"

#include <elf.h>
#include <string.h>

#include "base/mem.h"

#define NOTE_PROBE 3 /* NT_STAPSDT */

void elf_probes_begin(struct elf_probes *it, const struct elf_file *elf)
{
	struct elf_section s;

	*it = (struct elf_probes){ .elf = elf };
	if (elf_section_named(elf, ".stapsdt.base", &s))
		it->base = s.link_addr;
	if (elf_section_named(elf, ".note.stapsdt", &s) && s.type == SHT_NOTE)
		it->left = elf_section_bytes(elf, &s);
}

static uint64_t read_address(const struct elf_probes *it, struct reader *r)
{
	return it->elf->is_64 ? reader_u64(r) : reader_u32(r);
}

/*
 * prelink(8) moves a file's code and leaves these notes: the section .stapsdt.base moves with the
 * code, and the note has the section's old address.
 */
static bool read_probe(const struct elf_probes *it, struct reader desc, struct elf_probe *out)
{
	uint64_t place = read_address(it, &desc), base = read_address(it, &desc);
	uint64_t semaphore = read_address(it, &desc);
	uint64_t moved = it->base && base ? it->base - base : 0;

	*out = (struct elf_probe){ .provider = reader_cstr(&desc) };
	out->name = reader_cstr(&desc);
	if (desc.bad || !*out->provider || !*out->name ||
	    !elf_file_off(it->elf, place + moved, &out->file_off))
		return false;
	return !semaphore || elf_file_off(it->elf, semaphore + moved, &out->semaphore_off);
}

/* One note, whatever its kind; false at the end. */
static bool next_note(struct reader *r, bool *is_probe, struct reader *desc)
{
	uint32_t name_size = reader_u32(r), desc_size = reader_u32(r), type = reader_u32(r);
	const void *name = reader_bytes(r, name_size), *bytes;

	reader_bytes(r, MIN(-(size_t)name_size & 3, reader_left(r)));
	bytes = reader_bytes(r, desc_size);
	reader_bytes(r, MIN(-(size_t)desc_size & 3, reader_left(r)));
	if (r->bad)
		return false;
	*is_probe = type == NOTE_PROBE && name_size == sizeof("stapsdt") &&
		    !memcmp(name, "stapsdt", sizeof("stapsdt"));
	*desc = reader_over(bytes, desc_size);
	return true;
}

bool elf_probes_next(struct elf_probes *it, struct elf_probe *out)
{
	struct reader desc;
	bool is_probe;

	while (reader_left(&it->left) && next_note(&it->left, &is_probe, &desc))
		if (is_probe && read_probe(it, desc, out))
			return true;
	return false;
}
