/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/dwarf_line.h"

#include <string.h>

#include "elf/dwarf_form.h"

/* Standard and extended opcodes: DWARF 5, section 7.22 */
enum {
	LNS_extended,
	LNS_copy,
	LNS_advance_pc,
	LNS_advance_line,
	LNS_set_file,
	LNS_set_column,
	LNS_negate_stmt,
	LNS_set_basic_block,
	LNS_const_add_pc,
	LNS_fixed_advance_pc
};
enum { LNE_end_sequence = 1, LNE_set_address, LNE_define_file, LNE_set_discriminator };
enum { LNCT_path = 1, LNCT_directory_index };

/* The pairs that describe an entry of a version 5 table. */
struct entry_format {
	uint64_t content[16], form[16];
	uint32_t n;
};

static bool read_entry_format(struct reader *r, struct entry_format *f)
{
	f->n = reader_u8(r);
	if (f->n > ARRAY_SIZE(f->form))
		return false;
	for (uint32_t i = 0; i < f->n; i++) {
		f->content[i] = reader_uleb(r);
		f->form[i] = reader_uleb(r);
	}
	return !r->bad;
}

static bool is_block(uint64_t form)
{
	return form == DW_FORM_block || form == DW_FORM_block1 || form == DW_FORM_block2 ||
	       form == DW_FORM_block4 || form == DW_FORM_exprloc;
}

/* Forms that take no bytes would make tables without end. */
static bool is_fit_for_table(uint64_t form)
{
	return !is_block(form) && form != DW_FORM_flag_present && form != DW_FORM_implicit_const &&
	       form != DW_FORM_indirect;
}

static bool read_entry(struct reader *r, const struct dwarf_unit *u, const struct entry_format *f,
		       struct dwarf_line_file *out)
{
	*out = (struct dwarf_line_file){ .name = "" };
	for (uint32_t i = 0; i < f->n; i++) {
		uint64_t raw;

		if (!is_fit_for_table(f->form[i]))
			return false;
		raw = dwarf_read_form(r, u, f->form[i]);
		if (r->bad)
			return false;
		if (f->content[i] == LNCT_path)
			out->name = dwarf_form_string(u, NULL, f->form[i], raw);
		else if (f->content[i] == LNCT_directory_index)
			out->dir = raw;
	}
	return true;
}

static bool read_tables_5(struct dwarf_lines *it, const struct dwarf_unit *u, struct reader *r)
{
	struct dwarf_line_file entry;
	struct entry_format format;
	uint64_t n;

	if (!read_entry_format(r, &format))
		return false;
	n = reader_uleb(r);
	for (uint64_t i = 0; i < n && format.n; i++) {
		if (!read_entry(r, u, &format, &entry))
			return false;
		vec_push(&it->dirs, entry.name);
	}
	if (!read_entry_format(r, &format))
		return false;
	n = reader_uleb(r);
	for (uint64_t i = 0; i < n && format.n; i++) {
		if (!read_entry(r, u, &format, &entry))
			return false;
		vec_push(&it->files, entry);
	}
	return !r->bad;
}

static bool read_file_4(struct dwarf_lines *it, struct reader *r, const char *name)
{
	struct dwarf_line_file file = { .name = name, .dir = reader_uleb(r) };

	reader_uleb(r); /* time */
	reader_uleb(r); /* size */
	if (!r->bad)
		vec_push(&it->files, file);
	return !r->bad;
}

static bool read_tables_4(struct dwarf_lines *it, struct reader *r)
{
	const char *text;

	while ((text = reader_cstr(r)) && *text)
		vec_push(&it->dirs, text);
	while ((text = reader_cstr(r)) && *text)
		if (!read_file_4(it, r, text))
			return false;
	return !r->bad;
}

static void reset_row(struct dwarf_lines *it)
{
	it->row = (struct dwarf_row){ .file = 1, .line = 1 };
	it->op_index = 0;
}

static bool dwarf_lines_read_header(struct dwarf_lines *it, const struct dwarf_unit *unit,
				    struct reader *r)
{
	struct dwarf_unit u = *unit;
	struct reader tables;
	uint64_t length = reader_u32(r);

	u.is_64 = length == UINT32_MAX;
	if (u.is_64)
		length = reader_u64(r);
	if (r->bad || length > reader_left(r))
		return false;
	r->end = r->at + length;
	it->version = reader_u16(r);
	it->addr_size = unit->addr_size;
	if (it->version == 5) {
		it->addr_size = reader_u8(r);
		reader_u8(r); /* size of segment selectors */
	}
	length = dwarf_read_offset(r, u.is_64);
	if (r->bad || it->version < 2 || it->version > 5 || length > reader_left(r))
		return false;
	tables = reader_over(r->at, length);
	it->program = reader_over(r->at + length, reader_left(r) - length);
	it->min_length = reader_u8(&tables);
	it->max_ops = it->version >= 4 ? reader_u8(&tables) : 1;
	reader_u8(&tables); /* default_is_stmt */
	it->line_base = (int8_t)reader_u8(&tables);
	it->line_range = reader_u8(&tables);
	it->opcode_base = reader_u8(&tables);
	if (!it->line_range || !it->opcode_base)
		return false;
	it->n_operands = reader_bytes(&tables, it->opcode_base - 1U);
	if (tables.bad)
		return false;
	/* Damaged tables cost names, not lines. */
	if (it->version == 5)
		read_tables_5(it, &u, &tables);
	else
		read_tables_4(it, &tables);
	return true;
}

