/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_packed.h"

#include <elf.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/unpack_memory.h"

#define MAX_RATIO  24
#define FREE_BYTES ((uint64_t)16 << 20)
#define MAX_BYTES  ((uint64_t)4 << 30)

#define COMPRESS_ZSTD 2 /* ELFCOMPRESS_ZSTD, which older elf.h lack */

typedef bool unpack_fn(struct reader in, uint8_t *out, size_t size);

static bool inflate_all(struct reader in, uint8_t *out, size_t size)
{
	uLongf got = size;

	int r = uncompress(out, &got, in.at, reader_left(&in));

	if (r == Z_MEM_ERROR)
		reserve_count_failure();
	return r == Z_OK && got == size;
}

static bool unzstd_all(struct reader in, uint8_t *out, size_t size)
{
	size_t got = ZSTD_decompress(out, size, in.at, reader_left(&in));

	return !zstd_lacks_memory(got) && got == size;
}

/* The stream behind an Elf64_Chdr or Elf32_Chdr. */
static unpack_fn *read_header(struct reader *r, bool is_64, uint64_t *size)
{
	uint32_t type = reader_u32(r);

	if (is_64)
		reader_u32(r);
	*size = is_64 ? reader_u64(r) : reader_u32(r);
	reader_bytes(r, is_64 ? 8 : 4); /* alignment */
	return type == ELFCOMPRESS_ZLIB ? inflate_all : type == COMPRESS_ZSTD ? unzstd_all : NULL;
}

static unpack_fn *read_old_header(struct reader *r, uint64_t *size)
{
	const char *magic = reader_bytes(r, 4);

	*size = __builtin_bswap64(reader_u64(r));
	return !r->bad && !memcmp(magic, "ZLIB", 4) ? inflate_all : NULL;
}

static bool has_old_name(const struct elf_file *elf, const struct elf_section *section)
{
	return !strncmp(elf_section_name(elf, section), ".zdebug_", 8);
}

bool elf_section_is_packed(const struct elf_file *elf, const struct elf_section *section)
{
	return section->flags & SHF_COMPRESSED || has_old_name(elf, section);
}

static unpack_fn *read_any_header(const struct elf_file *elf, const struct elf_section *section,
				  struct reader *r, uint64_t *size)
{
	unpack_fn *unpack = section->flags & SHF_COMPRESSED ? read_header(r, elf->is_64, size)
							    : read_old_header(r, size);

	return r->bad ? NULL : unpack;
}

uint64_t elf_section_unpacked_size(const struct elf_file *elf, const struct elf_section *section)
{
	struct reader r = elf_section_stored(elf, section);
	uint64_t size;

	return read_any_header(elf, section, &r, &size) ? size : 0;
}

uint64_t elf_unpack_budget(const struct elf_file *elf)
{
	return MIN(FREE_BYTES + MIN(elf->size, MAX_BYTES) * MAX_RATIO, MAX_BYTES);
}

uint8_t *elf_section_unpack(const struct elf_file *elf, const struct elf_section *section,
			    uint64_t *budget, size_t *size)
{
	struct reader r = elf_section_stored(elf, section);
	uint64_t wanted;
	unpack_fn *unpack = read_any_header(elf, section, &r, &wanted);
	uint8_t *bytes;

	if (!unpack || !wanted || wanted > *budget)
		return NULL;
	bytes = mem_try((size_t)wanted, 1);
	if (!bytes || !unpack(r, bytes, (size_t)wanted)) {
		free(bytes);
		return NULL;
	}
	*budget -= wanted;
	*size = (size_t)wanted;
	return bytes;
}
