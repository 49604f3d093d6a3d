/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_file.h"

#include <elf.h>
#include <errno.h>

#include "base/error.h"
#include "base/mem.h"

/* Bytes [off, off + size) of the file, or an empty reader. */
static struct reader bytes_at(const struct elf_file *elf, uint64_t off, uint64_t size)
{
	if (off > elf->size || size > elf->size - off)
		return reader_over(elf->base, 0);
	return reader_over(elf->base + off, (size_t)size);
}

static uint64_t read_word(struct reader *r, const struct elf_file *elf)
{
	return elf->is_64 ? reader_u64(r) : reader_u32(r);
}

static bool table_fits(const struct elf_file *elf, uint64_t off, uint64_t n, uint64_t stride)
{
	return off <= elf->size && n <= (elf->size - off) / stride;
}

bool elf_segment(const struct elf_file *elf, uint32_t i, struct elf_segment *out)
{
	struct reader r;

	if (i >= elf->n_segments)
		return false;
	r = bytes_at(elf, elf->segments_off + (uint64_t)i * elf->segment_stride,
		     elf->segment_stride);
	out->type = reader_u32(&r);
	if (elf->is_64)
		out->flags = reader_u32(&r);
	out->file_off = read_word(&r, elf);
	out->link_addr = read_word(&r, elf);
	read_word(&r, elf); /* physical address */
	out->file_size = read_word(&r, elf);
	out->mem_size = read_word(&r, elf);
	if (!elf->is_64)
		out->flags = reader_u32(&r);
	out->align = read_word(&r, elf);
	return !r.bad;
}

bool elf_section(const struct elf_file *elf, uint32_t i, struct elf_section *out)
{
	struct reader r;

	if (i >= elf->n_sections)
		return false;
	r = bytes_at(elf, elf->sections_off + (uint64_t)i * elf->section_stride,
		     elf->section_stride);
	out->index = i;
	out->name = reader_u32(&r);
	out->type = reader_u32(&r);
	out->flags = read_word(&r, elf);
	out->link_addr = read_word(&r, elf);
	out->file_off = read_word(&r, elf);
	out->size = read_word(&r, elf);
	out->link = reader_u32(&r);
	out->info = reader_u32(&r);
	read_word(&r, elf); /* alignment */
	out->entry_size = read_word(&r, elf);
	return !r.bad;
}

/*
 * More than 0xff00 sections or 0xffff segments do not fit the header; their
 * real number is then in section 0 (gABI, "Section header table entry: index 0").
 */
static int find_tables(struct elf_file *elf, struct error *err)
{
	struct elf_section first;

	if (!elf->segments_off)
		elf->n_segments = 0;
	if (elf->n_segments && elf->segment_stride < (elf->is_64 ? 56 : 32))
		return error_set(err, -EBADMSG, "damaged ELF file: program headers of %u bytes",
				 elf->segment_stride);
	if (elf->sections_off && elf->section_stride >= (elf->is_64 ? 64U : 40U)) {
		uint32_t n = elf->n_sections;

		elf->n_sections = 1;
		if (elf_section(elf, 0, &first)) {
			if (n == 0 && first.size <= UINT32_MAX)
				n = (uint32_t)first.size;
			if (elf->names_section == SHN_XINDEX)
				elf->names_section = first.link;
			if (elf->n_segments == PN_XNUM)
				elf->n_segments = first.info;
		}
		elf->n_sections = n;
	} else {
		elf->n_sections = 0;
	}
	if (elf->n_segments &&
	    !table_fits(elf, elf->segments_off, elf->n_segments, elf->segment_stride))
		return error_set(err, -EBADMSG, "cut ELF file: the program headers are not in it");
	if (elf->n_sections &&
	    !table_fits(elf, elf->sections_off, elf->n_sections, elf->section_stride))
		return error_set(err, -EBADMSG, "cut ELF file: the section headers are not in it");
	return 0;
}

static int check_ident(const struct elf_file *elf, struct error *err)
{
	const uint8_t *ident = elf->base;

	if (elf->size < EI_NIDENT || memcmp(ident, ELFMAG, SELFMAG) != 0)
		return error_set(err, -EINVAL, "not an ELF file");
	if (ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64)
		return error_set(err, -EINVAL, "ELF file of an unknown class (%u)",
				 ident[EI_CLASS]);
	if (ident[EI_DATA] == ELFDATA2MSB)
		return error_set(err, -EINVAL, "big-endian ELF files are not supported");
	if (ident[EI_DATA] != ELFDATA2LSB)
		return error_set(err, -EINVAL, "ELF file of an unknown byte order (%u)",
				 ident[EI_DATA]);
	return 0;
}

