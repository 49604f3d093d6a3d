/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/dwarf_form.h"

const char *const dwarf_section_names[N_DWARF_SECTIONS] = {
#define X(id, name) name,
	DWARF_SECTIONS(X)
#undef X
};

enum {
	DW_UT_compile = 1,
	DW_UT_type,
	DW_UT_partial,
	DW_UT_skeleton,
	DW_UT_split,
	DW_UT_split_type
};

static uint64_t read_length(struct reader *r, bool *is_64)
{
	uint64_t length = reader_u32(r);

	*is_64 = length == UINT32_MAX;
	if (*is_64)
		return reader_u64(r);
	return length < 0xfffffff0 ? length : UINT64_MAX;
}

static void read_unit_header(struct reader *r, struct dwarf_unit *u)
{
	u->version = reader_u16(r);
	u->type = DW_UT_compile;
	if (u->version == 5) {
		u->type = reader_u8(r);
		u->addr_size = reader_u8(r);
		u->abbrev_off = dwarf_read_offset(r, u->is_64);
		if (u->type == DW_UT_skeleton || u->type == DW_UT_split)
			u->dwo_id = reader_u64(r);
	} else {
		u->abbrev_off = dwarf_read_offset(r, u->is_64);
		u->addr_size = reader_u8(r);
	}
	if (u->version < 2 || u->version > 5 || (u->addr_size != 8 && u->addr_size != 4) ||
	    u->type == DW_UT_type || u->type >= DW_UT_split_type || r->bad)
		u->version = 0;
}

bool dwarf_unit_next(const struct dwarf_file *file, uint64_t *at, struct dwarf_unit *out)
{
	const uint8_t *start = file->section[DWARF_INFO].at;
	struct reader r = dwarf_at(&file->section[DWARF_INFO], *at);
	struct dwarf_unit u = { .file = file, .offset = *at };
	uint64_t length = read_length(&r, &u.is_64);

	if (r.bad || length > reader_left(&r))
		return false;
	r.end = r.at + length;
	u.end = (uint64_t)(r.end - start);
	read_unit_header(&r, &u);
	u.dies = (uint64_t)(r.at - start);
	*at = u.end;
	*out = u;
	return true;
}

struct reader dwarf_unit_dies(const struct dwarf_unit *u, uint64_t offset)
{
	const struct reader *info = &u->file->section[DWARF_INFO];

	if (offset < u->dies || offset > u->end)
		return reader_over(info->at, 0);
	return reader_over(info->at + offset, u->end - offset);
}

uint64_t dwarf_read_form(struct reader *r, const struct dwarf_unit *u, uint64_t form)
{
	uint64_t low;

	switch (form) {
	case DW_FORM_flag_present:
		return 1;
	case DW_FORM_data1:
	case DW_FORM_flag:
	case DW_FORM_ref1:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return reader_u8(r);
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return reader_u16(r);
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		low = reader_u16(r);
		return low | (uint64_t)reader_u8(r) << 16;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_ref_sup4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
		return reader_u32(r);
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return reader_u64(r);
	case DW_FORM_data16:
		reader_bytes(r, 16);
		return 0;
	case DW_FORM_addr:
		return dwarf_read_addr(r, u->addr_size);
	case DW_FORM_ref_addr:
		return u->version <= 2 ? dwarf_read_addr(r, u->addr_size)
				       : dwarf_read_offset(r, u->is_64);
	case DW_FORM_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_strp_sup:
	case DW_FORM_line_strp:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return dwarf_read_offset(r, u->is_64);
	case DW_FORM_sdata:
		return (uint64_t)reader_sleb128(r);
	case DW_FORM_string:
		return (uint64_t)(uintptr_t)reader_cstr(r);
	default:
		return reader_uleb(r);
	}
}

/* The NUL-terminated string at an offset of a section, or NULL. */
static const char *dwarf_section_string(const struct dwarf_file *file, enum dwarf_section section,
					uint64_t offset)
{
	const struct reader *s = &file->section[section];
	struct reader r;

	/* As sections of strings do, it ends with a NUL: so does every string in it. */
	if (offset < reader_left(s) && !s->end[-1])
		return (const char *)s->at + offset;
	r = dwarf_at(s, offset);
	return reader_cstr(&r);
}

static const char *indexed_string(const struct dwarf_unit *u, uint64_t index)
{
	uint64_t size = u->is_64 ? 8 : 4;
	struct reader r;

	if (index > UINT32_MAX)
		return NULL;
	r = dwarf_at(&u->file->section[DWARF_STR_OFFSETS], u->str_offsets_base);
	r = dwarf_at(&r, index * size);
	index = dwarf_read_offset(&r, u->is_64);
	return r.bad ? NULL : dwarf_section_string(u->file, DWARF_STR, index);
}

