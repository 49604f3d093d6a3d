/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/debug_sections.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"

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

bool debug_sections_load(struct debug_sections *d, const struct elf_file *elf, bool is_split)
{
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
		bytes = elf_section_stored(elf, &section);
		if (section.flags & SHF_COMPRESSED)
			load_compressed(d, i, bytes, elf->is_64, &budget);
		else if (is_zdebug)
			load_zdebug(d, i, bytes, &budget);
		else
			d->dwarf.section[i] = bytes;
	}
	return reader_left(&d->dwarf.section[DWARF_INFO]) > 0;
}

void debug_sections_fini(struct debug_sections *d)
{
	for (int i = 0; i < N_DWARF_SECTIONS; i++) {
		free(d->unpacked[i]);
		d->unpacked[i] = NULL;
	}
}