int elf_file_open_bare(struct elf_file *out, const void *bytes, size_t size, struct error *err)
{
	struct elf_file elf = { .base = bytes, .size = size };
	struct reader r;
	int e = check_ident(&elf, err);

	if (e < 0)
		return e;
	elf.is_64 = elf.base[EI_CLASS] == ELFCLASS64;
	r = reader_over(elf.base + EI_NIDENT, size - EI_NIDENT);
	elf.type = reader_u16(&r);
	elf.machine = reader_u16(&r);
	if (r.bad)
		return error_set(err, -EBADMSG, "cut ELF file: %zu bytes", size);
	*out = elf;
	return 0;
}

int elf_file_open(struct elf_file *out, const void *bytes, size_t size, struct error *err)
{
	struct elf_file elf;
	struct reader r;
	int e = elf_file_open_bare(&elf, bytes, size, err);

	if (e < 0)
		return e;
	r = reader_over(elf.base + EI_NIDENT, size - EI_NIDENT);
	reader_u32(&r); /* type and machine */
	reader_u32(&r); /* version */
	elf.entry = read_word(&r, &elf);
	elf.segments_off = read_word(&r, &elf);
	elf.sections_off = read_word(&r, &elf);
	reader_u32(&r); /* flags */
	reader_u16(&r); /* size of this header */
	elf.segment_stride = reader_u16(&r);
	elf.n_segments = reader_u16(&r);
	elf.section_stride = reader_u16(&r);
	elf.n_sections = reader_u16(&r);
	elf.names_section = reader_u16(&r);
	if (r.bad)
		return error_set(err, -EBADMSG, "cut ELF file: %zu bytes", size);
	e = find_tables(&elf, err);
	if (e == 0)
		*out = elf;
	return e;
}

struct reader elf_section_stored(const struct elf_file *elf, const struct elf_section *s)
{
	if (s->type == SHT_NOBITS || s->type == SHT_NULL)
		return reader_over(elf->base, 0);
	return bytes_at(elf, s->file_off, s->size);
}

struct reader elf_section_bytes(const struct elf_file *elf, const struct elf_section *s)
{
	if (s->flags & SHF_COMPRESSED)
		return reader_over(elf->base, 0);
	return elf_section_stored(elf, s);
}

const char *elf_section_name(const struct elf_file *elf, const struct elf_section *s)
{
	struct elf_section names;
	struct reader r;
	const char *name;

	if (!elf_section(elf, elf->names_section, &names))
		return "";
	r = elf_section_bytes(elf, &names);
	reader_bytes(&r, MIN((size_t)s->name, reader_left(&r)));
	name = reader_cstr(&r);
	return name ? name : "";
}

static bool elf_section_has_name(const struct elf_file *elf, const struct elf_section *s,
				 const char *name)
{
	size_t len = strlen(name) + 1;
	struct elf_section names;
	struct reader r;

	if (!elf_section(elf, elf->names_section, &names))
		return false;
	r = elf_section_bytes(elf, &names);
	return s->name < reader_left(&r) && reader_left(&r) - s->name >= len &&
	       !memcmp(r.at + s->name, name, len);
}

bool elf_section_named(const struct elf_file *elf, const char *name, struct elf_section *out)
{
	struct elf_section s;

	for (uint32_t i = 1; i < elf->n_sections; i++) {
		if (elf_section(elf, i, &s) && elf_section_has_name(elf, &s, name)) {
			*out = s;
			return true;
		}
	}
	return false;
}

static bool load_segment_of(const struct elf_file *elf, uint64_t link_addr, struct elf_segment *out)
{
	for (uint32_t i = 0; i < elf->n_segments; i++)
		if (elf_segment(elf, i, out) && out->type == PT_LOAD &&
		    link_addr >= out->link_addr && link_addr - out->link_addr < out->file_size)
			return true;
	return false;
}

bool elf_file_off(const struct elf_file *elf, uint64_t link_addr, uint64_t *file_off)
{
	struct elf_segment s;

	if (!load_segment_of(elf, link_addr, &s))
		return false;
	*file_off = s.file_off + (link_addr - s.link_addr);
	return true;
}

struct reader elf_bytes_at(const struct elf_file *elf, uint64_t link_addr)
{
	struct elf_segment s;
	uint64_t skip;

	if (!load_segment_of(elf, link_addr, &s) || s.file_off > elf->size)
		return reader_over(elf->base, 0);
	skip = link_addr - s.link_addr;
	return bytes_at(elf, s.file_off + skip,
			MIN(s.file_size - skip, elf->size - MIN(elf->size, s.file_off + skip)));
}

