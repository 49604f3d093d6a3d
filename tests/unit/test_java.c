/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HotSpot's line tables and numbers. */
#include "unit.h"

#include <string.h>

#include "lang/hotspot.h"
#include "lang/hotspot_number.h"
#include "lang/language.h"

static struct lang_code code_of(uint32_t version, const uint8_t *lines, size_t n)
{
	struct lang_code code = { .language = LANGUAGE_JAVA, .version = version << 8 };

	memcpy(code.lines, lines, n);
	code.n_lines = code.lines_size = (uint32_t)n;
	return code;
}

static void a_line_is_that_of_the_last_place_before_it(void **state)
{
	/* (0, 7), (4, 8), (6, 11), and the end */
	static const uint8_t steps[] = { 7, 4 << 3 | 1, 2 << 3 | 3, 0, 9 << 3 };
	struct lang_code code = code_of(17, steps, sizeof(steps));

	(void)state;
	assert_int_equal(java_line(&code, 0), 7);
	assert_int_equal(java_line(&code, 3), 7);
	assert_int_equal(java_line(&code, 4), 8);
	assert_int_equal(java_line(&code, 6), 11);
	assert_int_equal(java_line(&code, 60000), 11);
	assert_int_equal(java_table_size(&code), 4);
}

static void long_steps_are_signed_numbers(void **state)
{
	/* (1, 100), then (+ 2, - 98): the number 200 is 0xc8 and 0, and - 98 is 195 and 0 */
	static const uint8_t v17[] = { 0xff, 2, 0xc8, 0, 0xff, 4, 195, 0, 0 };
	static const uint8_t v21[] = { 0xff, 3, 0xc9, 1, 0xff, 5, 196, 1, 0 };
	struct lang_code code = code_of(17, v17, sizeof(v17));

	(void)state;
	assert_int_equal(java_line(&code, 1), 100);
	assert_int_equal(java_line(&code, 3), 2);
	code = code_of(21, v21, sizeof(v21));
	assert_int_equal(java_line(&code, 1), 100);
	assert_int_equal(java_line(&code, 3), 2);
}

static void a_table_without_an_end_ends_with_its_bytes(void **state)
{
	uint8_t bytes[LANG_LINES_MAX];
	struct lang_code code;

	(void)state;
	memset(bytes, 0xff, sizeof(bytes));
	code = code_of(17, bytes, sizeof(bytes));
	java_line(&code, 5);
	assert_int_equal(java_table_size(&code), sizeof(bytes));
}

static void a_zero_is_no_number_since_20(void **state)
{
	static const uint8_t bytes[] = { 0 };
	struct reader r = reader_over(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(hotspot_u5(&r, 17 << 8), 0);
	assert_false(r.bad);
	r = reader_over(bytes, sizeof(bytes));
	hotspot_u5(&r, 20 << 8);
	assert_true(r.bad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_that_of_the_last_place_before_it),
		cmocka_unit_test(long_steps_are_signed_numbers),
		cmocka_unit_test(a_table_without_an_end_ends_with_its_bytes),
		cmocka_unit_test(a_zero_is_no_number_since_20),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
