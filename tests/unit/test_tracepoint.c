/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfdata/tracepoint.h"

#include <string.h>

#include "unit.h"

/* The raw data of all tests: u16 5, u8 1, u8 0, i32 -3; u64 0x1122334455667788; "swapper\0"; … */
static const uint8_t raw[] = {
	5,    0,    1,    0,    0xfd, 0xff, 0xff, 0xff, 0x88, 0x77, 0x66, 0x55,
	0x44, 0x33, 0x22, 0x11, 's',  'w',  'a',  'p',  'p',  'e',  'r',  0, /* 16 */
	32,   0,    6,    0,                                                 /* 24: 6 bytes at 32 */
	4,    0,    4,    0, /* 28: 4 bytes, 4 behind this field's end: 36 */
	'h',  'e',  'l',  'l',  'o',  0,    0xab, 0xcd,
};

static const char fields[] = "name: test\nID: 7\nformat:\n"
			     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			     "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
			     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
			     "\n"
			     "\tfield:int n;\toffset:4;\tsize:4;\tsigned:1;\n"
			     "\tfield:u64 big;\toffset:8;\tsize:8;\tsigned:0;\n"
			     "\tfield:char comm[8];\toffset:16;\tsize:8;\tsigned:1;\n"
			     "\tfield:__data_loc char[] word;\toffset:24;\tsize:4;\tsigned:1;\n"
			     "\tfield:__rel_loc u8[] bytes;\toffset:28;\tsize:4;\tsigned:0;\n"
			     "\tfield:unsigned char pair[2];\toffset:38;\tsize:2;\tsigned:0;\n"
			     "\nprint fmt: ";

static void check(const char *print, const char *expected)
{
	struct buf text = { 0 }, out = { 0 };
	struct tracepoint_format *t;

	buf_printf(&text, "%s%s\n", fields, print);
	t = tracepoint_new((const char *)text.data, text.len, false);
	tracepoint_print(t, raw, sizeof(raw), &out);
	assert_string_equal(buf_cstr(&out), expected);
	tracepoint_free(t);
	buf_fini(&text);
	buf_fini(&out);
}

static void print_formats_are_evaluated_as_c(void **state)
{
	static const struct {
		const char *print, *expected;
	} cases[] = {
		{ "\"n=%d big=%llx\", REC->n, REC->big", "n=-3 big=1122334455667788" },
		{ "\"%s|%-7s|%7s|%.2s\", REC->comm, __get_str(word), __get_str(word), REC->comm",
		  "swapper|hello  |  hello|sw" },
		{ "\"100%%\\n\"", "100%\n" },
		{ "\"%d %d\", REC->n < 0 ? 1 : 2, (1 + 2) * 3 - 8 / 3 % 2", "1 9" },
		{ "\"%d%d%d\", 1 | 2 == 2, 7 & 3 ^ 1, !0 && 5 > 4 || 0", "121" },
		{ "\"%u %x\", (u8)REC->big, (unsigned int)REC->big >> 8", "136 556677" },
		{ "\"%ld\", (unsigned long)(REC->n)", "-3" },
		{ "\"%s\", __print_flags(REC->n & 7, \"|\", { 1, \"A\" }, { 0x4, \"C\" })", "A|C" },
		{ "\"%s\", __print_flags(10, \"|\", { 2, \"B\" })", "B|0x8" },
		{ "\"%s\", __print_flags(0, \"|\", { 0, \"none\" }, { 2, \"B\" })", "none" },
		{ "\"%s %s\", __print_symbolic(3, { 1 + 2, \"three\" }), "
		  "__print_symbolic(9, { 3, \"three\" })",
		  "three 0x9" },
		{ "\"%s\", __print_hex(__get_dynamic_array(word), 3)", "68 65 6c" },
		{ "\"%s\", __print_hex_str(__get_rel_dynamic_array(bytes), 9)", "6f00abcd" },
		{ "\"%s\", __print_array(__get_dynamic_array(word), 2, 2)", "{0x6568,0x6c6c}" },
		{ "\"%d\", __get_dynamic_array_len(word)", "6" },
		{ "\"%d,%d\", REC->pair[0], REC->pair[1]", "171,205" },
		{ "\"%c%c\", 'o', 'k'", "ok" },
		{ "\"%08x|%-4d|%+d|%*d\", 255, 7, 7, 5, 42", "000000ff|7   |+7|   42" },
		{ "\"%------+d|\", 7", "+7|" }, /* as many flags as are kept */
		{ "\"%pS\", (void *)REC->big", "0x1122334455667788" },
		{ "\"%s\", REC->n ? \"yes\" : \"no\"", "yes" },
		{ "\"a\" \"b\"", "ab" },
		{ "\"%d\", 1 / 0", "0" },
		{ "\"%d %s.\"", "0 ." },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check(cases[i].print, cases[i].expected);
}

static void what_is_not_understood_is_printed_field_by_field(void **state)
{
	static const char *const prints[] = {
		"\"%s\", some_function(REC->n)",
		"\"%d\", REC->absent",
		"\"%d\", REC->n +",
		"\"%s\", __print_flags(1, \"|\", { SOME_ENUM, \"x\" })",
		"\"never closed",
		"\"%d\", ((((",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(prints); i++)
		check(prints[i], "n=-3 big=1234605616436508552 comm=swapper word=hello "
				 "bytes=111,0,171,205 pair=171,205");
}

static void fields_are_given_one_by_one(void **state)
{
	struct tracepoint_format *t = tracepoint_new(fields, sizeof(fields) - 1, false);
	struct buf out = { 0 };

	(void)state;
	assert_int_equal(tracepoint_n_fields(t), 6);
	assert_string_equal(tracepoint_field_name(t, 1), "big");
	assert_true(tracepoint_field_value(t, 0, raw, sizeof(raw), &out));
	assert_false(tracepoint_field_value(t, 2, raw, sizeof(raw), &out));
	assert_string_equal(buf_cstr(&out), "-3swapper");
	tracepoint_free(t);
	buf_fini(&out);
}

static void data_of_any_length_and_order_is_survived(void **state)
{
	struct tracepoint_format *t = tracepoint_new(fields, sizeof(fields) - 1, true);
	struct buf out = { 0 };

	(void)state;
	tracepoint_field_value(t, 0, raw, sizeof(raw), &out);
	assert_string_equal(buf_cstr(&out), "-33554433"); /* fd ff ff ff */
	for (size_t n = 0; n < sizeof(raw); n++) {
		uint8_t *copy = xmalloc(n + 1);

		memcpy(copy, raw, n);
		tracepoint_print(t, copy, n, &out);
		free(copy);
	}
	tracepoint_free(t);
	buf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(print_formats_are_evaluated_as_c),
		cmocka_unit_test(what_is_not_understood_is_printed_field_by_field),
		cmocka_unit_test(fields_are_given_one_by_one),
		cmocka_unit_test(data_of_any_length_and_order_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
