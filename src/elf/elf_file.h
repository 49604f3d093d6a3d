/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF image as bytes: headers, segments, sections, build id, debug link.
 *
 * A struct elf_file is a view of untrusted bytes; it owns nothing and opens nothing. Every accessor
 * checks its bounds: a table that points outside of the file counts as missing. 32- and 64-bit,
 * little-endian.
 *
 * There are two kinds of addresses. A `link_addr` is an address in the file's tables (st_value,
 * p_vaddr, sh_addr); a `file_off` is a position in the file. PT_LOAD segments translate between
 * them.
 *
 * Format: System V gABI chapters 4 and 5; elf(5).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/build_id.h"
#include "base/reader.h"

struct error;

struct elf_file {
	const uint8_t *base;
	size_t size;
	bool is_64;
	uint16_t type, machine; /* ET_*, EM_* */
	uint64_t entry;         /* link address */
	uint64_t segments_off, sections_off;
	uint32_t n_segments, n_sections, segment_stride, section_stride;
	uint32_t names_section; /* section of the section names */
};

struct elf_segment {
	uint32_t type, flags; /* PT_*, PF_* */
	uint64_t file_off, link_addr, file_size, mem_size, align;
};

struct elf_section {
	uint32_t index;
	uint32_t name; /* offset in the section names */
	uint32_t type; /* SHT_* */
	uint64_t flags, link_addr, file_off, size, entry_size;
	uint32_t link, info;
};

/*
 * -EINVAL: not an ELF file, or of a byte order or class that is not read here;
 * -EBADMSG: damaged or cut. The message says which.
 */
int elf_file_open(struct elf_file *elf, const void *bytes, size_t size, struct error *err);

/*
 * The same without the tables of headers, which are not looked at: the view has bytes, class and
 * machine alone, from places that no file can move.
 */
int elf_file_open_bare(struct elf_file *elf, const void *bytes, size_t size, struct error *err);

/* The i-th one; false beyond the end. */
bool elf_segment(const struct elf_file *elf, uint32_t i, struct elf_segment *out);
bool elf_section(const struct elf_file *elf, uint32_t i, struct elf_section *out);

bool elf_section_named(const struct elf_file *elf, const char *name, struct elf_section *out);

/* The bytes of a section; empty when it has none here (NOBITS, compressed, out of bounds). */
struct reader elf_section_bytes(const struct elf_file *elf, const struct elf_section *s);

/* The same as it is stored, which may be compressed (SHF_COMPRESSED). */
struct reader elf_section_stored(const struct elf_file *elf, const struct elf_section *s);

/* "" if it has none. */
const char *elf_section_name(const struct elf_file *elf, const struct elf_section *s);

/* The file's bytes from a link address to the end of its segment; empty when not in the file. */
struct reader elf_bytes_at(const struct elf_file *elf, uint64_t link_addr);

/* False for an address that no PT_LOAD takes from the file. */
bool elf_file_off(const struct elf_file *elf, uint64_t link_addr, uint64_t *file_off);

/* The NT_GNU_BUILD_ID note, from PT_NOTE or a note section; false if there is none. */
bool elf_build_id(const struct elf_file *elf, struct build_id *out);

/* The same from bare notes, as in /sys/kernel/notes. */
bool elf_build_id_in_notes(struct reader notes, uint64_t align, struct build_id *out);

/* The name and CRC of the separate debug file (.gnu_debuglink); NULL if there is none. */
const char *elf_debug_link(const struct elf_file *elf, uint32_t *crc);

/*
 * The name of the file that dwz moved common debug information to, relative to this file, and its
 * build id; NULL: there is none. The name points into the file.
 */
const char *elf_common_debug(const struct elf_file *elf, struct build_id *id);

/* The CRC that .gnu_debuglink carries: CRC-32 (polynomial 0xedb88320) of a whole file. */
uint32_t elf_debug_crc(const void *bytes, size_t size);
