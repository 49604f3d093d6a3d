/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jitdump: records in both byte orders, in pieces, and damaged. */
#include "foreign/jitdump.h"

#include <stdio.h>

#include "jitdump_file.h"
#include "symbol/lines/line_dump.h"
#include "unit.h"

/* Two functions, the first with lines; the first moved; a record of tomorrow; the end. */
static struct dump make_dump(bool is_swapped)
{
	struct dump d = { .is_swapped = is_swapped };

	dump_header(&d);
	begin(&d, 2, 1001);
	u64(&d, 0x7000);
	u64(&d, 2);
	entry(&d, 0x7000, 12, "a.js");
	entry(&d, 0x7008, 13, "\377");
	end(&d);
	load(&d, 1002, 0x7000, 1, "hot");
	load(&d, 1003, 0x8000, 2, "cold");
	begin(&d, 1, 1004);
	u32(&d, 41);
	u32(&d, 41);
	u64(&d, 0x9000);
	u64(&d, 0x7000);
	u64(&d, 0x9000);
	u64(&d, 16);
	u64(&d, 1);
	end(&d);
	begin(&d, 99, 1005);
	end(&d);
	begin(&d, 3, 1006);
	end(&d);
	return d;
}

static void check_code(const struct jitdump *d, size_t i, const char *name, uint64_t addr,
		       uint64_t from_ns, uint32_t n_lines)
{
	const struct jitdump_code *c = &d->codes.data[i];

	assert_string_equal(strings_get(&d->strings, c->name), name);
	assert_int_equal(c->addr, addr);
	assert_int_equal(c->size, 16);
	assert_int_equal(c->from_ns, from_ns);
	assert_int_equal(c->n_lines, n_lines);
}

static void check_whole(const struct jitdump *d, const struct dump *from)
{
	assert_int_equal(d->pid, 41);
	assert_int_equal(d->codes.n, 3);
	check_code(d, 0, "hot", 0x7000, 1002, 2);
	check_code(d, 1, "cold", 0x8000, 1003, 0);
	check_code(d, 2, "hot", 0x9000, 1004, 2);
	assert_int_equal(d->codes.data[2].file_off, d->codes.data[0].file_off);
	assert_memory_equal(from->b.data + d->codes.data[0].file_off, "0123456789abcdef", 16);
	assert_int_equal(d->lines.n, 2);
	assert_int_equal(d->lines.data[1].code_off, 8);
	assert_int_equal(d->lines.data[1].line, 13);
	assert_string_equal(strings_get(&d->strings, d->lines.data[1].file), "a.js");
	assert_int_equal(d->n_unknown, 1);
	assert_int_equal(d->n_bad, 0);
	assert_true(d->is_closed);
}

static void both_byte_orders_say_the_same(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct dump dump = make_dump(i);
		struct jitdump d;

		jitdump_init(&d);
		assert_true(jitdump_has_magic(dump.b.data, dump.b.len));
		assert_int_equal(jitdump_feed(&d, dump.b.data, dump.b.len, 0), dump.b.len);
		check_whole(&d, &dump);
		jitdump_fini(&d);
		buf_fini(&dump.b);
	}
}

static void a_file_that_grows_is_read_in_pieces(void **state)
{
	struct dump dump = make_dump(false);
	struct jitdump d;
	size_t at = 0;

	(void)state;
	jitdump_init(&d);
	for (size_t size = 0; size <= dump.b.len; size++)
		at += jitdump_feed(&d, dump.b.data + at, size - at, at);
	assert_int_equal(at, dump.b.len);
	check_whole(&d, &dump);
	jitdump_fini(&d);
	buf_fini(&dump.b);
}

static const char *line_at(const struct line_index *ix, uint64_t offset, char text[static 64])
{
	uint32_t row = line_index_row(ix, offset);
	struct line_place place;

	if (row == UINT32_MAX)
		return "before all";
	place = line_index_place(ix, ix->rows[row].place);
	snprintf(text, 64, "%s:%u", line_index_text(ix, place.file), place.line);
	return text;
}

static void debug_records_are_lines_of_the_code_in_the_dump(void **state)
{
	struct dump dump = make_dump(false);
	struct line_header *block;
	struct line_index ix;
	char text[64];
	size_t size;
	uint64_t at;

	(void)state;
	block = line_dump_make(dump.b.data, dump.b.len, &size);
	assert_non_null(block);
	assert_true(line_index_open(&ix, block, size));
	at = (uint64_t)((const uint8_t *)memmem(dump.b.data, dump.b.len, "0123456789abcdef", 16) -
			dump.b.data);
	assert_string_equal(line_at(&ix, at - 1, text), "before all");
	assert_string_equal(line_at(&ix, at, text), "a.js:12");
	assert_string_equal(line_at(&ix, at + 7, text), "a.js:12");
	assert_string_equal(line_at(&ix, at + 15, text), "a.js:13");
	assert_string_equal(line_at(&ix, at + 16, text), ":0");
	free(block);
	assert_null(line_dump_make(dump.b.data, 100, &size));
	buf_fini(&dump.b);
}

static void sizes_that_lie_cost_their_record(void **state)
{
	struct dump dump = make_dump(false);
	struct jitdump d;

	(void)state;
	jitdump_init(&d);
	begin(&dump, 0, 2000); /* code beyond the record */
	u64(&dump, 0);
	u64(&dump, 0);
	u64(&dump, 0x1000);
	u64(&dump, UINT64_MAX);
	u64(&dump, 3);
	buf_cstr0(&dump.b, "liar");
	end(&dump);
	begin(&dump, 2, 2001); /* more entries than bytes */
	u64(&dump, 0x1000);
	u64(&dump, UINT64_MAX);
	entry(&dump, 0x1000, 1, "x");
	end(&dump);
	begin(&dump, 1, 2002); /* of code that was never loaded */
	for (int i = 0; i < 6; i++)
		u64(&dump, 77);
	end(&dump);
	begin(&dump, 0, 2003); /* smaller than its own head */
	jitdump_feed(&d, dump.b.data, dump.b.len, 0);
	assert_int_equal(d.codes.n, 3);
	assert_int_equal(d.n_bad, 3);
	assert_true(d.is_broken);
	jitdump_fini(&d);
	buf_fini(&dump.b);
}

static void a_flipped_bit_anywhere_does_no_harm(void **state)
{
	struct dump dump = make_dump(false);

	(void)state;
	for (size_t bit = 0; bit < 8 * dump.b.len; bit++) {
		struct jitdump d;

		jitdump_init(&d);
		dump.b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		jitdump_feed(&d, dump.b.data, dump.b.len, 0);
		dump.b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		vec_foreach (&d.codes, c)
			assert_true(c->file_off + c->size <= dump.b.len);
		jitdump_fini(&d);
	}
	buf_fini(&dump.b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_byte_orders_say_the_same),
		cmocka_unit_test(a_file_that_grows_is_read_in_pieces),
		cmocka_unit_test(debug_records_are_lines_of_the_code_in_the_dump),
		cmocka_unit_test(sizes_that_lie_cost_their_record),
		cmocka_unit_test(a_flipped_bit_anywhere_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