bool dwarf_lines_open(struct dwarf_lines *it, const struct dwarf_unit *unit)
{
	struct reader r = dwarf_at(&unit->file->section[DWARF_LINE], unit->stmt_list);

	it->dirs.n = it->files.n = 0;
	it->program = reader_over(r.at, 0);
	it->comp_dir = unit->comp_dir;
	reset_row(it);
	return unit->has_lines && dwarf_lines_read_header(it, unit, &r);
}

void dwarf_lines_fini(struct dwarf_lines *it)
{
	vec_fini(&it->dirs);
	vec_fini(&it->files);
}

static inline void dwarf_lines_advance(struct dwarf_lines *it, uint64_t n)
{
	if (it->max_ops <= 1) {
		it->row.addr += n * it->min_length;
		return;
	}
	n += it->op_index;
	it->row.addr += n / it->max_ops * it->min_length;
	it->op_index = (uint32_t)(n % it->max_ops);
}

/* True if it ends the sequence. */
static bool run_extended(struct dwarf_lines *it)
{
	struct reader *r = &it->program;
	uint64_t length = reader_uleb(r);
	const uint8_t *bytes = reader_bytes(r, length <= SIZE_MAX ? (size_t)length : SIZE_MAX);
	struct reader operands;
	const char *name;

	if (!bytes || !length)
		return false;
	operands = reader_over(bytes + 1, (size_t)length - 1);
	switch (bytes[0]) {
	case LNE_end_sequence:
		return true;
	case LNE_set_address:
		it->row.addr = dwarf_read_addr(&operands, length == 9 ? 8 : 4);
		it->op_index = 0;
		break;
	case LNE_define_file:
		name = it->version < 5 ? reader_cstr(&operands) : NULL;
		if (name)
			read_file_4(it, &operands, name);
		break;
	case LNE_set_discriminator:
		it->row.discriminator = (uint32_t)reader_uleb(&operands);
		break;
	}
	return false;
}

static void run_unknown(struct dwarf_lines *it, uint8_t op)
{
	for (uint8_t i = 0; i < it->n_operands[op - 1]; i++)
		reader_uleb(&it->program);
}

/* True if there is a row to give. */
static bool run_standard(struct dwarf_lines *it, uint8_t op)
{
	struct reader *r = &it->program;
	uint64_t n;

	switch (op) {
	case LNS_copy:
		return true;
	case LNS_advance_pc:
		dwarf_lines_advance(it, reader_uleb(r));
		break;
	case LNS_advance_line:
		it->row.line += (uint32_t)reader_sleb128(r);
		break;
	case LNS_set_file:
		n = reader_uleb(r);
		it->row.file = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
		break;
	case LNS_set_column:
		n = reader_uleb(r);
		it->row.column = (uint16_t)MIN(n, (uint64_t)UINT16_MAX);
		break;
	case LNS_const_add_pc:
		dwarf_lines_advance(it, (255U - it->opcode_base) / it->line_range);
		break;
	case LNS_fixed_advance_pc:
		it->row.addr += reader_u16(r);
		it->op_index = 0;
		break;
	default:
		run_unknown(it, op);
	}
	return false;
}

bool dwarf_lines_next(struct dwarf_lines *it, struct dwarf_row *row)
{
	struct reader *r = &it->program;

	while (r->at < r->end) {
		uint8_t op = *r->at++;

		if (op >= it->opcode_base) {
			op -= it->opcode_base;
			dwarf_lines_advance(it, op / it->line_range);
			it->row.line += (uint32_t)(it->line_base + op % it->line_range);
			*row = it->row;
			it->row.discriminator = 0;
			return true;
		}
		if (op == LNS_extended) {
			if (run_extended(it)) {
				*row = it->row;
				row->ends_sequence = true;
				reset_row(it);
				return true;
			}
		} else if (run_standard(it, op)) {
			*row = it->row;
			it->row.discriminator = 0;
			return !r->bad;
		}
	}
	return false;
}

bool dwarf_lines_file(const struct dwarf_lines *it, uint64_t file, struct dwarf_path *out)
{
	const struct dwarf_line_file *f;
	const char *dir = "", *comp_dir = it->comp_dir ? it->comp_dir : "";
	uint64_t d;

	if (it->version < 5 ? file - 1 >= it->files.n : file >= it->files.n)
		return false;
	f = &it->files.data[it->version < 5 ? file - 1 : file];
	if (!f->name)
		return false;
	d = it->version < 5 ? f->dir - 1 : f->dir;
	if (d < it->dirs.n && it->dirs.data[d])
		dir = it->dirs.data[d];
	if (*f->name == '/')
		dir = comp_dir = "";
	else if (*dir == '/')
		comp_dir = "";
	*out = (struct dwarf_path){ { comp_dir, dir, f->name } };
	return true;
}