const char *dwarf_form_string(const struct dwarf_unit *u, const struct dwarf_file *alt,
			      uint64_t form, uint64_t raw)
{
	switch (form) {
	case DW_FORM_string:
		return (const char *)(uintptr_t)raw;
	case DW_FORM_strp:
		return dwarf_section_string(u->file, DWARF_STR, raw);
	case DW_FORM_line_strp:
		return dwarf_section_string(u->file, DWARF_LINE_STR, raw);
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		return alt ? dwarf_section_string(alt, DWARF_STR, raw) : NULL;
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		return indexed_string(u, raw);
	default:
		return NULL;
	}
}

const char *dwarf_string(const struct dwarf_unit *u, const struct dwarf_file *alt,
			 const struct dwarf_die *die, enum dwarf_attribute a)
{
	return dwarf_has(die, a) ? dwarf_form_string(u, alt, die->form[a], die->raw[a]) : NULL;
}

uint64_t dwarf_number(const struct dwarf_die *die, enum dwarf_attribute a)
{
	return dwarf_has(die, a) ? die->raw[a] : 0;
}

bool dwarf_indexed_addr(const struct dwarf_unit *u, uint64_t index, uint64_t *addr)
{
	struct reader r = dwarf_at(&u->addr, u->addr_base);

	if (index > UINT32_MAX)
		return false;
	r = dwarf_at(&r, index * u->addr_size);
	*addr = dwarf_read_addr(&r, u->addr_size);
	return !r.bad;
}

bool dwarf_form_addr(const struct dwarf_unit *u, uint64_t form, uint64_t raw, uint64_t *addr)
{
	switch (form) {
	case DW_FORM_addr:
		*addr = raw;
		return true;
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return dwarf_indexed_addr(u, raw, addr);
	default:
		return false;
	}
}

bool dwarf_reference(const struct dwarf_unit *u, const struct dwarf_die *die,
		     enum dwarf_attribute a, uint64_t *offset, bool *is_alt)
{
	if (!dwarf_has(die, a))
		return false;
	*is_alt = false;
	switch (die->form[a]) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		if (die->raw[a] >= u->end - u->offset)
			return false;
		*offset = u->offset + die->raw[a];
		return true;
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		*is_alt = true;
		*offset = die->raw[a];
		return true;
	case DW_FORM_ref_addr:
		*offset = die->raw[a];
		return true;
	default:
		return false;
	}
}

/* Languages whose classes contain no code: the functions are outside of the classes. */
static bool is_c_family(uint64_t language)
{
	switch (language) {
	case 0x01: /* C89 */
	case 0x02: /* C */
	case 0x04: /* C_plus_plus */
	case 0x0c: /* C99 */
	case 0x1a: /* C_plus_plus_11 */
	case 0x1d: /* C11 */
	case 0x21: /* C_plus_plus_14 */
		return true;
	}
	return false;
}

static void take_skeleton(struct dwarf_unit *u, const struct dwarf_unit *skeleton)
{
	u->addr = skeleton->addr;
	u->addr_base = skeleton->addr_base;
	u->ranges = skeleton->ranges;
	u->ranges_base = skeleton->ranges_base;
	u->low_pc = skeleton->low_pc;
	u->comp_dir = skeleton->comp_dir;
	u->has_lines = skeleton->has_lines;
	u->stmt_list = skeleton->stmt_list;
	/* The headers of its sections of offsets; an attribute would name the place behind. */
	if (u->version >= 5) {
		u->str_offsets_base = u->is_64 ? 16 : 8;
		u->rnglists_base = u->is_64 ? 20 : 12;
	}
}

static void take_bases(struct dwarf_unit *u, const struct dwarf_die *die)
{
	static const struct {
		enum dwarf_attribute attribute;
		size_t field;
	} bases[] = {
		{ DWARF_AT_STR_OFFSETS_BASE, offsetof(struct dwarf_unit, str_offsets_base) },
		{ DWARF_AT_ADDR_BASE, offsetof(struct dwarf_unit, addr_base) },
		{ DWARF_AT_RNGLISTS_BASE, offsetof(struct dwarf_unit, rnglists_base) },
		{ DWARF_AT_GNU_RANGES_BASE, offsetof(struct dwarf_unit, ranges_base) },
		{ DWARF_AT_GNU_DWO_ID, offsetof(struct dwarf_unit, dwo_id) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bases); i++)
		if (dwarf_has(die, bases[i].attribute))
			*(uint64_t *)((char *)u + bases[i].field) = die->raw[bases[i].attribute];
}

