/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Debug information that no compiler makes: reading ends, and the good part of it stays. */
#include <string.h>

#include "unit.h"

#include "base/buf.h"
#include "base/mem.h"
#include "symbol/lines/line_draft.h"

#define CODE      0x1000
#define CODE_SIZE 0x1000

enum { UNIT = 1, OF_ORIGIN, NAMED, INLINED, PARAMETER, OUTER, LINK, RANGED };

/* Section 7.5.3: code, tag, children, (attribute, form)…, 0, 0. */
static const uint8_t abbrevs[] = {
	UNIT,  0x11,      1,    0x03, 0x08, 0x11, 0x01, 0x12,  0x06, 0x10, 0x17,      0,
	0,     OF_ORIGIN, 0x2e, 0,    0x31, 0x13, 0x11, 0x01,  0x12, 0x06, 0,         0,
	NAMED, 0x2e,      0,    0x03, 0x08, 0x11, 0x01, 0x12,  0x06, 0,    0,         INLINED,
	0x1d,  1,         0x31, 0x13, 0x11, 0x01, 0x12, 0x06,  0,    0,    PARAMETER, 0x05,
	0,     0x49,      0x13, 0x02, 0x18, 0,    0,    OUTER, 0x2e, 1,    0x03,      0x08,
	0x11,  0x01,      0x12, 0x06, 0,    0,    LINK, 0x2e,  0,    0x31, 0x13,      0,
	0,     RANGED,    0x2e, 0,    0x03, 0x08, 0x55, 0x17,  0,    0,    0,
};

struct world {
	struct buf info, line, ranges;
	struct line_losses losses;
	struct line_header *block;
	struct line_index index;
};

static uint32_t here(const struct world *w)
{
	return (uint32_t)w->info.len;
}

static void put_code(struct buf *b, uint64_t addr, uint32_t size)
{
	buf_u64(b, addr);
	buf_u32(b, size);
}

/* The header, of version 4, and the first entry. */
static void begin(struct world *w)
{
	static const uint8_t version[] = { 4, 0 };

	*w = (struct world){ 0 };
	buf_u32(&w->info, 0);
	buf_bytes(&w->info, version, 2);
	buf_u32(&w->info, 0);
	buf_u8(&w->info, 8);
	buf_u8(&w->info, UNIT);
	buf_cstr0(&w->info, "unit.c");
	put_code(&w->info, CODE, CODE_SIZE);
	buf_u32(&w->info, 0);
}

static void named(struct world *w, uint8_t shape, const char *name, uint64_t addr, uint32_t size)
{
	buf_u8(&w->info, shape);
	buf_cstr0(&w->info, name);
	put_code(&w->info, addr, size);
}

static void of_origin(struct world *w, uint8_t shape, uint32_t origin, uint64_t addr, uint32_t size)
{
	buf_u8(&w->info, shape);
	buf_u32(&w->info, origin);
	put_code(&w->info, addr, size);
}

static void parameter(struct world *w, uint8_t location_bytes)
{
	buf_u8(&w->info, PARAMETER);
	buf_u32(&w->info, 0);
	buf_uleb(&w->info, location_bytes);
	for (uint8_t i = 0; i < location_bytes; i++)
		buf_u8(&w->info, 0x91);
}

static void put_length(struct buf *b)
{
	uint32_t length = (uint32_t)b->len - 4;

	if (b->len)
		memcpy(b->data, &length, sizeof(length));
}

static void read_all(struct world *w)
{
	struct code_segment code = { CODE, CODE_SIZE, CODE };
	struct dwarf_file file = { 0 };
	struct line_source source = { .dwarf = &file };
	size_t size;

	put_length(&w->info);
	put_length(&w->line);
	for (int i = 0; i < N_DWARF_SECTIONS; i++)
		file.section[i] = reader_over("", 0);
	file.section[DWARF_INFO] = reader_over(w->info.data, w->info.len);
	file.section[DWARF_ABBREV] = reader_over(abbrevs, sizeof(abbrevs));
	if (w->line.len)
		file.section[DWARF_LINE] = reader_over(w->line.data, w->line.len);
	if (w->ranges.len)
		file.section[DWARF_RANGES] = reader_over(w->ranges.data, w->ranges.len);
	vec_push(&source.code, code);
	w->block = line_draft_make(&source, &size, &w->losses);
	if (w->block)
		assert_true(line_index_open(&w->index, w->block, size));
	code_segments_fini(&source.code);
}

static void end(struct world *w)
{
	buf_fini(&w->info);
	buf_fini(&w->line);
	buf_fini(&w->ranges);
	free(w->block);
	free(w->losses.missing_split);
}

/* The innermost function there; "(none)". */
static const char *function_at(const struct world *w, uint64_t addr)
{
	uint32_t scope = w->block ? line_index_scope(&w->index, addr) : UINT32_MAX;
	uint32_t node = scope == UINT32_MAX ? NO_NODE : w->index.scopes[scope].node;

	return node == NO_NODE ? "(none)" : line_index_text(&w->index, w->index.nodes[node].name);
}

