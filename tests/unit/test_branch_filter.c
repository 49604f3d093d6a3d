/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of --filter, and the branches that fit them. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "pt/branch.h"
#include "trace/branch_filter.h"
#include "unit.h"

static const struct branch_place main_place = { .addr = 0x401010,
						.names = { "main" },
						.image = "/usr/bin/app" };
static const struct branch_place find_place = { .addr = 0x7f0000002000,
						.names = { "_ZN4shop4findEii",
							   "shop::find(int, int)", "shop::find" },
						.image = "/usr/lib/libshop.so" };
static const struct branch_place nowhere = { 0 };

/* Whether a filter takes a call, by thread 7 of process 5 on CPU 2, from one place to another. */
static bool takes(const char *text, const struct branch_place *from, const struct branch_place *to)
{
	struct branch_filter f = { 0 };
	struct error err = { 0 };
	bool result;

	assert_int_equal(branch_filter_parse(text, &f, &err), 0);
	result = branch_filter_takes(&f,
				     &(struct branch_facts){ .flags = PT_F_BRANCH | PT_F_CALL,
							     .pid = 5,
							     .tid = 7,
							     .cpu = 2,
							     .comm = "app:worker",
							     .from = branch_filter_match(&f, from),
							     .to = branch_filter_match(&f, to) });
	branch_filter_fini(&f);
	return result;
}

#define TAKES(text)   assert_true(takes(text, &main_place, &find_place))
#define REFUSES(text) assert_false(takes(text, &main_place, &find_place))

static void each_end_has_its_tags(void **state)
{
	(void)state;
	TAKES("from-symbol:main");
	REFUSES("to-symbol:main");
	TAKES("symbol:main");
	TAKES("from-image:app to-image:libshop.so");
	TAKES("to-image:/usr/lib/*");
	REFUSES("from-image:bin/app");
	TAKES("from:401010 to:7f0000001000-7f0000002000");
	REFUSES("from:401010+1 to:7f0000001000+1000");
	TAKES("address:0x401000+0x11");
	REFUSES("address:401000+10");
}

static void values_are_alternatives_and_tags_must_all_match(void **state)
{
	(void)state;
	TAKES("symbol:absent,main to-symbol:*find*");
	REFUSES("symbol:main to-symbol:absent");
	TAKES("  pid:5   tid:6-8  cpu:0,2  comm:app* flags:return,call ");
	REFUSES("pid:5 tid:8");
	REFUSES("flags:syscall");
}

static void exclude_takes_the_others_also_those_without_a_name(void **state)
{
	(void)state;
	REFUSES("symbol-exclude:main");
	TAKES("to-symbol-exclude:main");
	REFUSES("flags-exclude:call");
	assert_true(takes("symbol-exclude:main", &nowhere, &nowhere));
	assert_false(takes("symbol:*", &nowhere, &nowhere));
}

static void a_name_is_that_of_the_file_or_demangled_with_escapes(void **state)
{
	(void)state;
	TAKES("to-symbol:_ZN4shop4findEii");
	TAKES("to-symbol:shop::find");
	TAKES("to-symbol:shop::find(int\\,\\ int)");
	REFUSES("to-symbol:shop::find(int\\,int)");
}

static void mistakes_are_refused(void **state)
{
	static const char *const texts[] = { "",
					     " ",
					     "main",
					     "symbol",
					     "symbol:",
					     "x:y",
					     "pid:-1",
					     "pid:1-",
					     "from:g",
					     "to:2-1",
					     "to:1+0",
					     "to:1+ffffffffffffffff1",
					     "to:2+ffffffffffffffff",
					     "flags:",
					     "-exclude:1",
					     "symbol:a,",
					     ":a" };
	char many[65 * 6 + 1] = "";

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct branch_filter f = { 0 };
		struct error err = { 0 };

		assert_int_equal(branch_filter_parse(texts[i], &f, &err), -EINVAL);
		assert_int_equal(f.terms.n, 0);
	}
	for (int i = 0; i < 64; i++)
		strcat(many, "tid:7 ");
	TAKES(many);
	strcat(many, "tid:7 ");
	assert_int_equal(branch_filter_parse(many, &(struct branch_filter){ 0 },
					     &(struct error){ 0 }),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_end_has_its_tags),
		cmocka_unit_test(values_are_alternatives_and_tags_must_all_match),
		cmocka_unit_test(exclude_takes_the_others_also_those_without_a_name),
		cmocka_unit_test(a_name_is_that_of_the_file_or_demangled_with_escapes),
		cmocka_unit_test(mistakes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
