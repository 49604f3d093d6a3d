/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside elf/: the forms of attribute values (DWARF 5, section 7.5.6), and reading one. */
#pragma once

#include "elf/dwarf.h"

enum {
	DW_FORM_addr = 0x01,
	DW_FORM_block2 = 0x03,
	DW_FORM_block4 = 0x04,
	DW_FORM_data2 = 0x05,
	DW_FORM_data4 = 0x06,
	DW_FORM_data8 = 0x07,
	DW_FORM_string = 0x08,
	DW_FORM_block = 0x09,
	DW_FORM_block1 = 0x0a,
	DW_FORM_data1 = 0x0b,
	DW_FORM_flag = 0x0c,
	DW_FORM_sdata = 0x0d,
	DW_FORM_strp = 0x0e,
	DW_FORM_udata = 0x0f,
	DW_FORM_ref_addr = 0x10,
	DW_FORM_ref1 = 0x11,
	DW_FORM_ref2 = 0x12,
	DW_FORM_ref4 = 0x13,
	DW_FORM_ref8 = 0x14,
	DW_FORM_ref_udata = 0x15,
	DW_FORM_indirect = 0x16,
	DW_FORM_sec_offset = 0x17,
	DW_FORM_exprloc = 0x18,
	DW_FORM_flag_present = 0x19,
	DW_FORM_strx = 0x1a,
	DW_FORM_addrx = 0x1b,
	DW_FORM_ref_sup4 = 0x1c,
	DW_FORM_strp_sup = 0x1d,
	DW_FORM_data16 = 0x1e,
	DW_FORM_line_strp = 0x1f,
	DW_FORM_ref_sig8 = 0x20,
	DW_FORM_implicit_const = 0x21,
	DW_FORM_loclistx = 0x22,
	DW_FORM_rnglistx = 0x23,
	DW_FORM_ref_sup8 = 0x24,
	DW_FORM_strx1 = 0x25,
	DW_FORM_strx2 = 0x26,
	DW_FORM_strx3 = 0x27,
	DW_FORM_strx4 = 0x28,
	DW_FORM_addrx1 = 0x29,
	DW_FORM_addrx2 = 0x2a,
	DW_FORM_addrx3 = 0x2b,
	DW_FORM_addrx4 = 0x2c,
	DW_FORM_GNU_addr_index = 0x1f01,
	DW_FORM_GNU_str_index = 0x1f02,
	DW_FORM_GNU_ref_alt = 0x1f20,
	DW_FORM_GNU_strp_alt = 0x1f21,
};

/* From an offset of a section to its end; empty beyond it. */
static inline struct reader dwarf_at(const struct reader *section, uint64_t offset)
{
	size_t size = reader_left(section);

	return reader_over(section->at + MIN(offset, size), size - (size_t)MIN(offset, size));
}

static inline uint64_t dwarf_read_offset(struct reader *r, bool is_64)
{
	return is_64 ? reader_u64(r) : reader_u32(r);
}

static inline uint64_t dwarf_read_addr(struct reader *r, uint8_t size)
{
	return size == 8 ? reader_u64(r) : reader_u32(r);
}

/*
 * The value of a form that is no block: a number, offset or index as it stands there. Of a
 * string in place the address; what has no bytes is 1, what is longer than 64 bits is 0.
 */
uint64_t dwarf_read_form(struct reader *r, const struct dwarf_unit *u, uint64_t form);

/* The string that such a value means, NULL if it is none. */
const char *dwarf_form_string(const struct dwarf_unit *u, const struct dwarf_file *alt,
			      uint64_t form, uint64_t raw);

/* The address that such a value means. */
bool dwarf_form_addr(const struct dwarf_unit *u, uint64_t form, uint64_t raw, uint64_t *addr);

/* Entry `index` of the unit's addresses. */
bool dwarf_indexed_addr(const struct dwarf_unit *u, uint64_t index, uint64_t *addr);