static uint32_t line_at(const struct world *w, uint64_t addr)
{
	uint32_t row = w->block ? line_index_row(&w->index, addr) : UINT32_MAX;

	return row == UINT32_MAX ? 0 : line_index_place(&w->index, w->index.rows[row].place).line;
}

/* ---- entries ---- */

static void origins_that_lead_in_a_circle_have_no_name(void **state)
{
	struct world w;
	uint32_t first;

	(void)state;
	begin(&w);
	of_origin(&w, OF_ORIGIN, here(&w), 0x1000, 0x10); /* itself */
	first = here(&w);
	of_origin(&w, OF_ORIGIN, first + 17, 0x1010, 0x10); /* each other */
	of_origin(&w, OF_ORIGIN, first, 0x1020, 0x10);
	named(&w, NAMED, "good", 0x1030, 0x10);
	read_all(&w);
	assert_string_equal(function_at(&w, 0x1004), "");
	assert_string_equal(function_at(&w, 0x1014), "");
	assert_string_equal(function_at(&w, 0x1024), "");
	assert_string_equal(function_at(&w, 0x1034), "good");
	end(&w);
}

static void a_chain_of_origins_is_followed_some_way_only(void **state)
{
	struct world w;
	uint32_t at;

	(void)state;
	for (uint32_t n = 1; n < 40; n += 38) {
		begin(&w);
		at = here(&w);
		named(&w, NAMED, "far", 0x1000, 0x10);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t last = at;

			at = here(&w);
			buf_u8(&w.info, LINK);
			buf_u32(&w.info, last);
		}
		of_origin(&w, OF_ORIGIN, at, 0x1010, 0x10);
		read_all(&w);
		assert_string_equal(function_at(&w, 0x1000), "far");
		assert_string_equal(function_at(&w, 0x1010), n == 1 ? "far" : "");
		end(&w);
	}
}

static void references_out_of_the_unit_lead_nowhere(void **state)
{
	static const uint32_t wrong[] = { 0, 1, 10, 0x7fffffff, 0xffffffff };
	struct world w;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		begin(&w);
		of_origin(&w, OF_ORIGIN, wrong[i], 0x1000, 0x10);
		named(&w, NAMED, "good", 0x1010, 0x10);
		read_all(&w);
		assert_string_equal(function_at(&w, 0x1000), "");
		assert_string_equal(function_at(&w, 0x1010), "good");
		end(&w);
	}
}

static void entries_nested_without_end_are_cut(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	named(&w, NAMED, "good", 0x1800, 0x10);
	named(&w, OUTER, "outer", 0x1000, 0x400);
	for (uint32_t i = 0; i < 100000; i++)
		of_origin(&w, INLINED, here(&w), 0x1000, 0x400);
	read_all(&w);
	assert_string_equal(function_at(&w, 0x1800), "good");
	assert_int_equal(w.losses.n_bad_units, 1);
	end(&w);
}

static void parameters_between_functions_are_passed_over(void **state)
{
	struct world w;

	(void)state;
	/* To the section's end and near it, with locations of every size. */
	for (uint32_t n = 0; n < 60; n++) {
		begin(&w);
		named(&w, OUTER, "first", 0x1000, 0x10);
		for (uint32_t i = 0; i < n; i++)
			parameter(&w, (uint8_t)(i * 37));
		buf_u8(&w.info, 0);
		named(&w, NAMED, "last", 0x1010, 0x10);
		read_all(&w);
		assert_string_equal(function_at(&w, 0x1000), "first");
		assert_string_equal(function_at(&w, 0x1010), "last");
		end(&w);
	}
}

static void a_location_beyond_the_end_ends_the_unit(void **state)
{
	struct world w;

	(void)state;
	for (uint32_t left = 0; left < 600; left += 13) {
		begin(&w);
		named(&w, NAMED, "good", 0x1000, 0x10);
		for (uint32_t i = 0; i < left; i++)
			parameter(&w, 1);
		parameter(&w, 3);
		w.info.len -= 3;
		w.info.data[w.info.len - 1] = 0x7f;
		read_all(&w);
		assert_string_equal(function_at(&w, 0x1000), "good");
		end(&w);
	}
}

static void ranges_without_end_and_backwards(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	buf_u8(&w.info, RANGED);
	buf_cstr0(&w.info, "ranged");
	buf_u32(&w.info, 0);
	for (uint32_t i = 0; i < 1000; i++) {
		buf_u64(&w.ranges, i % 3 ? 0x900 : 0x20); /* of the unit's low_pc */
		buf_u64(&w.ranges, i % 3 ? 0x800 : 0x30);
	}
	read_all(&w);
	assert_string_equal(function_at(&w, 0x1024), "ranged");
	assert_string_equal(function_at(&w, 0x1884), "(none)");
	end(&w);
}

