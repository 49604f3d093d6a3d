/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of JavaScript's functions, and their files: over a few objects of V8. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "lang/v8.h"

#define HEAP   0x10000
#define SHARED 0x10000
#define SCRIPT 0x10040
#define FIRST  0x10080 /* of the strings, 64 bytes each */

enum { CONS = 1, ONE_BYTE = 8, CONS_ONE_BYTE = 9, OTHER = 130, TYPE_SHARED = 200, TYPE_SCRIPT };

#define MAPS 0x10800 /* of type n: 16 n bytes further */

static uint8_t heap[0x2000];

/* Called at each read, as the program runs meanwhile. */
static void (*at_read)(uint64_t addr);

static bool read_heap(void *context, uint64_t addr, void *out, size_t size)
{
	(void)context;
	if (at_read)
		at_read(addr);
	if (addr < HEAP || addr - HEAP > sizeof(heap) - size)
		return false;
	memcpy(out, heap + (addr - HEAP), size);
	return true;
}

static void set_word(uint64_t addr, uint64_t word)
{
	memcpy(heap + (addr - HEAP), &word, sizeof(word));
}

/* Returns the pointer to it. */
static uint64_t make_object(uint64_t addr, uint16_t type, uint64_t second, uint64_t third)
{
	uint64_t map = MAPS + 16 * (uint64_t)type;

	memcpy(heap + (map - HEAP) + V8_MAP_TYPE, &type, sizeof(type));
	set_word(addr, map + 1);
	set_word(addr + 16, second);
	set_word(addr + 24, third);
	return addr + 1;
}

static uint64_t make_string(uint32_t i, const char *text)
{
	uint64_t addr = FIRST + 64 * (uint64_t)i, pointer = make_object(addr, ONE_BYTE, 0, 0);

	set_word(addr + 8, (uint64_t)strlen(text) << 32);
	memcpy(heap + (addr - HEAP) + 16, text, strlen(text));
	return pointer;
}

static uint64_t make_cons(uint32_t i, uint64_t first, uint64_t second)
{
	uint64_t addr = FIRST + 64 * (uint64_t)i;

	set_word(addr + 8, (uint64_t)1 << 32);
	return make_object(addr, CONS_ONE_BYTE, first, second);
}

/* With two bytes for each character of `text`. */
static uint64_t make_wide_string(uint32_t i, const char *text)
{
	uint64_t addr = FIRST + 64 * (uint64_t)i, pointer = make_object(addr, 0, 0, 0);

	set_word(addr + 8, (uint64_t)strlen(text) << 32);
	for (size_t k = 0; k < strlen(text); k++)
		heap[addr - HEAP + 16 + 2 * k] = (uint8_t)text[k];
	return pointer;
}

/* The function of SHARED. False: it can't be read. */
static bool read_function(uint64_t name, uint64_t script, struct lang_code *code)
{
	const struct lang_memory memory = { read_heap, NULL };
	const struct lang_runtime runtime = { .version = 11 << 8 | 3,
					      .v8 = { .type_nonstring = 128,
						      .type_shared = TYPE_SHARED,
						      .type_script = TYPE_SCRIPT,
						      .type_scope = 250,
						      .type_bytes = 251,
						      .shared_data = 8,
						      .shared_name = 16,
						      .shared_script = 24,
						      .script_name = 16 } };
	struct v8_function f;
	struct v8 v8;
	bool is_read;

	make_object(SHARED, TYPE_SHARED, name, script);
	v8_init(&v8, &memory, &runtime);
	is_read = v8_read_function(&v8, SHARED + 1, &f, code);
	v8_fini(&v8);
	return is_read;
}

/* "NAME FILE" of the function; "-": it can't be read. */
static void expect_function(uint64_t name, uint64_t script, const char *expected)
{
	static struct lang_code code;
	char text[600] = "-";

	if (read_function(name, script, &code))
		snprintf(text, sizeof(text), "%.*s %.*s", (int)code.name.size,
			 (const char *)code.name.bytes, (int)code.file.size,
			 (const char *)code.file.bytes);
	assert_string_equal(text, expected);
}

/* The name has two bytes for each of these characters. */
static void expect_wide_name(uint64_t name, const char *expected)
{
	static struct lang_code code;

	assert_true(read_function(name, 0, &code));
	assert_int_equal(code.name.size, 2 * strlen(expected));
	for (size_t i = 0; i < strlen(expected); i++) {
		assert_int_equal(code.name.bytes[2 * i], expected[i]);
		assert_int_equal(code.name.bytes[2 * i + 1], 0);
	}
}

static void a_name_in_parts_is_read_in_order(void **state)
{
	uint64_t load = make_cons(1, make_string(2, "."), make_string(3, "load"));

	(void)state;
	expect_function(make_cons(0, make_string(4, "Module"), load), 0, "Module.load ");
	expect_function(make_cons(0, make_string(4, ""), load), 0, ".load ");
}

static void a_long_name_is_cut(void **state)
{
	uint64_t parts = make_string(0, "0123456789abcdefghijklmnopqrstuv");
	char expected[300] = "";

	(void)state;
	for (uint32_t i = 1; i < 10; i++)
		parts = make_cons(i, parts, make_string(0, "0123456789abcdefghijklmnopqrstuv"));
	for (int i = 0; i < 8; i++)
		strcat(expected, "0123456789abcdefghijklmnopqrstuv");
	strcat(expected, " ");
	expect_function(parts, 0, expected);
}

