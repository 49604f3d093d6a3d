/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPython's line tables. */
#include "base/mem.h"
#include "base/reader.h"
#include "lang/code.h"
#include "lang/python.h"

/* Lines by bytecode address; 0: the table does not say. */

/* Up to 3.9 (Objects/lnotab_notes.txt): (address, line) steps; a line begins behind its step. */
static int64_t line_of_steps(struct reader *r, int64_t line, uint64_t addr, bool is_whole)
{
	uint64_t at = 0;

	while (reader_left(r) >= 2) {
		at += reader_u8(r);
		if (at > addr)
			return line;
		line += (int8_t)reader_u8(r);
	}
	return is_whole ? line : PYTHON_NO_LINE;
}

/* 3.10 (Objects/lnotab_notes.txt, "co_linetable"): (size, line step) of ranges; -128: no line. */
static int64_t line_of_ranges(struct reader *r, int64_t line, uint64_t addr)
{
	uint64_t end = 0;

	while (reader_left(r) >= 2) {
		int8_t step;

		end += reader_u8(r);
		step = (int8_t)reader_u8(r);
		if (step != -128)
			line += step;
		if (end > addr)
			return step == -128 ? PYTHON_NO_LINE : line;
	}
	return PYTHON_NO_LINE;
}

static uint64_t location_varint(struct reader *r)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; shift < 36; shift += 6) {
		uint8_t byte = reader_u8(r);

		v |= (uint64_t)(byte & 0x3f) << shift;
		if (!(byte & 0x40))
			return v;
	}
	r->bad = true;
	return 0;
}

static int64_t location_svarint(struct reader *r)
{
	uint64_t v = location_varint(r);

	return v & 1 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
}

/* The codes of an entry in Objects/locations.md. */
enum { ONE_LINE_FIRST = 10, ONE_LINE_LAST = 12, NO_COLUMNS = 13, LONG_FORM = 14, NONE = 15 };

/* Reads the rest of an entry. Returns false if it has no line. */
static bool read_location(struct reader *r, unsigned int code, int64_t *line)
{
	if (code == NONE)
		return false;
	if (code < ONE_LINE_FIRST) {
		reader_u8(r);
		return true;
	}
	if (code <= ONE_LINE_LAST) {
		*line += code - ONE_LINE_FIRST;
		reader_u16(r);
		return true;
	}
	*line += location_svarint(r);
	for (int i = 0; code == LONG_FORM && i < 3; i++)
		location_varint(r);
	return true;
}

/* Since 3.11 (Objects/locations.md): entries of 1 to 8 code units. */
static int64_t line_of_locations(struct reader *r, int64_t line, uint32_t position)
{
	uint64_t end = 0;

	while (reader_left(r)) {
		uint8_t first = reader_u8(r);
		bool has_line;

		if (!(first & 0x80))
			break;
		has_line = read_location(r, first >> 3 & 15, &line);
		if (r->bad)
			break;
		end += (first & 7) + 1u;
		if (end > position)
			return has_line ? line : PYTHON_NO_LINE;
	}
	return PYTHON_NO_LINE;
}

int64_t python_line(const struct lang_code *code, uint32_t position)
{
	struct reader r = reader_over(code->lines, MIN(code->n_lines, (uint32_t)LANG_LINES_MAX));
	int64_t line = code->first_line;

	if ((code->version & 0xff) <= 9)
		return line_of_steps(&r, line, (uint64_t)position * 2,
				     code->lines_size == code->n_lines);
	if ((code->version & 0xff) == 10)
		return line_of_ranges(&r, line, (uint64_t)position * 2);
	return line_of_locations(&r, line, position);
}
