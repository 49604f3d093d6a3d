/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of the kernel that the parser makes, beside those that this process makes. */
#include "symbols_world.h"

#include <inttypes.h>
#include <sys/prctl.h>

#include "guard/parser.h"

#define MODULES "ext4 1000 2 mbcache,jbd2, Live 0xffffffffc0100000\n"

static const struct image kernel = { .kind = IMAGE_KERNEL, .path = "[kernel]" };
static const struct image ext4 = { .kind = IMAGE_MODULE, .path = "[ext4]" };

static void need_parser(void)
{
	if (prctl(PR_GET_SECCOMP) < 0)
		skip_because("no seccomp here: an emulator");
}

/* With 60,000 symbols, the answer has several pieces (base/pieces.h). */
static void write_list(uint64_t text, unsigned int n)
{
	struct buf list = { 0 };

	buf_str(&list, "0000000000000000 A fixed_percpu_data\n");
	if (text)
		buf_printf(&list, "%" PRIx64 " T _text\n", text);
	for (unsigned int i = 0; i < n; i++)
		buf_printf(&list, "%" PRIx64 " %c function_number_%u\n", text ? text + 32 * i : 0,
			   "tTWD"[i % 4], i);
	buf_str(&list, "ffffffffc0100040 t ext4_init\t[ext4]\n"
		       "ffffffffc0100080 T ext4_read\t[ext4]\n");
	write_file("kallsyms", buf_cstr(&list));
	write_file("modules", MODULES);
	buf_fini(&list);
}

static struct symbolizer *open_small(bool is_small, const char *cache)
{
	const struct symbolizer_config config = { .cache_dir = cache,
						  .kallsyms = scratch_path("kallsyms"),
						  .modules = scratch_path("modules"),
						  .notes = "/nowhere",
						  .sys_module = "/nowhere",
						  .is_small = is_small };

	return symbolizer_new(&config);
}

static void assert_same_tables(const struct symbol_table *a, const struct symbol_table *b)
{
	assert_int_equal(symbol_table_status(a), symbol_table_status(b));
	assert_string_equal(symbol_table_detail(a), symbol_table_detail(b));
	assert_int_equal(symbol_count(a), symbol_count(b));
	for (uint32_t i = 0; i < symbol_count(a); i++) {
		assert_int_equal(symbol_get(a, i).offset, symbol_get(b, i).offset);
		assert_int_equal(symbol_get(a, i).size, symbol_get(b, i).size);
		assert_string_equal(symbol_get(a, i).name, symbol_get(b, i).name);
	}
}

static uint32_t compare(const struct image *image)
{
	struct symbolizer *apart = open_small(true, ""), *here = open_small(false, "");
	const struct symbol_table *t = symbolizer_table(apart, image, NULL, 0);
	uint32_t n = symbol_count(t);

	assert_same_tables(t, symbolizer_table(here, image, NULL, 0));
	symbolizer_free(apart);
	symbolizer_free(here);
	return n;
}

static void the_parser_makes_the_same_tables(void **state)
{
	const uint32_t before = parser_cost().n_questions;

	(void)state;
	need_parser();
	write_list(0xffffffff81000000, 60000);
	assert_int_equal(compare(&kernel), 45000); /* a fourth is data */
	assert_int_equal(compare(&ext4), 2);
	assert_int_equal(parser_cost().n_questions, before + 2);
}

static void tables_that_cannot_be_made_have_the_same_reasons(void **state)
{
	const struct image xfs = { .kind = IMAGE_MODULE, .path = "[xfs]" };

	(void)state;
	need_parser();
	write_list(0xffffffff81000000, 10);
	assert_int_equal(compare(&xfs), 0);
	write_list(0, 10); /* no _text */
	assert_int_equal(compare(&kernel), 0);
	write_file("kallsyms", "0000000000000000 T _text\n0000000000000000 T schedule\n");
	assert_int_equal(compare(&kernel), 0);
	assert_int_equal(compare(&ext4), 0);
	write_file("kallsyms", "");
	assert_int_equal(compare(&kernel), 0);
	run_command("rm kallsyms");
	assert_int_equal(compare(&kernel), 0);
}

/* The index on disk has the header of the one that was made, and all of its pieces. */
static void the_table_lies_in_the_cache(void **state)
{
	struct image of_build = kernel;
	const struct symbol_table *made, *cached, *want;
	struct symbolizer *s, *again, *here;

	(void)state;
	need_parser();
	of_build.build_id = (struct build_id){ .len = 3, .bytes = { 1, 2, 3 } };
	write_list(0xffffffff81000000, 60000);
	s = open_small(true, scratch_path("cache"));
	made = symbolizer_table(s, &of_build, NULL, 0);
	write_list(0xffffffff81000000, 10);
	again = open_small(true, scratch_path("cache"));
	cached = symbolizer_table(again, &of_build, NULL, 0);
	assert_same_tables(made, cached);
	write_list(0xffffffff81000000, 60000);
	here = open_small(false, "");
	want = symbolizer_table(here, &of_build, NULL, 0);
	assert_same_tables(cached, want);
	symbolizer_free(here);
	symbolizer_free(again);
	symbolizer_free(s);
}

static int use_children(void **state)
{
	(void)state;
	parser_use_children(UINT64_C(1) << 30);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_parser_makes_the_same_tables),
		cmocka_unit_test(tables_that_cannot_be_made_have_the_same_reasons),
		cmocka_unit_test(the_table_lies_in_the_cache),
	};

	return cmocka_run_group_tests(tests, use_children, NULL);
}