static void a_name_with_a_wide_part_is_wide(void **state)
{
	uint64_t dot = make_string(1, "."), wide = make_wide_string(2, "wide"),
		 empty = make_wide_string(3, ""), text = make_string(4, "0123456789abcdefghijklm");
	char expected[LANG_TEXT_MAX / 2 + 1] = "";

	(void)state;
	expect_wide_name(make_cons(0, make_cons(5, wide, dot), text),
			 "wide.0123456789abcdefghijklm");
	expect_wide_name(make_cons(0, make_cons(5, text, dot), wide),
			 "0123456789abcdefghijklm.wide");
	expect_function(make_cons(0, make_cons(5, text, dot), empty), 0,
			"0123456789abcdefghijklm. ");
	for (uint32_t i = 6; i < 12; i++)
		text = make_cons(i, text, make_string(4, "0123456789abcdefghijklm"));
	for (size_t i = 0; i < sizeof(expected) - 1; i++)
		expected[i] = "0123456789abcdefghijklm"[i % 23];
	expect_wide_name(make_cons(0, text, wide), expected);
	memcpy(expected, "wide.", 5);
	for (size_t i = 5; i < sizeof(expected) - 1; i++)
		expected[i] = "0123456789abcdefghijklm"[(i - 5) % 23];
	expect_wide_name(make_cons(0, make_cons(5, wide, dot), text), expected);
}

static void a_name_that_cannot_be_read_is_none(void **state)
{
	(void)state;
	expect_function(0x900001, 0, "-");
	expect_function(make_cons(0, make_string(1, "a"), 0x900001), 0, "-");
	expect_function(make_cons(0, FIRST + 1, FIRST + 1), 0, "-"); /* a circle */
	expect_function(make_cons(0, make_string(1, "a"), FIRST + 1), 0, "-");
}

static void what_is_no_string_is_no_name(void **state)
{
	(void)state;
	expect_function(0, 0, "(anonymous) ");
	expect_function(make_object(FIRST, OTHER, 0, 0), 0, "(anonymous) ");
	expect_function(make_string(0, ""), 0, "(anonymous) ");
}

static void a_script_without_a_name_is_of_eval(void **state)
{
	uint64_t f = make_string(0, "f");

	(void)state;
	expect_function(f,
			make_object(SCRIPT, TYPE_SCRIPT, make_object(FIRST + 64, OTHER, 0, 0), 0),
			"f (eval)");
	expect_function(f, make_object(SCRIPT, TYPE_SCRIPT, make_string(1, "/a.js"), 0), "f /a.js");
	expect_function(f, make_object(FIRST + 64, OTHER, 0, 0), "f ");
	/* a name that can't be read */
	expect_function(f, make_object(SCRIPT, TYPE_SCRIPT, 0x900001, 0), "f ");
	expect_function(f, make_object(SCRIPT, TYPE_SCRIPT, make_cons(1, f, 0x900001), 0), "f ");
}

/* ---- lines, while the collector moves the source ---- */

#define SOURCE (SCRIPT + 16) /* the field of the script */

/* The line of a position in the script's source; 0: not known. */
static uint32_t line_at(uint32_t position)
{
	const struct lang_memory memory = { read_heap, NULL };
	const struct lang_runtime runtime = {
		.version = 11 << 8 | 3, .v8 = { .type_nonstring = 128, .script_source = 16 }
	};
	struct v8 v8;
	uint32_t line;

	make_object(SCRIPT, TYPE_SCRIPT, FIRST + 1, 0);
	v8_init(&v8, &memory, &runtime);
	line = v8_line_in(&v8, SCRIPT + 1, position);
	at_read = NULL;
	v8_fini(&v8);
	return line;
}

/* In place of its map, the old object has its new address. */
static void the_source_has_moved(uint64_t addr)
{
	if (addr == FIRST)
		set_word(FIRST, FIRST + 64);
}

/* The collection ends, and the old place gets other bytes. */
static void the_source_is_moving(uint64_t addr)
{
	if (addr != FIRST + 16)
		return;
	set_word(SOURCE, FIRST + 64 + 1);
	make_string(0, "\n\n\n\n\n\n\n\n");
}

static void the_source_never_rests(uint64_t addr)
{
	static uint32_t n;

	if (addr == FIRST + 64 * (uint64_t)(n % 8) + 16)
		set_word(SOURCE, FIRST + 64 * (uint64_t)(++n % 8) + 1);
}

static void lines_are_of_the_source_that_the_collector_moved(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 8; i++)
		make_string(i, "one\ntwo\nthree\n");
	assert_int_equal(line_at(9), 3);
	at_read = the_source_has_moved;
	assert_int_equal(line_at(9), 3);
	make_string(0, "one\ntwo\nthree\n");
	at_read = the_source_is_moving;
	assert_int_equal(line_at(9), 3);
	make_string(0, "one\ntwo\nthree\n");
	at_read = the_source_never_rests;
	assert_int_equal(line_at(9), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_in_parts_is_read_in_order),
		cmocka_unit_test(a_long_name_is_cut),
		cmocka_unit_test(a_name_with_a_wide_part_is_wide),
		cmocka_unit_test(a_name_that_cannot_be_read_is_none),
		cmocka_unit_test(what_is_no_string_is_no_name),
		cmocka_unit_test(a_script_without_a_name_is_of_eval),
		cmocka_unit_test(lines_are_of_the_source_that_the_collector_moved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
