/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/debug_sections.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"
#include "elf/elf_symbols.h"

#define MAX_UNPACKED (4ULL << 30)
/* What deflate and zstd can do is about a thousandfold; more is a bomb. */
#define MAX_RATIO 1200

static bool inflate_all(struct reader in, uint8_t *out, size_t size)
{
	uLongf got = size;

	return uncompress(out, &got, in.at, reader_left(&in)) == Z_OK && got == size;
}

static bool unzstd_all(struct reader in, uint8_t *out, size_t size)
{
	return ZSTD_decompress(out, size, in.at, reader_left(&in)) == size;
}

/* Replaces the packed bytes by what they unpack to, or by nothing. */
static void unpack(struct debug_sections *d, enum dwarf_section i, struct reader packed,
		   uint64_t size, bool (*unpacker)(struct reader, uint8_t *, size_t),
		   uint64_t *budget)
{
	uint8_t *bytes;

	d->dwarf.section[i] = reader_over(packed.at, 0);
	if (!size || size > *budget || size / MAX_RATIO > reader_left(&packed))
		return;
	bytes = malloc(size);
	if (!bytes || !unpacker(packed, bytes, size)) {
		free(bytes);
		return;
	}
	*budget -= size;
	d->unpacked[i] = bytes;
	d->dwarf.section[i] = reader_over(bytes, size);
}

/* SHF_COMPRESSED: Elf64_Chdr or Elf32_Chdr, then the stream (gABI, "Section compression"). */
static void load_compressed(struct debug_sections *d, enum dwarf_section i, struct reader r,
			    bool is_64, uint64_t *budget)
{
	uint32_t type = reader_u32(&r);
	uint64_t size;

	if (is_64)
		reader_u32(&r);
	size = is_64 ? reader_u64(&r) : reader_u32(&r);
	reader_bytes(&r, is_64 ? 8 : 4); /* alignment */
	if (!r.bad && (type == ELFCOMPRESS_ZLIB || type == 2 /* ELFCOMPRESS_ZSTD */))
		unpack(d, i, r, size, type == ELFCOMPRESS_ZLIB ? inflate_all : unzstd_all, budget);
}

/* .zdebug_*: "ZLIB", the size as eight big-endian bytes, then the stream. */
static void load_zdebug(struct debug_sections *d, enum dwarf_section i, struct reader r,
			uint64_t *budget)
{
	const char *magic = reader_bytes(&r, 4);
	uint64_t size = __builtin_bswap64(reader_u64(&r));

	if (!r.bad && !memcmp(magic, "ZLIB", 4))
		unpack(d, i, r, size, inflate_all, budget);
}

static bool is_compressed_name(const char *name, const char **rest)
{
	bool is = !strncmp(name, ".zdebug_", 8);

	*rest = name + (is ? 8 : 7);
	return is;
}

/* Which of ours the name means; N_DWARF_SECTIONS: none. */
static enum dwarf_section section_of(const char *rest, bool is_split)
{
	for (int i = 0; i < N_DWARF_SECTIONS; i++) {
		size_t len = strlen(dwarf_section_names[i]);
		const char *suffix;

		if (strncmp(rest, dwarf_section_names[i], len) != 0)
			continue;
		suffix = is_split && i != DWARF_CU_INDEX ? ".dwo" : "";
		if (!strcmp(rest + len, suffix))
			return i;
	}
	return N_DWARF_SECTIONS;
}

/* ---- relocatable files ---- */

/* How many bytes a relocation writes; 0 for one that is not of debug information. */
static size_t bytes_of_relocation(uint16_t machine, uint32_t type)
{
	switch (machine) {
	case EM_X86_64:
		return type == R_X86_64_64                           ? 8
		       : type == R_X86_64_32 || type == R_X86_64_32S ? 4
								     : 0;
	case EM_AARCH64:
		return type == R_AARCH64_ABS64 ? 8 : type == R_AARCH64_ABS32 ? 4 : 0;
	}
	return 0;
}

/* The section's bytes in memory of our own. */
static uint8_t *own_bytes(struct debug_sections *d, enum dwarf_section i)
{
	struct reader *r = &d->dwarf.section[i];
	size_t size = reader_left(r);

	if (!d->unpacked[i] && size) {
		d->unpacked[i] = xmalloc(size);
		memcpy(d->unpacked[i], r->at, size);
		*r = reader_over(d->unpacked[i], size);
	}
	return d->unpacked[i];
}

/* Elf64_Rela; the section's symbols have their addresses. */
static void relocate(struct debug_sections *d, enum dwarf_section i, const struct elf_file *elf,
		     const struct elf_section *relocations)
{
	struct reader r = elf_section_bytes(elf, relocations);
	size_t size = reader_left(&d->dwarf.section[i]);
	uint8_t *bytes = own_bytes(d, i);
	struct elf_symbols symbols;
	struct elf_symbol symbol;

	if (!bytes || !elf_symbols_begin(&symbols, elf, SHT_SYMTAB))
		return;
	while (reader_left(&r) >= sizeof(Elf64_Rela)) {
		uint64_t offset = reader_u64(&r), info = reader_u64(&r), value = reader_u64(&r);
		size_t n = bytes_of_relocation(elf->machine, (uint32_t)info);

		if (!n || offset > size || size - offset < n ||
		    !elf_symbols_get(&symbols, (uint32_t)(info >> 32), &symbol))
			continue;
		value += symbol.link_addr;
		memcpy(bytes + offset, &value, n);
	}
}

static void relocate_all(struct debug_sections *d, const struct elf_file *elf,
			 const uint32_t from[N_DWARF_SECTIONS])
{
	struct elf_section section;

	for (uint32_t n = 1; elf_section(elf, n, &section); n++)
		for (int i = 0; section.type == SHT_RELA && i < N_DWARF_SECTIONS; i++)
			if (from[i] && from[i] == section.info)
				relocate(d, i, elf, &section);
}

bool debug_sections_load(struct debug_sections *d, const struct elf_file *elf, bool is_split)
{
	uint32_t from[N_DWARF_SECTIONS] = { 0 };
	uint64_t budget = MAX_UNPACKED;
	struct elf_section section;

	memset(d, 0, sizeof(*d));
	for (int i = 0; i < N_DWARF_SECTIONS; i++)
		d->dwarf.section[i] = reader_over(elf->base, 0);
	d->dwarf.is_split = is_split;
	for (uint32_t n = 1; elf_section(elf, n, &section); n++) {
		const char *name = elf_section_name(elf, &section), *rest;
		bool is_zdebug;
		enum dwarf_section i;
		struct reader bytes;

		if (strncmp(name, ".debug_", 7) != 0 && strncmp(name, ".zdebug_", 8) != 0)
			continue;
		is_zdebug = is_compressed_name(name, &rest);
		i = section_of(rest, is_split);
		if (i == N_DWARF_SECTIONS || reader_left(&d->dwarf.section[i]))
			continue;
		from[i] = n;
		bytes = elf_section_stored(elf, &section);
		if (section.flags & SHF_COMPRESSED)
			load_compressed(d, i, bytes, elf->is_64, &budget);
		else if (is_zdebug)
			load_zdebug(d, i, bytes, &budget);
		else
			d->dwarf.section[i] = bytes;
	}
	if (elf->type == ET_REL && elf->is_64)
		relocate_all(d, elf, from);
	return reader_left(&d->dwarf.section[DWARF_INFO]) > 0;
}

void debug_sections_fini(struct debug_sections *d)
{
	for (int i = 0; i < N_DWARF_SECTIONS; i++) {
		free(d->unpacked[i]);
		d->unpacked[i] = NULL;
	}
}