/* ---- lines ---- */

/* A program of version 4: the header, then what is put behind it. */
static void begin_lines(struct world *w)
{
	static const uint8_t head[] = { 1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1 };
	static const uint8_t version[] = { 4, 0 };

	buf_u32(&w->line, 0);
	buf_bytes(&w->line, version, 2);
	buf_u32(&w->line, sizeof(head) + 1 + 7 + 1);
	buf_bytes(&w->line, head, sizeof(head));
	buf_u8(&w->line, 0); /* no directories */
	buf_str(&w->line, "a.c");
	buf_bytes(&w->line, "\0\0\0\0", 4); /* directory, time, size */
	buf_u8(&w->line, 0);
}

static void set_address(struct world *w, uint64_t addr)
{
	buf_u8(&w->line, 0);
	buf_u8(&w->line, 9);
	buf_u8(&w->line, 2);
	buf_u64(&w->line, addr);
}

/* The special opcode that goes on by an address and a line. */
static void step(struct world *w, uint8_t addr, uint8_t line)
{
	buf_u8(&w->line, (uint8_t)(13 + addr * 14 + line + 5));
}

static void end_sequence(struct world *w)
{
	buf_bytes(&w->line, "\0\1\1", 3);
}

static void a_line_program_without_end_has_its_rows(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	begin_lines(&w);
	set_address(&w, 0x1000);
	step(&w, 0, 1);
	step(&w, 4, 1);
	step(&w, 4, 1);
	read_all(&w);
	assert_int_equal(line_at(&w, 0x1000), 2);
	assert_int_equal(line_at(&w, 0x1004), 3);
	assert_int_equal(line_at(&w, 0x1009), 0); /* where the last one ends is not told */
	end(&w);
}

static void rows_that_go_back_and_beyond_are_left_out(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	begin_lines(&w);
	set_address(&w, 0x1010);
	step(&w, 0, 1);
	set_address(&w, 0x1000); /* back, in one sequence */
	step(&w, 0, 1);
	set_address(&w, 0xffffffffffff0000);
	step(&w, 0, 1);
	set_address(&w, 0x1020);
	step(&w, 0, 1);
	buf_u8(&w.line, 2); /* advance_pc by all there is */
	buf_bytes(&w.line, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
	end_sequence(&w);
	set_address(&w, 0x1100);
	step(&w, 0, 1);
	step(&w, 8, 0);
	end_sequence(&w);
	read_all(&w);
	assert_int_equal(line_at(&w, 0x1104), 2);
	end(&w);
}

static void tables_without_end_cost_names_alone(void **state)
{
	struct world w;
	size_t files;

	(void)state;
	begin(&w);
	begin_lines(&w);
	files = w.line.len;
	set_address(&w, 0x1000);
	step(&w, 0, 1);
	step(&w, 8, 0);
	end_sequence(&w);
	/* The name of the first file has no end within the header. */
	memset(w.line.data + files - 8, 'x', 8);
	read_all(&w);
	assert_int_equal(line_at(&w, 0x1000), 2);
	end(&w);
}

/* Every bit of a small unit: some index or none, and no bad access. */
static void damage_does_no_harm(void **state)
{
	struct world w;
	size_t n = 1;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		begin(&w);
		begin_lines(&w);
		set_address(&w, 0x1000);
		step(&w, 0, 1);
		step(&w, 4, 1);
		end_sequence(&w);
		named(&w, OUTER, "outer", 0x1000, 0x100);
		of_origin(&w, INLINED, 11, 0x1010, 0x10);
		parameter(&w, 3);
		buf_bytes(&w.info, "\0\0\0", 3);
		n = 8 * (w.info.len + w.line.len - 8);
		put_length(&w.info);
		put_length(&w.line);
		if (i < 8 * (w.info.len - 4))
			w.info.data[4 + i / 8] ^= (uint8_t)(1 << i % 8);
		else
			w.line.data[4 + i / 8 - (w.info.len - 4)] ^= (uint8_t)(1 << i % 8);
		read_all(&w);
		for (uint64_t addr = 0x1000; addr < 0x1040; addr++) {
			function_at(&w, addr);
			line_at(&w, addr);
		}
		end(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(origins_that_lead_in_a_circle_have_no_name),
		cmocka_unit_test(a_chain_of_origins_is_followed_some_way_only),
		cmocka_unit_test(references_out_of_the_unit_lead_nowhere),
		cmocka_unit_test(entries_nested_without_end_are_cut),
		cmocka_unit_test(parameters_between_functions_are_passed_over),
		cmocka_unit_test(a_location_beyond_the_end_ends_the_unit),
		cmocka_unit_test(ranges_without_end_and_backwards),
		cmocka_unit_test(a_line_program_without_end_has_its_rows),
		cmocka_unit_test(rows_that_go_back_and_beyond_are_left_out),
		cmocka_unit_test(tables_without_end_cost_names_alone),
		cmocka_unit_test(damage_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
