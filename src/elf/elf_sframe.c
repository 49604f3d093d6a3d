/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_sframe.h"

#include <elf.h>

#include "base/mem.h"

#define MAGIC 0xdee2

enum { FLAG_PC_RELATIVE = 4 };
enum { ABI_AARCH64_LITTLE = 2, ABI_AMD64 = 3 };

/* Bits of a function's info byte, and of a row's. */
enum { FUNCTION_START_BITS = 0x0f, FUNCTION_REPEATS = 0x10 };
enum { ROW_BY_SP = 0x01 };

#define MAX_ROW_OFFSETS 15

bool elf_sframe_open(struct elf_sframe *out, const struct elf_file *elf)
{
	struct elf_sframe s = { .elf = elf };
	uint32_t rows_size, functions_off, rows_off;
	struct elf_section section;
	struct reader r, body;
	uint8_t flags, abi, extra;
	size_t stride;

	if (!elf_section_named(elf, ".sframe", &section))
		return false;
	r = elf_section_bytes(elf, &section);
	if (reader_u16(&r) != MAGIC)
		return false;
	s.version = reader_u8(&r);
	flags = reader_u8(&r);
	abi = reader_u8(&r);
	s.fp_off = (int8_t)reader_u8(&r);
	s.ra_off = (int8_t)reader_u8(&r);
	extra = reader_u8(&r);
	s.n_functions = reader_u32(&r);
	reader_u32(&r); /* rows in all */
	rows_size = reader_u32(&r);
	functions_off = reader_u32(&r);
	rows_off = reader_u32(&r);
	reader_bytes(&r, extra);
	if (r.bad || (s.version != 2 && s.version != 3) ||
	    (abi != ABI_AMD64 && abi != ABI_AARCH64_LITTLE))
		return false;
	body = r;
	stride = s.version == 3 ? 16 : 20;
	reader_bytes(&body, functions_off);
	if (body.bad || s.n_functions > reader_left(&body) / stride)
		return false;
	s.functions = reader_over(body.at, s.n_functions * stride);
	s.functions_addr = section.link_addr + (uint64_t)(body.at - (elf->base + section.file_off));
	body = r;
	reader_bytes(&body, rows_off);
	if (body.bad || rows_size > reader_left(&body))
		return false;
	s.rows = reader_over(body.at, rows_size);
	s.start_addr = section.link_addr;
	s.is_pc_relative = flags & FLAG_PC_RELATIVE;
	s.has_fixed_ra = s.ra_off != 0;
	*out = s;
	return true;
}

bool elf_sframe_function(const struct elf_sframe *s, uint32_t i, struct elf_sframe_function *out)
{
	size_t stride = s->version == 3 ? 16 : 20;
	uint64_t base = s->is_pc_relative ? s->functions_addr + i * stride : s->start_addr;
	struct reader r = s->functions;
	uint8_t info, kind = 0;
	uint32_t at;

	if (i >= s->n_functions)
		return false;
	*out = (struct elf_sframe_function){ .rows = s->rows };
	reader_bytes(&r, i * stride);
	out->link_addr = base + (s->version == 3 ? reader_u64(&r)
						 : (uint64_t)(int64_t)(int32_t)reader_u32(&r));
	out->size = reader_u32(&r);
	at = reader_u32(&r);
	reader_bytes(&out->rows, at);
	/* Version 3 has the rest in front of the rows. */
	if (s->version == 3) {
		out->n_rows = reader_u16(&out->rows);
		info = reader_u8(&out->rows);
		kind = reader_u8(&out->rows) & 0x1f;
		out->repeat = reader_u8(&out->rows);
	} else {
		out->n_rows = reader_u32(&r);
		info = reader_u8(&r);
		out->repeat = reader_u8(&r);
	}
	if (!(info & FUNCTION_REPEATS))
		out->repeat = 0;
	else if (!out->repeat)
		kind = 1;
	out->addr_bytes = (uint8_t)(1 << (info & FUNCTION_START_BITS));
	if (out->rows.bad || kind || out->addr_bytes > 4)
		out->n_rows = 0;
	return true;
}

static uint32_t read_start(struct reader *r, uint8_t n)
{
	return n == 1 ? reader_u8(r) : n == 2 ? reader_u16(r) : reader_u32(r);
}

static int32_t sframe_read_offset(struct reader *r, uint8_t n)
{
	return n == 1   ? (int8_t)reader_u8(r)
	       : n == 2 ? (int16_t)reader_u16(r)
			: (int32_t)reader_u32(r);
}

bool elf_sframe_next(const struct elf_sframe *s, struct elf_sframe_function *f,
		     struct elf_sframe_row *out)
{
	int32_t offsets[MAX_ROW_OFFSETS];
	uint8_t info, n, n_used = 1, bytes;

	if (!f->n_rows)
		return false;
	f->n_rows--;
	*out = (struct elf_sframe_row){ .offset = read_start(&f->rows, f->addr_bytes) };
	info = reader_u8(&f->rows);
	n = info >> 1 & 15;
	bytes = (uint8_t)(1 << (info >> 5 & 3));
	if (bytes > 4)
		return false;
	for (uint8_t i = 0; i < n; i++)
		offsets[i] = sframe_read_offset(&f->rows, bytes);
	if (f->rows.bad)
		return false;
	out->is_end = n == 0;
	if (!n)
		return true;
	out->is_by_fp = !(info & ROW_BY_SP);
	out->cfa = offsets[0];
	out->has_ra = s->has_fixed_ra || n_used < n;
	out->ra = s->has_fixed_ra ? s->ra_off : n_used < n ? offsets[n_used++] : 0;
	out->has_fp = s->fp_off || n_used < n;
	out->fp = s->fp_off ? s->fp_off : n_used < n ? offsets[n_used] : 0;
	return true;
}