static void skip_padding(struct reader *r, uint64_t size, uint64_t align)
{
	reader_bytes(r, MIN((size_t)(-size & (align - 1)), reader_left(r)));
}

bool elf_build_id_in_notes(struct reader notes, uint64_t align, struct build_id *out)
{
	align = align == 8 ? 8 : 4;
	while (reader_left(&notes)) {
		uint32_t name_size = reader_u32(&notes);
		uint32_t desc_size = reader_u32(&notes);
		uint32_t type = reader_u32(&notes);
		const void *name = reader_bytes(&notes, name_size);
		const void *desc;

		skip_padding(&notes, 12 + (uint64_t)name_size, align);
		desc = reader_bytes(&notes, desc_size);
		skip_padding(&notes, desc_size, align);
		if (notes.bad)
			return false;
		if (type != NT_GNU_BUILD_ID || name_size != 4 || memcmp(name, "GNU", 4) != 0 ||
		    !desc_size || desc_size > BUILD_ID_MAX)
			continue;
		*out = (struct build_id){ .len = (uint8_t)desc_size };
		memcpy(out->bytes, desc, desc_size);
		return true;
	}
	return false;
}

/* Sections that overlap, so that each is read once more, are not a linker's work. */
static bool spend(size_t *budget, struct reader bytes)
{
	if (reader_left(&bytes) > *budget)
		return false;
	*budget -= reader_left(&bytes);
	return true;
}

/* Notes are 4-aligned in practice. Only NT_GNU_PROPERTY_TYPE_0 has separate segments. */
bool elf_build_id(const struct elf_file *elf, struct build_id *out)
{
	size_t budget = elf->size;
	struct elf_segment segment;
	struct elf_section section;
	struct reader notes;

	for (uint32_t i = 0; elf_section(elf, i, &section); i++) {
		if (section.type != SHT_NOTE)
			continue;
		notes = elf_section_bytes(elf, &section);
		if (spend(&budget, notes) && elf_build_id_in_notes(notes, 4, out))
			return true;
	}
	for (uint32_t i = 0; elf_segment(elf, i, &segment); i++) {
		if (segment.type != PT_NOTE)
			continue;
		notes = bytes_at(elf, segment.file_off, segment.file_size);
		if (spend(&budget, notes) && elf_build_id_in_notes(notes, 4, out))
			return true;
	}
	return false;
}

const char *elf_debug_link(const struct elf_file *elf, uint32_t *crc)
{
	struct elf_section s;
	struct reader r;
	const char *name;
	size_t size;

	if (!elf_section_named(elf, ".gnu_debuglink", &s))
		return NULL;
	r = elf_section_bytes(elf, &s);
	name = reader_cstr(&r);
	if (!name || !*name)
		return NULL;
	size = strlen(name) + 1;
	reader_bytes(&r, MIN(-size & 3, reader_left(&r)));
	*crc = reader_u32(&r);
	return r.bad ? NULL : name;
}

const char *elf_common_debug(const struct elf_file *elf, struct build_id *id)
{
	struct elf_section s;
	struct reader r;
	const char *name;

	*id = (struct build_id){ 0 };
	if (!elf_section_named(elf, ".gnu_debugaltlink", &s))
		return NULL;
	r = elf_section_bytes(elf, &s);
	name = reader_cstr(&r);
	if (!name || !*name || !reader_left(&r) || reader_left(&r) > BUILD_ID_MAX)
		return NULL;
	id->len = (uint8_t)reader_left(&r);
	memcpy(id->bytes, r.at, id->len);
	return name;
}

/* Four bytes a step over four tables ("slicing"): debug files have hundreds of megabytes. */
uint32_t elf_debug_crc(const void *bytes, size_t size)
{
	uint32_t tables[4][256];
	const uint8_t *at = bytes;
	uint32_t crc = UINT32_MAX;

	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = (c >> 1) ^ (c & 1 ? 0xedb88320U : 0);
		tables[0][i] = c;
	}
	for (uint32_t i = 0; i < 256; i++)
		for (int t = 1; t < 4; t++)
			tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xff];
	for (; size >= 4; size -= 4, at += 4) {
		uint32_t word;

		memcpy(&word, at, sizeof(word));
		crc ^= word;
		crc = tables[3][crc & 0xff] ^ tables[2][(crc >> 8) & 0xff] ^
		      tables[1][(crc >> 16) & 0xff] ^ tables[0][crc >> 24];
	}
	while (size--)
		crc = (crc >> 8) ^ tables[0][(crc ^ *at++) & 0xff];
	return ~crc;
}