bool dwarf_unit_open(struct dwarf_unit *u, const struct dwarf_abbrevs *abbrevs,
		     const struct dwarf_unit *skeleton)
{
	struct reader r = dwarf_unit_dies(u, u->dies);
	struct dwarf_die die;
	const char *comp_dir;

	u->abbrevs = abbrevs;
	u->addr = u->file->section[DWARF_ADDR];
	u->ranges = u->file->section[DWARF_RANGES];
	if (!dwarf_die_read(&r, u, &die) || !die.tag)
		return false;
	u->tag = die.tag;
	if (skeleton)
		take_skeleton(u, skeleton);
	take_bases(u, &die);
	u->is_c_family = is_c_family(dwarf_number(&die, DWARF_AT_LANGUAGE));
	if (dwarf_has(&die, DWARF_AT_STMT_LIST) && !skeleton) {
		u->has_lines = true;
		u->stmt_list = die.raw[DWARF_AT_STMT_LIST];
	}
	if (dwarf_has(&die, DWARF_AT_LOW_PC))
		dwarf_form_addr(u, die.form[DWARF_AT_LOW_PC], die.raw[DWARF_AT_LOW_PC], &u->low_pc);
	u->name = dwarf_string(u, NULL, &die, DWARF_AT_NAME);
	u->dwo_name = dwarf_string(u, NULL, &die, DWARF_AT_DWO_NAME);
	comp_dir = dwarf_string(u, NULL, &die, DWARF_AT_COMP_DIR);
	if (comp_dir)
		u->comp_dir = comp_dir;
	return true;
}

/* ---- packages ---- */

/* Columns of the index: by number, what they are in version 2 and 5. */
static int section_of_column(uint32_t version, uint32_t column)
{
	switch (column) {
	case 1:
		return DWARF_INFO;
	case 3:
		return DWARF_ABBREV;
	case 4:
		return DWARF_LINE;
	case 6:
		return DWARF_STR_OFFSETS;
	case 8:
		return version == 5 ? DWARF_RNGLISTS : -1;
	}
	return -1;
}

struct package_index {
	uint32_t version, n_columns, n_units, n_slots;
	struct reader ids, rows, columns, offsets, sizes;
};

static struct reader dwarf_unit_take_attribute(struct reader *r, uint64_t n, uint64_t size)
{
	struct reader part = *r;

	if (n > reader_left(r) / size) {
		r->bad = true;
		return reader_over(r->at, 0);
	}
	part.end = r->at += n * size;
	return part;
}

static bool read_package_index(struct reader r, struct package_index *x)
{
	x->version = reader_u32(&r) & 0xffff; /* GNU's has 32 bits, 5 has 16 and padding */
	x->n_columns = reader_u32(&r);
	x->n_units = reader_u32(&r);
	x->n_slots = reader_u32(&r);
	x->ids = dwarf_unit_take_attribute(&r, x->n_slots, 8);
	x->rows = dwarf_unit_take_attribute(&r, x->n_slots, 4);
	x->columns = dwarf_unit_take_attribute(&r, x->n_columns, 4);
	x->offsets = dwarf_unit_take_attribute(&r, (uint64_t)x->n_columns * x->n_units, 4);
	x->sizes = dwarf_unit_take_attribute(&r, (uint64_t)x->n_columns * x->n_units, 4);
	return !r.bad && (x->version == 2 || x->version == 5);
}

static uint32_t word_at(const struct reader *r, uint64_t i)
{
	struct reader at = dwarf_at(r, i * 4);

	return reader_u32(&at);
}

/* The row of an id, from 1; 0 if there is none. */
static uint32_t package_row(const struct package_index *x, uint64_t dwo_id)
{
	uint64_t mask = (uint64_t)x->n_slots - 1, step = (dwo_id >> 32 & mask) | 1;
	uint64_t slot = dwo_id & mask;

	if (!x->n_slots || (x->n_slots & mask))
		return 0;
	for (uint32_t tries = 0; tries < x->n_slots; tries++, slot = (slot + step) & mask) {
		struct reader id = dwarf_at(&x->ids, slot * 8);
		uint32_t row = word_at(&x->rows, slot);

		if (!row)
			return 0;
		if (reader_u64(&id) == dwo_id)
			return row <= x->n_units ? row : 0;
	}
	return 0;
}

bool dwarf_package_find(const struct dwarf_file *package, uint64_t dwo_id, struct dwarf_file *out)
{
	struct package_index x = { 0 };
	uint32_t row;

	if (!read_package_index(package->section[DWARF_CU_INDEX], &x))
		return false;
	row = package_row(&x, dwo_id);
	if (!row)
		return false;
	*out = *package;
	for (uint32_t c = 0; c < x.n_columns; c++) {
		int section = section_of_column(x.version, word_at(&x.columns, c));
		uint64_t cell = (uint64_t)(row - 1) * x.n_columns + c;
		struct reader *r;

		if (section < 0)
			continue;
		r = &out->section[section];
		*r = dwarf_at(r, word_at(&x.offsets, cell));
		r->end = r->at + MIN(reader_left(r), (size_t)word_at(&x.sizes, cell));
	}
	return true;
}
